"""One seed is one flight over an impaired link, whatever the link is, in processes as in one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aeroloop.core.scenario_files import find, load
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import log_sha256
from scenarios.conftest import Bench

SLED = str(Path(__file__).parents[2] / "examples" / "aircraft" / "sled.toml")
WORN = (
    *("link.to_board.loss=0.05", "link.to_board.corrupt=1e-3", "link.to_board.duplicate=0.1"),
    *("link.to_plant.delay_s=0.003", "link.to_plant.jitter_s=0.02", "link.to_plant.reorder=0.1"),
    *("link.to_plant.baud=115200", "checks=[]"),
)
TCP, UDP = "tcp://127.0.0.1:0", "udp://127.0.0.1:0"


def options(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


@pytest.mark.parametrize(
    ("name", "link", "changes"),
    [
        ("quad-swarm", UDP, ("vehicle.count=2",)),
        pytest.param("fixedwing-loiter", "pty://", (), marks=pytest.mark.soak),
        pytest.param(SLED, TCP, (), marks=pytest.mark.soak),
    ],
    ids=["hil", "period", "values"],
)
def test_an_impaired_flight_is_one_over_any_link(bench: Bench, name: str, link: str, changes: tuple[str, ...]) -> None:
    settings = ("duration_s=1", *WORN, *changes)
    (inline,) = fly_inline(load(find(name), settings)).logs
    ended = bench.run("fly", name, "--link", link, "--no-report", "--json", "--out", "run", *options(settings))
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["log_sha256"] == log_sha256(inline)
    bench.assert_clean()
