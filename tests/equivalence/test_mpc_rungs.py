"""The predictive law on three rungs: CasADi's evaluation, C in double precision, the firmware's C in single precision,
and the firmware on the emulated board.

Tolerances are relative to the largest value of the output, over the first two seconds of a spiral from rest, each rung
with its own memory. Double: the same operations in the same order. Single: an iteration sums products of the cost to
go, which reach 1e4, and the copies take the difference of nearly equal values.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.analysis.section import Table
from aeroloop.boards.config import Predictive
from aeroloop.codegen.embedded import FLAGS, embedded
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.control import mpc
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import narrowed
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.families.tiltrotor.analysis import predictive
from aeroloop.families.tiltrotor.design import Design, design
from aeroloop.families.tiltrotor.scenario import TiltrotorTables
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256

DOUBLE, SINGLE = 1e-11, 5e-6
APART_M, APART_DEG = 1e-4, 0.01
"""Between mil and pil after the transient of the spiral."""
MOST_CYCLE_S = 0.006
PERIODS = 160

Call = Callable[[Vec, Vec, Vec], list[Vec]]


@pytest.fixture(scope="module")
def plan() -> Design:
    return design("cad", "published", 0.012)


def interpreted(function: ca.Function) -> Call:
    run = Evaluator(function)

    def law(*inputs: Vec) -> list[Vec]:
        for place, value in zip(run.inputs, inputs, strict=True):
            place[:] = value
        run()
        return [output.copy() for output in run.outputs]

    return law


def single_precision(function: ca.Function, folder: Path) -> Call:
    """The firmware's files, compiled for this host."""
    made = embedded(function)
    (folder / "law.c").write_text(made.c)
    (folder / "law.h").write_text(made.h)
    compiler = shutil.which("cc")
    assert compiler, "this test needs a C compiler: apt install gcc libc6-dev"
    library = folder / "law.so"
    command = [compiler, *FLAGS, "-fPIC", "-shared", "-o", str(library), str(folder / "law.c"), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    run, pointer = ctypes.CDLL(str(library)).law_run, ctypes.POINTER(ctypes.c_float)

    def law(*inputs: Vec) -> list[Vec]:
        sensors, reference, memory = (np.array(values, np.float32) for values in inputs)
        command, status = (np.zeros(function.numel_out(i), np.float32) for i in (0, 2))
        arrays = (sensors, reference, memory, command, memory, status)  # the memory in place, as the firmware does it
        run(*(array.ctypes.data_as(pointer) for array in arrays))
        return [command.astype(float), memory.astype(float), status.astype(float)]

    return law


@pytest.fixture(scope="module")
def flight() -> Log:
    return flown("mil")


def flown(rung: str, *settings: str) -> Log:
    """The first two seconds of the shipped flight."""
    found = (f'loop="{rung}"', f"duration_s={PERIODS * 0.012:g}", "checks=[]", *settings)
    (log,) = fly_inline(load(find("tiltrotor-spiral-mpc"), found)).logs
    return log


def inputs_of(log: Log) -> list[tuple[Vec, Vec]]:
    sensors, references = log.rows["sensors"][:, 2:], log.rows["setpoint"][:, 2:]
    return list(zip(sensors[: PERIODS - 1], references[: PERIODS - 1], strict=True))


def apart(one: Vec, other: Vec) -> float:
    return float(np.max(np.abs(one - other)) / max(1.0, np.max(np.abs(other))))


def largest_difference(law: Call, expected: Call, inputs: list[tuple[Vec, Vec]], size: int) -> float:
    memory, own, worst = np.zeros(size), np.zeros(size), 0.0
    for sensors, reference in inputs:
        command, memory, status = expected(sensors, reference, memory)
        own_command, own, own_status = law(sensors, reference, own)
        assert status[0] == own_status[0] == mpc.SOLVED
        worst = max(worst, apart(own_command, command), apart(own, memory), apart(own_status, status))
    return worst


def test_c_is_the_law_over_a_flight(
    plan: Design, flight: Log, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    function, inputs = plan.law("mpc"), inputs_of(flight)
    assert len(inputs) == PERIODS - 1
    size, expected = function.numel_in(2), interpreted(function)
    double = largest_difference(interpreted(compiled(function, tmp_path)), expected, inputs, size)
    single = largest_difference(single_precision(function, tmp_path), expected, inputs, size)
    record_property("table", f"double {double:.1e}, single {single:.1e}")
    assert double < DOUBLE
    assert 0 < single < SINGLE


@pytest.mark.soak  # short: with a wrong gain, below
def test_tolerance_sees_one_iteration_less(plan: Design, flight: Log, tmp_path: Path) -> None:
    function, inputs = plan.law("mpc"), inputs_of(flight)
    other = single_precision(plan.law("mpc", Predictive(iterations=4)), tmp_path)
    assert largest_difference(other, interpreted(function), inputs, function.numel_in(2)) > 10 * SINGLE


def test_tolerance_sees_a_wrong_gain(plan: Design, flight: Log) -> None:
    """One gain of eighty, off by a thousandth."""
    problem, inputs = plan.predictive_problem(Predictive()), inputs_of(flight)
    off = problem.cached.K.copy()
    off[0, 1] *= 1.001
    given = plan.K, plan.state_eq, plan.u_eq, plan.period_s
    wrong = mpc.law(replace(problem, cached=replace(problem.cached, K=off)), *given)
    right = plan.law("mpc")
    assert largest_difference(interpreted(wrong), interpreted(right), inputs, right.numel_in(2)) > SINGLE


def test_all_rungs_fly_the_same_bounded_transient(flight: Log) -> None:
    roll_deg = np.degrees(flight.column("truth", "roll_rad"))
    yaw_deg = np.degrees(flight.column("truth", "yaw_rad"))
    for rung in ("mil", "sil", "pil"):
        log = flight if rung == "mil" else flown(rung)
        own_roll_deg = np.degrees(log.column("truth", "roll_rad"))
        assert np.max(np.abs(own_roll_deg)) <= 17.0
        assert np.max(np.abs(np.degrees(log.column("truth", "yaw_rad")))) <= 3.5
        assert np.max(np.abs(own_roll_deg - roll_deg)) < APART_DEG
        assert np.max(np.abs(log.rows["truth"][:, 2:5] - flight.rows["truth"][:, 2:5])) < APART_M
        assert not np.any(log.column("board_event", "code") == Event.LAW_FALLBACK)
    assert np.max(np.abs(roll_deg)) > 14.0 and np.max(np.abs(yaw_deg)) > 2.5, "the bounds are at work"
    assert np.max(log.column("cpu", "worst_cycle_s")) < MOST_CYCLE_S
    assert np.max(log.column("cpu", "overruns")) == 0
    assert log_sha256(log) == log_sha256(flown("pil"))


def test_the_report_evaluates_the_law_again(flight: Log) -> None:
    scenario = narrowed(load(find("tiltrotor-spiral-mpc")), TiltrotorTables, RequestTables)
    assert scenario is not None
    again = predictive.status(scenario, flight)
    assert len(again) == len(flight.rows["sensors"])
    assert np.all(again[:, 0] == mpc.SOLVED)
    assert np.max(again[:, 1]) == pytest.approx(0.35, abs=0.02)
    table, _ = predictive.blocks(scenario, flight)
    assert isinstance(table, Table)
    shown = dict(table.rows)
    assert shown["Bounds on roll, and on yaw from its reference"] == "15, 3 deg"
    assert float(shown["Largest residual, as a fraction of the bounds"]) == pytest.approx(0.35, abs=0.02)


def test_the_lqr_law_is_far_from_these_bounds() -> None:
    log = flown("mil", 'control.law="dlqr"')
    assert np.max(np.abs(np.degrees(log.column("truth", "yaw_rad")))) > 10.0
    assert np.max(np.abs(np.degrees(log.column("truth", "roll_rad")))) > 22.0


def test_board_reports_its_fallback_as_the_host_does() -> None:
    """A residual that the transient exceeds: from solution to held command and back, in the same cycles."""
    said = []
    for rung in ("mil", "sil", "pil"):
        events = flown(rung, "control.mpc.residual_max=0.2").rows["board_event"]
        said.append([(row[0], row[3]) for row in events.tolist() if row[2] == Event.LAW_FALLBACK])
    assert said[0] == said[1] == said[2]
    assert {value for _, value in said[0]} >= {mpc.SOLVED, mpc.HELD}
