"""A board process that is killed in real time: another board flies on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aeroloop.core.config import read_toml
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.redundancy import Verdict
from aeroloop.core.scenario_files import load
from aeroloop.core.signals import Event
from aeroloop.flight.live_control import ENDED
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight
from aeroloop.realtime.controls import Controls
from aeroloop.recording.log import read

FLOWN_AFTER_S = 0.3


def test_a_killed_board_is_replaced_and_the_flight_goes_on(tmp_path: Path) -> None:
    table = read_toml(SCENARIOS / "tiltrotor-standby.toml")
    table |= {"pace": "real", "duration_s": 60.0, "checks": []}
    del table["faults"]
    plan = load(SCENARIOS / "tiltrotor-standby.toml", given=table)
    missed_s = float("inf")
    told: list[str] = []

    def progress(t_s: float) -> None:
        """Kill the board that flies; end the flight some time after the supervisor has noticed."""
        nonlocal missed_s
        board = flight._children["board"]
        if board.missed and missed_s == float("inf"):
            missed_s = t_s
        elif t_s > missed_s + FLOWN_AFTER_S:
            Controls(flight.launch[0].folder_path).end("command")
        elif t_s > 0.3:
            board.process.kill()

    with Flight(plan, tmp_path) as flight:
        outcome = flight.fly(progress, notice=told.append)
    assert outcome.error is None
    assert outcome.ended == ENDED["command"]
    assert "the board process was killed by SIGKILL: the flight continues without this board" in told
    log = read(tmp_path / LOG)
    codes = log.column("event", "code")
    out = np.flatnonzero(codes == Event.BOARD_OUT)
    assert log.column("event", "value")[out[-1]] in (1.0, 2.0)
    assert log.column("redundancy", "active")[-1] == 1
    assert log.column("redundancy", "board_1")[-1] == Verdict.DISCONNECTED
    at_s = log.column("event", "t_s")[out[0]]
    commands_s = log.column("command", "t_s")
    assert commands_s[-1] > at_s + FLOWN_AFTER_S
