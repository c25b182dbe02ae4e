"""What makes two flights of a campaign the same: a tool of another rung does not, a compiler of its own does."""

from __future__ import annotations

from pathlib import Path

import pytest

from aeroloop.campaign import identity, toolchain
from aeroloop.campaign.identity import edition_of
from aeroloop.core.scenario_files import find, load

OF_RUNG = {"mil": (), "sil": ("host",), "pil": ("cross", "emulator")}


@pytest.mark.parametrize("rung", OF_RUNG)
def test_an_edition_has_the_tools_of_its_rung(rung: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load(find("tiltrotor-spiral"), (f"loop={rung}",))
    versions = {"host": "cc 1", "cross": "cross 1", "emulator": "emulator 1"}
    monkeypatch.setattr(toolchain, "compiler", lambda: versions["host"])
    tools = {toolchain.CROSS_COMPILER: "cross", toolchain.EMULATOR: "emulator"}
    monkeypatch.setattr(toolchain, "version_of", lambda command: versions[tools[command]])
    before = edition_of(plan)
    for name in versions:
        kept, versions[name] = versions[name], "2"
        assert (edition_of(plan) != before) is (name in OF_RUNG[rung]), name
        versions[name] = kept


def test_an_edition_has_the_firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load(find("tiltrotor-spiral"), ("loop=pil",))
    monkeypatch.setattr(identity, "FIRMWARE", tmp_path)
    editions = set()
    for text in ("int a;", "int b;"):
        (tmp_path / "law.c").write_text(text)
        identity.sources.cache_clear()
        editions.add(edition_of(plan))
    identity.sources.cache_clear()
    assert len(editions) == 2


def test_a_tool_that_is_not_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    assert toolchain.compiler() == "none"
