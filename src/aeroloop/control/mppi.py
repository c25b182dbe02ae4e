"""Sampling-based predictive control (model predictive path integral, MPPI) around a feedback gain.

In every control period thousands of rollouts of the aircraft's model start from the measured state. Each flies

    u_k = limited(u_eq + sum over m of W_km knot_m - K e_k)

with its own knots, those of the plan and normal noise, and costs what the errors, the inputs and the penalties for
roll and yaw beyond their bounds add up to. The plan moves to the mean of the knots, weighted by exp(-cost / lambda),
and the command is the law above with the plan's first knot and the measured errors. Then the plan moves on by a period.

The noise acts on a closed loop: an unstable aircraft without K would be lost in most rollouts. Noise at knots with
straight lines between them is smooth in time, and has few numbers. Theory adds a cost of the noise to each rollout; it
is left out here. Reference: Williams et al., "Information theoretic MPC for model-based reinforcement learning", 2017.

The path ahead is the reference's, extrapolated by its velocity and by an acceleration, which is the filtered change of
that velocity from one period to the next, as in the law `mpc`.

This module needs numpy alone: the rollouts are another's (`Sampler`), compiled from the same equations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.angles import wrap_pi
from aeroloop.core.frames import Vec

STATES, AUGMENTED, INPUTS, REFERENCE, INTEGRALS = 16, 20, 4, 8, 4
FILTER_S = 0.1
"""Time constant of the reference's acceleration, as in the law `mpc`."""
FINITE_MIN = 0.5
"""A cycle in which fewer rollouts than this share have a finite cost has no solution."""
KEPT = 1 + 1 + 2 * INTEGRALS + 2 * INTEGRALS
"""Memory before the plan: number of the cycle, whether there was a reference, integrals and errors of the last period,
rates and accelerations of the reference."""
_SPREAD = 0x9E3779B1
"""Multiplier that sets the keys of one seed's cycles apart from those of the next seed."""


@dataclass(frozen=True)
class Feedback:
    """The law around which rollouts are sampled."""

    state_eq: Vec  # (16,)
    u_eq: Vec  # (4,)
    K: Vec  # (4, 20)
    input_low: Vec  # (4,) N, N m
    input_high: Vec  # (4,)
    referenced: tuple[int, ...]  # the states that a reference contains; the first four are integrated
    yaw: int  # index of the state that is periodic


@dataclass(frozen=True)
class Sampling:
    """Horizon, noise and bounds."""

    steps: int
    step_s: float
    knots: int
    std: Vec  # (4,) N, N m: of the noise at a knot
    temperature: float  # lambda as a fraction of the spread of the costs
    effective_min: float
    bounds: Vec  # (2,) rad: roll, and yaw from its reference
    penalties: Vec  # (2,) 1/rad2
    accel_max: Vec  # (4,) m/s2 and rad/s2
    period_s: float
    seed: int

    @property
    def knot_s(self) -> float:
        return (self.steps - 1) * self.step_s / (self.knots - 1)

    @property
    def memory(self) -> int:
        return KEPT + INPUTS * self.knots


class Columns:
    """Where a row of the rollouts' table has its parts; there is a row for each step of the horizon."""

    def __init__(self, knots: int) -> None:
        sizes = {
            "reference": REFERENCE,  # of the beginning of this step
            "reference_next": REFERENCE,  # of its end
            "blend": knots,  # of the knots in this step
            "state": AUGMENTED,  # at the beginning: the states, then the integrals; read in the first row
            "plan": INPUTS * knots,  # knot by knot; read in the first row
            "std": INPUTS,  # of the noise; read in the first row
            "bounds": 2,  # rad
            "penalties": 2,  # 1/rad2
        }
        self.slices: dict[str, slice] = {}
        self.count = 0
        for name, size in sizes.items():
            self.slices[name] = slice(self.count, self.count + size)
            self.count += size


class Sampled(Protocol):
    """Outcome of a cycle's rollouts."""

    @property
    def finite(self) -> float: ...
    @property
    def effective(self) -> float: ...
    @property
    def knots(self) -> NDArray[Any]: ...


class Sampler(Protocol):
    """The compiled rollouts."""

    def cycle(self, table: NDArray[np.float32], seed: int, temperature: float) -> Sampled:
        """Costs of all rollouts and the weighted mean of their knots."""


def blend(sampling: Sampling) -> Vec:
    """(steps, knots) Straight lines between knots; a row adds up to 1."""
    at = np.arange(sampling.steps) * (sampling.step_s / sampling.knot_s)
    weights: Vec = np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(sampling.knots)))
    return weights


def key(seed: int, cycle: int) -> int:
    """Key of a cycle's random numbers."""
    return (seed * _SPREAD + cycle) & 0xFFFFFFFF


