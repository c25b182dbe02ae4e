"""Sampling-based predictive control: its rollouts against a twin in double precision, its update against the formula,
bits that depend on neither lanes nor threads, and what happens without a solution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.analysis.section import Table
from aeroloop.batch.sampling import Rollouts
from aeroloop.batch.sampling_build import library
from aeroloop.control import mppi
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.philox import normals
from aeroloop.core.scenario import narrowed
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.families.tiltrotor import mppi_law
from aeroloop.families.tiltrotor.analysis import predictive, report
from aeroloop.families.tiltrotor.design import Design, design, parameters
from aeroloop.families.tiltrotor.rollouts import Regulator
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, TiltrotorTables
from aeroloop.flight.inline import fly_inline
from aeroloop.models import tiltrotor
from aeroloop.recording.log import Log, log_sha256

COUNT = 300
"""Rollouts: more than a group of the sums, and not a multiple of the lanes."""
ROUNDING = 3e-4
"""Of a cost in single precision, relative, after 16 steps."""
TWINS = (0, 1, 2, 3, 150, 299)


def scenario(*settings: str) -> TiltrotorScenario:
    found = narrowed(load(find("tiltrotor-spiral-mppi"), settings), TiltrotorTables, RequestTables)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def plan() -> Design:
    return design("cad", "published", 0.012)


@pytest.fixture(scope="module")
def regulator(plan: Design) -> Regulator:
    return mppi_law.regulator(plan, scenario())


@pytest.fixture(scope="module")
def sampling(plan: Design) -> mppi.Sampling:
    return mppi_law.sampling(scenario().controller.control.mppi, plan.period_s, seed=7)


def rollouts(regulator: Regulator, count: int = COUNT, *, lanes: int = 16, threads: int = 1) -> Rollouts:
    flown = scenario()
    built = library(mppi_law.loop(flown, regulator), "lanes", lanes=lanes)
    knots = flown.controller.control.mppi.knots
    return Rollouts(built, count, mppi.Columns(knots).count, mppi.INPUTS * knots, threads)


class Recording:
    """Rollouts that keep the last table and key."""

    def __init__(self, own: Rollouts) -> None:
        self.own, self.table, self.seed = own, np.zeros((0, 0), np.float32), 0

    def cycle(self, table: np.ndarray, seed: int, temperature: float) -> mppi.Sampled:
        self.table, self.seed = table.copy(), seed
        return self.own.cycle(table, seed, temperature)


def disturbed(plan: Design) -> tuple[Vec, Vec]:
    """A state with errors in everything, and a reference that moves."""
    state = plan.state_eq + np.random.default_rng(4).normal(0, 0.05, 16)
    state[:3] += (4.0, -3.0, 12.0)
    return state, np.array([4.1, -3.2, 12.0, 0.02, 0.3, 1.5, 0.2, 0.01])


def after_some_cycles(plan: Design, regulator: Regulator, sampling: mppi.Sampling) -> tuple[Recording, Vec, Vec, Vec]:
    """A cycle with a plan that is not zero: its rollouts, the memory before it and after it, and its command."""
    recording = Recording(rollouts(regulator))
    law = mppi.Mppi(mppi_law.feedback(regulator), sampling, recording)
    state, reference = disturbed(plan)
    memory, after = np.zeros(sampling.memory), np.zeros(sampling.memory)
    command = None
    for _ in range(3):
        memory[:] = after
        reference = reference + 0.012 * np.array([*reference[4:], 0.1, -0.2, 0.1, 0.05])
        command, _ = law.step(state, reference, memory, after)
    assert command is not None
    return recording, _, after, command


def test_a_rollout_is_that_of_the_design_model(plan: Design, regulator: Regulator, sampling: mppi.Sampling) -> None:
    """A twin in double precision from the table that the law filled, with CasADi's dynamics and numpy's noise."""
    recording, *_ = after_some_cycles(plan, regulator, sampling)
    table, at = recording.table.astype(float), mppi.Columns(sampling.knots).slices
    made, _ = recording.own.read()
    dynamics = tiltrotor.dynamics(parameters("cad"))
    for i in TWINS:
        drawn = normals(i >> 1, recording.seed, 0, 0, 4 * sampling.knots).astype(float).ravel()
        sign, planned = (0.0, float(i == 0)) if i < 2 else (1.0 - 2 * (i & 1), 1.0)
        knots = planned * table[0, at["plan"]] + sign * np.tile(sampling.std, sampling.knots) * drawn
        assert made[1:, i] == pytest.approx(knots, rel=1e-5, abs=1e-7)
        cost = twin_cost(dynamics, regulator, table, at, knots.reshape(-1, 4), sampling)
        assert made[0, i] == pytest.approx(cost, rel=ROUNDING), i
    assert np.ptp(made[0]) > 10 * ROUNDING * np.max(made[0]), "the costs differ by more than the tolerance"


def twin_cost(
    dynamics: ca.Function, r: Regulator, table: Vec, at: dict[str, slice], knots: Vec, sampling: mppi.Sampling
) -> float:
    def f(x: Vec, u: Vec) -> Vec:
        return np.array(dynamics(x, u)).ravel()

    def error(x: Vec, reference: Vec) -> Vec:
        target = r.state_eq.copy()
        target[[0, 1, 2, 5, 8, 9, 10, 13]] = reference
        return x - target

    x, integral, cost, h = table[0, at["state"]][:16], table[0, at["state"]][16:], 0.0, sampling.step_s
    for row in table:
        e = error(x, row[at["reference"]])
        u = r.u_eq + row[at["blend"]] @ knots - r.K @ np.concatenate([e, integral])
        u = np.clip(u, r.input_low, r.input_high)
        k1 = f(x, u)
        k2 = f(x + h / 2 * k1, u)
        k3 = f(x + h / 2 * k2, u)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3, u))
        e_next = error(x, row[at["reference_next"]])
        integral = integral + h / 2 * (e[[0, 1, 2, 5]] + e_next[[0, 1, 2, 5]])
        augmented = np.concatenate([e_next, integral])
        over = np.maximum(np.abs([x[3], e_next[5]]) - sampling.bounds, 0)
        cost += r.R @ (u - r.u_eq) ** 2 + r.Q @ augmented**2 + sampling.penalties @ over**2
    return float(cost + augmented @ (r.P - np.diag(r.Q)) @ augmented)


def test_the_update_is_the_formula(plan: Design, regulator: Regulator, sampling: mppi.Sampling) -> None:
    recording, _, after, command = after_some_cycles(plan, regulator, sampling)
    made, weights = (array.astype(float) for array in recording.own.read())
    excess = made[0] - made[0].min()
    spread = np.exp(np.log(excess[excess > 0]).mean())
    expected = np.exp(-excess / (sampling.temperature * spread))
    assert weights == pytest.approx(expected, rel=1e-4, abs=1e-7)
    knots = ((made[1:] * expected).sum(axis=1) / expected.sum()).reshape(-1, 4)
    step = sampling.period_s / sampling.knot_s
    moved = np.vstack([(1 - step) * knots[:-1] + step * knots[1:], knots[-1:]])
    assert after[mppi.KEPT :].reshape(-1, 4) == pytest.approx(moved, rel=1e-4, abs=1e-6)
    table, at = recording.table[0].astype(float), mppi.Columns(sampling.knots).slices
    error = np.concatenate([table[at["state"]][:16] - regulator.state_eq, table[at["state"]][16:]])
    error[[0, 1, 2, 5, 8, 9, 10, 13]] = (table[at["state"]][:16])[[0, 1, 2, 5, 8, 9, 10, 13]] - table[at["reference"]]
    assert command == pytest.approx(regulator.u_eq + knots[0] - regulator.K @ error, abs=1e-5)
    sampled = recording.own.cycle(recording.table, recording.seed, sampling.temperature)
    assert sampled.effective == pytest.approx(expected.sum() ** 2 / (expected**2).sum(), rel=1e-3)


@pytest.mark.parametrize(
    ("lanes", "threads"),
    [pytest.param(8, 2, marks=pytest.mark.soak), (16, 3)],  # other lanes in short: test_batch_tiltrotor.py
)
def test_lanes_and_threads_do_not_change_a_bit(
    plan: Design, regulator: Regulator, sampling: mppi.Sampling, lanes: int, threads: int
) -> None:
    recording, *_ = after_some_cycles(plan, regulator, sampling)
    other = rollouts(regulator, lanes=lanes, threads=threads)
    sums = [own.cycle(recording.table, 5, 0.1) for own in (recording.own, other)]
    assert sums[0].knots.tobytes() == sums[1].knots.tobytes()
    names = ("cost_least", "cost_spread", "finite", "effective", "cost_plan", "cost_feedback")
    assert [getattr(sums[0], name) for name in names] == [getattr(sums[1], name) for name in names]
    assert [a.tobytes() for a in recording.own.read()] == [b.tobytes() for b in other.read()]


def test_lost_rollouts_have_no_weight(plan: Design, regulator: Regulator, sampling: mppi.Sampling) -> None:
    """A state in which costs overflow."""
    recording, *_ = after_some_cycles(plan, regulator, sampling)
    wild = recording.table.copy()
    wild[:, mppi.Columns(sampling.knots).slices["state"].start + 13] = 1e18  # a yaw rate beyond all sense
    sampled = recording.own.cycle(wild, 5, 0.1)
    made, weights = recording.own.read()
    assert sampled.finite == np.mean(made[0] < 1e30) < 1
    assert not np.any(weights[made[0] >= 1e30])


def test_without_noise_the_law_is_its_feedback(plan: Design, regulator: Regulator, sampling: mppi.Sampling) -> None:
    quiet = replace(sampling, std=np.zeros(4))
    recording, _, after, command = after_some_cycles(plan, regulator, quiet)
    assert not np.any(after[mppi.KEPT :])
    table, at = recording.table[0].astype(float), mppi.Columns(sampling.knots).slices
    made, _ = recording.own.read()
    assert np.ptp(made[0]) == 0
    error = np.concatenate([table[at["state"]][:16] - regulator.state_eq, table[at["state"]][16:]])
    error[[0, 1, 2, 5, 8, 9, 10, 13]] = table[at["state"]][[0, 1, 2, 5, 8, 9, 10, 13]] - table[at["reference"]]
    assert command == pytest.approx(regulator.u_eq - regulator.K @ error, abs=1e-5)


def test_the_blend_and_the_shift_follow_a_straight_line(sampling: mppi.Sampling) -> None:
    """A plan that is a line in time stays one, a period later."""
    at_s = np.arange(sampling.knots) * sampling.knot_s
    line = np.outer(at_s, [1.0, 2.0, -1.0, 0.5])
    weights = mppi.blend(sampling)
    assert weights.sum(axis=1) == pytest.approx(np.ones(sampling.steps))
    assert weights @ line == pytest.approx(np.outer(np.arange(sampling.steps) * sampling.step_s, [1.0, 2.0, -1.0, 0.5]))
    moved = mppi.moved_on(line, sampling)
    assert moved[:-1] == pytest.approx(np.outer(at_s[:-1] + sampling.period_s, [1.0, 2.0, -1.0, 0.5]))


@pytest.mark.parametrize("at", [0, 5, 13])
def test_nan_has_no_solution(plan: Design, regulator: Regulator, sampling: mppi.Sampling, at: int) -> None:
    law = mppi.Mppi(mppi_law.feedback(regulator), sampling, rollouts(regulator, 32))
    state, reference = disturbed(plan)
    state[at] = np.nan
    command, _ = law.step(state, reference, np.zeros(sampling.memory), np.zeros(sampling.memory))
    assert command is None


def flown(*settings: str, rung: str = "mil", name: str = "tiltrotor-spiral-mppi") -> Log:
    given = (f'loop="{rung}"', "duration_s=0.6", "checks=[]", *settings)
    (log,) = fly_inline(load(find(name), given)).logs
    return log


def test_flights_repeat_to_the_bit_with_any_number_of_threads() -> None:
    few = "control.mppi.rollouts=64"
    first = log_sha256(flown(few))
    assert log_sha256(flown(few, "control.mppi.threads=2")) == first
    assert log_sha256(flown(few, "seed=2")) != first
    commands = flown(few).rows["command"]
    assert flown(few, rung="sil").rows["command"].tobytes() == commands.tobytes()


def test_without_a_solution_the_lqr_law_flies_and_it_is_reported() -> None:
    log = flown("control.mppi.effective_min=1e6", "control.mppi.rollouts=64")
    events = log.rows["board_event"]
    values = events[events[:, 2] == Event.LAW_FALLBACK][:, 3]
    assert values.tolist() == [2.0]
    expected = flown('control.law="dlqr"')
    assert log.rows["command"].tobytes() == expected.rows["command"].tobytes()


@pytest.mark.parametrize("rung", ["pil", "hil"])
def test_boards_refuse_it_and_name_the_laws_that_they_have(rung: str) -> None:
    with pytest.raises(ConfigError, match=r"control\.law: mppi .* expected mpc, dlqr or dlqr-heading"):
        load(find("tiltrotor-spiral-mppi"), (f'loop="{rung}"', 'pace="real"'))


def test_a_gpu_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aeroloop.codegen.batch_build.cuda_compiler", lambda: None)
    with pytest.raises(ConfigError, match="nvcc"):
        flown('control.mppi.engine="gpu"')


def test_more_knots_than_steps_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"knots: expected at most 4"):
        scenario("control.mppi.steps=4", "control.mppi.knots=5")


def test_the_report_names_rollouts_and_fallbacks_and_no_margin_of_another_law() -> None:
    log = flown("control.mppi.effective_min=1e6", "control.mppi.rollouts=64")
    (table,) = predictive.sampled_blocks(scenario("control.mppi.rollouts=64"), log)
    assert isinstance(table, Table)
    shown = dict(table.rows)
    assert shown["Rollouts in each control period"] == "64 (lanes)"
    assert shown["Fallbacks that the board reported"] == "1"
    assert report.delay_margin(scenario()) is None
