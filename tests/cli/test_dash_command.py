"""`aeroloop dash` as it is typed: where it listens, what it asks for, what it warns of."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from aeroloop.cli import dash_commands
from aeroloop.core.errors import ConfigError
from aeroloop.dashboard import app as pages

WARNING = "warning: others on the network can reach this dashboard"


class Served:
    """In place of the pages: what they would have been served with."""

    def __init__(self) -> None:
        self.listener: socket.socket
        self.asked: dict[str, Any] = {}

    def __call__(self, _: object, listener: socket.socket, **asked: Any) -> int:
        self.listener, self.asked = listener, asked
        return 0


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    served = Served()
    monkeypatch.setattr(pages, "serve", served)
    yield served
    served.listener.close()


def typed(*words: str) -> str:
    result = CliRunner().invoke(dash_commands.app, [*words, "--port", "0"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_it_stays_on_this_machine_and_asks_for_nothing_unless_told_otherwise(served: Served) -> None:
    said = typed()
    assert WARNING not in said
    assert served.listener.getsockname()[0] == "127.0.0.1"
    assert served.asked == {"host": "127.0.0.1", "token": ""}
    assert said.endswith(f"dashboard: http://127.0.0.1:{served.listener.getsockname()[1]}/")


def test_where_others_can_reach_it_a_token_is_made_and_a_warning_printed(served: Served) -> None:
    said = typed("--host", "0.0.0.0")
    assert WARNING in said
    told = re.search(r"\?token=(\S+)$", said)
    assert told and told[1] == served.asked["token"] and len(told[1]) >= 32


def test_a_token_of_ones_own_is_used_and_a_short_one_refused(served: Served) -> None:
    assert typed("--host", "0.0.0.0", "--token", "a-token-of-mine").endswith("?token=a-token-of-mine")
    assert served.asked["token"] == "a-token-of-mine"
    with pytest.raises(ConfigError, match="--token: expected 12 or more"):
        typed("--token", "short")
