"""A board process that is killed, in real time and in lockstep: another board flies on, as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from campaign_runs import processes, wait_for

from aeroloop.analysis.track import ANGLES, POSITION
from aeroloop.core.config import read_toml
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.redundancy import BY_VOTE, Verdict
from aeroloop.core.scenario import Link, with_value
from aeroloop.core.scenario_files import load
from aeroloop.core.signals import Event
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.live_control import ENDED
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight
from aeroloop.realtime.controls import Controls
from aeroloop.recording.log import Log, read

FLOWN_AFTER_S = 0.3
COMPARED_S = 2.0
"""Flown in lockstep after the board is missed."""


def ending_after_kill(flight: Flight, killed: str, flown_s: float) -> Callable[[float], None]:
    """Progress that kills a board's process, and ends the flight some time after the supervisor has noticed."""
    missed_s = float("inf")

    def progress(t_s: float) -> None:
        nonlocal missed_s
        board = flight._children[killed]
        if board.missed and missed_s == float("inf"):
            missed_s = t_s
        elif t_s > missed_s + flown_s:
            Controls(flight.launch[0].folder_path).end("command")
        elif t_s > 0.3:
            board.process.kill()

    return progress


def apart(one: Log, other: Log, *columns: str) -> float:
    count = min(len(one.rows["truth"]), len(other.rows["truth"]))
    return max(
        float(np.max(np.abs(one.column("truth", each)[:count] - other.column("truth", each)[:count])))
        for each in columns
    )


@pytest.mark.parametrize(
    ("mode", "boards", "killed", "loop"),
    [
        ("standby", 2, "board", "mil"),
        ("standby", 2, "board", "pil"),
        pytest.param("vote", 3, "board_2", "mil", marks=pytest.mark.soak),
    ],
)
def test_a_board_killed_in_lockstep_costs_one_control_period_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, boards: int, killed: str, loop: str
) -> None:
    """SIGKILL at whatever instant it arrives, against the undisturbed flight of the same boards. On pil the process of
    an emulated board is killed, and its emulator ends with it."""
    mark, emulators = f"AEROLOOP_MARK={tmp_path}", set[int]()
    monkeypatch.setenv("AEROLOOP_MARK", str(tmp_path))
    table = read_toml(SCENARIOS / "tiltrotor-standby.toml")
    table |= {"duration_s": 60.0, "checks": [], "loop": loop, "redundancy": {"boards": boards, "mode": mode}}
    table |= {"link": {"url": "tcp://127.0.0.1:0"}} if loop == "pil" else {}  # each board in a process of its own
    del table["faults"]
    plan = load(SCENARIOS / "tiltrotor-standby.toml", given=table)
    with Flight(plan, tmp_path) as flight:
        end = ending_after_kill(flight, killed, COMPARED_S)

        def progress(t_s: float) -> None:
            emulators.update(processes(mark, "qemu"))
            end(t_s)

        outcome = flight.fly(progress)
    assert bool(emulators) == (loop == "pil")
    wait_for(lambda: not processes(mark, "qemu"))
    assert outcome.error is None and outcome.ended == ENDED["command"]
    log = read(tmp_path / LOG)
    end_s = log.column("truth", "t_s")[-1]
    calm = fly_inline(with_value(with_value(plan, "link", Link()), "duration_s", end_s + 1.0)).logs[0]
    out = log.column("event", "code") == Event.BOARD_OUT
    assert log.column("event", "value")[out].tolist() == [1.0 if killed == "board" else 2.0]
    assert log.column("event", "t_s")[out][0] < end_s - 0.9 * COMPARED_S
    assert log.column("redundancy", "active")[-1] == (1 if mode == "standby" else BY_VOTE)
    assert np.max(log.column("redundancy", "held_cycles")) <= 1
    assert apart(log, calm, *POSITION) < 1e-3
    assert apart(log, calm, *ANGLES) < np.radians(0.1)


def test_a_killed_board_is_replaced_and_the_flight_goes_on(tmp_path: Path) -> None:
    table = read_toml(SCENARIOS / "tiltrotor-standby.toml")
    table |= {"pace": "real", "duration_s": 60.0, "checks": []}
    del table["faults"]
    plan = load(SCENARIOS / "tiltrotor-standby.toml", given=table)
    told: list[str] = []
    with Flight(plan, tmp_path) as flight:
        outcome = flight.fly(ending_after_kill(flight, "board", FLOWN_AFTER_S), notice=told.append)
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
