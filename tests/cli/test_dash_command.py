"""`aeroloop dash` as it is typed: where it listens, what it asks for, what it warns of."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from aeroloop.cli import dash_commands, replay_commands
from aeroloop.core.errors import ConfigError
from aeroloop.dashboard import app as pages
from aeroloop.flight.results import LOG, SCENARIO

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
    (campaigns,) = served.asked.pop("more")
    assert campaigns.path == "/campaign"
    assert served.asked == {"host": "127.0.0.1", "tokens": {}, "view_only": False}
    assert said.endswith(f"dashboard: http://127.0.0.1:{served.listener.getsockname()[1]}/")


def test_where_others_can_reach_it_two_tokens_are_made_and_a_warning_printed(served: Served) -> None:
    said = typed("--host", "0.0.0.0")
    assert WARNING in said
    told = re.search(r"dashboard: \S+\?token=(\S+) view only: \S+\?token=(\S+)$", said)
    assert told and {"command": told[1], "view": told[2]} == served.asked["tokens"]
    assert told[1] != told[2] and min(map(len, told.groups())) >= 32


def test_tokens_of_ones_own_are_used_and_a_short_one_refused(served: Served) -> None:
    said = typed("--host", "0.0.0.0", "--token", "a-token-of-mine", "--view-token", "a-token-to-view")
    assert said.endswith("?token=a-token-to-view") and "?token=a-token-of-mine " in said
    assert served.asked["tokens"] == {"command": "a-token-of-mine", "view": "a-token-to-view"}
    with pytest.raises(ConfigError, match="--token: expected 12 or more"):
        typed("--token", "short")


def test_a_view_only_dashboard_has_one_address_and_nobody_commands(served: Served) -> None:
    said = typed("--host", "0.0.0.0", "--view-only")
    assert "can fly" not in said and said.count("?token=") == 1
    assert served.asked["view_only"] and served.asked["tokens"].keys() == {"view"}


def replayed(*words: str) -> str:
    app = typer.Typer()
    app.command()(replay_commands.replay)
    result = CliRunner().invoke(app, [*words, "--port", "0"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_a_run_replays_by_its_folder_or_its_log(tmp_path: Path, served: Served) -> None:
    run = tmp_path / "a run"
    run.mkdir()
    for name in (LOG, SCENARIO):
        with pytest.raises(ConfigError, match=f"no run to replay, it holds no {name}"):
            replayed(str(run))
        (run / name).touch()
    for given in (run, run / LOG):
        assert replayed(str(given)).endswith("/replay/a%20run")
        assert served.asked.pop("more")
        assert served.asked == {"host": "127.0.0.1", "tokens": {}}