def path_ahead(reference: Vec, acceleration: Vec, sampling: Sampling) -> Vec:
    """(steps + 1, 8) The reference at every step, relative to its position now; yaw is absolute."""
    t_s = np.arange(sampling.steps + 1)[:, None] * sampling.step_s
    rates = reference[INTEGRALS:]
    places = t_s * rates + 0.5 * t_s * t_s * acceleration
    places[:, 3] += reference[3]
    return np.hstack([places, rates + t_s * acceleration])


def moved_on(plan: Vec, sampling: Sampling) -> Vec:
    """(knots, 4) The plan one control period later, on the same knots; the last one stays."""
    after = plan.copy()
    after[:-1] += (sampling.period_s / sampling.knot_s) * (plan[1:] - plan[:-1])
    return after


class Mppi:
    """The law without fallback: what it keeps is in the memory, which is zero at the start."""

    def __init__(self, feedback: Feedback, sampling: Sampling, sampler: Sampler) -> None:
        self._feedback, self._sampling, self._sampler = feedback, sampling, sampler
        self._at = Columns(sampling.knots).slices
        # What the rollouts read; public for measurements.
        self.table = np.zeros((sampling.steps, Columns(sampling.knots).count), np.float32)
        for name in ("std", "bounds", "penalties"):
            self.table[:, self._at[name]] = getattr(sampling, name)
        self.table[:, self._at["blend"]] = blend(sampling)
        self._filter = 1.0 - math.exp(-sampling.period_s / FILTER_S)

    def step(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> tuple[Vec | None, float]:
        """The command, None without a solution, and the reciprocal of the effective number of samples."""
        sampling = self._sampling
        error, integral = self._errors(measured, reference, memory, after)
        acceleration = self._acceleration(reference, memory, after)
        self._fill(error, integral, measured, path_ahead(reference, acceleration, sampling), memory[KEPT:])
        after[0] = memory[0] + 1
        if not (np.isfinite(error).all() and np.isfinite(integral).all() and np.isfinite(acceleration).all()):
            return None, 1.0
        sampled = self._sampler.cycle(self.table, key(sampling.seed, int(memory[0])), sampling.temperature)
        if not (sampled.finite >= FINITE_MIN and sampled.effective >= sampling.effective_min):
            return None, 1.0 / max(sampled.effective, 1.0)
        plan = np.asarray(sampled.knots, float).reshape(sampling.knots, INPUTS)
        after[KEPT:] = moved_on(plan, sampling).ravel()
        return self.command(plan[0], np.concatenate([error, integral])), 1.0 / sampled.effective

    def command(self, added: Vec, augmented: Vec) -> Vec:
        """The limited command of the feedback with the plan's first knot."""
        own = self._feedback
        # Not a matrix product: its order of summation depends on the processor.
        wanted = own.u_eq + added - (own.K * augmented).sum(axis=1)
        limited: Vec = np.minimum(np.maximum(wanted, own.input_low), own.input_high)
        return limited

    def _errors(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> tuple[Vec, Vec]:
        own, period_s = self._feedback, self._sampling.period_s
        error = measured - own.state_eq
        error[list(own.referenced)] = measured[list(own.referenced)] - reference
        off_yaw = float(error[own.yaw])
        error[own.yaw] = wrap_pi(off_yaw) if math.isfinite(off_yaw) else math.nan
        tracked = error[list(own.referenced[:INTEGRALS])]
        integral, before = memory[2 : 2 + INTEGRALS], memory[2 + INTEGRALS : 2 + 2 * INTEGRALS]
        integral = integral + period_s / 2 * (tracked + before)
        after[2 : 2 + 2 * INTEGRALS] = np.concatenate([integral, tracked])
        return error, integral

    def _acceleration(self, reference: Vec, memory: Vec, after: Vec) -> Vec:
        limit = self._sampling.accel_max
        start = 2 + 2 * INTEGRALS
        rates, acceleration = memory[start : start + INTEGRALS], memory[start + INTEGRALS : KEPT]
        change = memory[1] * (reference[INTEGRALS:] - rates) / self._sampling.period_s
        bounded: Vec = np.minimum(np.maximum(change, -limit), limit)
        acceleration = acceleration + self._filter * (bounded - acceleration)
        after[1] = 1.0
        after[start:KEPT] = np.concatenate([reference[INTEGRALS:], acceleration])
        return acceleration

    def _fill(self, error: Vec, integral: Vec, measured: Vec, path: Vec, plan: Vec) -> None:
        table, at, own = self.table, self._at, self._feedback
        start = measured.copy()
        start[list(own.referenced[:3])] = error[list(own.referenced[:3])]
        start[own.yaw] = path[0, 3] + error[own.yaw]
        table[:, at["reference"]], table[:, at["reference_next"]] = path[:-1], path[1:]
        table[0, at["state"]] = np.concatenate([start, integral])
        table[0, at["plan"]] = plan
