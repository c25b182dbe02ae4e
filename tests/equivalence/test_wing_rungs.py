"""The fixed wing on mil, sil and pil: the same cells and paths, and the same flight but for stated tolerances.

sil and pil are one source in single precision; they differ in the last bits of sine and power, and in how long a plan
takes. From mil both differ by single precision and by the period that telemetry waits for on the board.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aeroloop.boards.config import Computer
from aeroloop.boards.emulated import Granted, GrantedBoard
from aeroloop.boards.native import NativePipe
from aeroloop.codegen.images import build_program
from aeroloop.core.errors import LinkError
from aeroloop.core.scenario import with_value
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import ResetCause
from aeroloop.families.fixedwing.images import IMAGE, generate, scenario_of
from aeroloop.flight.inline import fly_inline
from aeroloop.planning.mission_messages import Kind
from aeroloop.recording.log import Log, log_sha256
from tools.wing_timing import IdealFlight

PATH = ("duration_s=14", "mission.command_at_s=1", "checks=[]")
"""Past the first plan."""
STITCH = ("duration_s=46", "seed=6", "mission.command_at_s=1", "checks=[]", 'planner.stitch="transient"')
"""Past the first transient from a channel to the next."""
TOLERANCES_M = {("mil", "sil"): 0.02, ("sil", "pil"): 0.002}


def flown_again(rung: str, settings: tuple[str, ...] = PATH) -> Log:
    flown = fly_inline(load(find("fixedwing-hierarchical"), (f'loop="{rung}"', *settings)))
    assert flown.ended == "completed"
    return flown.logs[0]


@cache
def flight(rung: str, settings: tuple[str, ...] = PATH) -> Log:
    return flown_again(rung, settings)


@pytest.mark.parametrize(("one", "other"), TOLERANCES_M)
def test_two_rungs_fly_one_path(one: str, other: str) -> None:
    places = [np.stack([flight(rung).column("truth", f"{axis}_m") for axis in "xyz"]) for rung in (one, other)]
    assert np.max(np.abs(places[0] - places[1])) < TOLERANCES_M[one, other]
    for stream, columns in {"plan": ("plan", "status", "leaves", "expanded"), "plan_cell": ("plan", "level")}.items():
        for column in columns:
            assert len(flight(one).rows[stream]) > 0
            assert flight(one).column(stream, column).tolist() == flight(other).column(stream, column).tolist()


@pytest.mark.parametrize(("one", "other"), TOLERANCES_M)
def test_two_rungs_fly_one_transient_from_path_to_path(one: str, other: str) -> None:
    logs = flight(one, STITCH), flight(other, STITCH)
    places = [np.stack([log.column("truth", f"{axis}_m") for axis in "xyz"]) for log in logs]
    assert np.max(np.abs(places[0] - places[1])) < TOLERANCES_M[one, other]
    for log in logs:
        first = log.column("path", "s_m") == 0.0
        kinds = [Kind(int(kind)) for kind in log.column("path", "kind")[first]]
        assert kinds == [Kind.START, Kind.TRANSIENT, Kind.CHANNEL, Kind.TRANSIENT, Kind.CHANNEL]
    for column in ("path", "s_m", "x_m", "y_m"):
        assert np.max(np.abs(logs[0].column("path", column) - logs[1].column("path", column))) < 0.05


def test_sil_repeats_to_the_bit_and_tells_nothing_of_a_processor() -> None:
    again = flown_again("sil")
    assert log_sha256(again) == log_sha256(flight("sil"))
    assert len(again.rows["cpu"]) == len(again.rows["task"]) == 0


def planned_at_s(tmp_path: Path, computer: Computer) -> float:
    """How long the first plan of a flight takes on sil, with this computer."""
    scenario = with_value(scenario_of(), "board", computer)
    program = build_program(generate(scenario), IMAGE[computer.scheduler])
    board = GrantedBoard(NativePipe(program, computer.piece_ns, tmp_path), round(computer.period_s * 1e9))
    try:
        ideal = IdealFlight(scenario, board.step)
        ideal.fly(25)
        ideal.fly(1, goal=True)
        began = ideal.cycle
        while "plan" not in ideal.told and ideal.cycle < began + 400:
            ideal.period()
        return (ideal.cycle - began) * computer.period_s
    finally:
        board.close()


def test_a_slow_computer_plans_longer(tmp_path: Path) -> None:
    usual, slow, at_once = (planned_at_s(tmp_path, Computer(piece_s=piece_s)) for piece_s in (6e-5, 3e-4, 0.0))
    sliced = planned_at_s(tmp_path, Computer(scheduler="cooperative"))
    assert at_once <= 0.1
    assert 4.0 < slow / usual < 6.0, "five times the cost of a piece"
    assert 4.0 < sliced / usual < 6.0, "a slice is a fifth of a period"


def test_a_program_that_fails_is_one_sentence(tmp_path: Path) -> None:
    program = build_program(generate(scenario_of()), IMAGE["preemptive"])
    pipe = NativePipe(program, 0, tmp_path)
    board = GrantedBoard(pipe, 50_000_000)
    board.step(b"")
    pipe._process.kill()
    with pytest.raises(LinkError, match=r"^the board's program was killed by SIGKILL$"):
        board.step(b"")
    pipe.close()


def test_a_hung_task_restarts_the_program(tmp_path: Path) -> None:
    program = build_program(generate(scenario_of()), IMAGE["preemptive"])
    board = GrantedBoard(NativePipe(program, 0, tmp_path), 50_000_000)
    assert board.step(b"", fault="hang").restarted is None
    restarted = IdealFlight(scenario_of(), board.step).period()
    assert isinstance(restarted, Granted) and restarted.restarted is ResetCause.WATCHDOG
    board.close()
