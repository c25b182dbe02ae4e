"""Unknown numbers of an aircraft by least squares: those with which the simulator's signals come nearest to a log's.

The residuals are the log's samples minus the simulated signal at their times, each signal divided by its weight: in the
first pass its standard deviation, in the second the root mean square of what the first left (never less than a fraction
of the standard deviation). A constant offset of attitude and gyro counts as none; where the
simulator is restarted from the log, an offset and a slope in each stretch, since errors of the state it is set to (of
the velocity, which gives torque by drag) cause these. A wide prior about the airframe file's
numbers decides about those that the log says nothing about.

Standard errors come from the Jacobian J of the weighted residuals, with scores summed over blocks in time, since
residuals of one block depend on one another:

    cov = (J'J)^-1 (sum over blocks g_b g_b') (J'J)^-1,   g_b = J_b' r_b,

and are at least those of independent residuals, s^2 (J'J)^-1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.flown.record import FlightRecord
from aeroloop.reflight.drives import ACCEL, Drive
from aeroloop.reflight.flown_motion import FlownMotion
from aeroloop.reflight.numbers import BY_NAME, Plant, Unknown
from aeroloop.reflight.rollout import STEP_S, Rollout
from aeroloop.reflight.simulated import signals

SETTLED_S = 1.0
"""Left out at the beginning: integrators of the loops are not in a log."""
BLOCK_S = 0.5
WEIGHT_LEAST = 1e-3
RATE_MOST_HZ = 300.0
PRIOR = 1.0
"""Standard deviation of the logarithm of a factor: e."""
DETERMINED = 0.2
"""A number whose relative standard error is greater is not determined by the log."""
ENTANGLED = 0.95
"""Correlation beyond which two numbers can hardly be separated."""
ITERATIONS = 8
"""Of Gauss and Newton at one delay, at most; those beside it begin with its numbers."""
ENOUGH, MUCH = 1e-4, 0.05
"""A relative gain of the sum of squares below the first ends them; after one above the second the Jacobian is new."""
FIRST_DELAY_S = 0.01
STRIDES = (4, 2, 1)
"""Steps of a rollout by which the delay is searched."""

Progress = Callable[[float], None]
"""Called with the fraction that is done."""


@dataclass(frozen=True)
class Fitted:
    """One number."""

    unknown: Unknown
    value: float
    before: float  # of the airframe file
    std: float  # standard error, in its unit

    @property
    def name(self) -> str:
        return self.unknown.name

    @property
    def relative_std(self) -> float:
        return self.std / abs(self.value) if self.value else math.inf

    @property
    def determined(self) -> bool:
        """A small delay is known well if its error is below a step of a control law, whatever the ratio."""
        small = self.name == "delay" and self.std < 0.002
        return self.unknown.nuisance or small or self.relative_std < DETERMINED


@dataclass(frozen=True)
class Fit:
    plant: Plant  # with the determined numbers; the others are the airframe file's
    numbers: tuple[Fitted, ...]
    correlations: tuple[tuple[str, str, float], ...]  # of pairs that can hardly be separated
    rollouts: int
    from_s: float
    to_s: float
    residual_before: float  # root mean square of the weighted residuals, before and after
    residual_after: float


@dataclass(frozen=True)
class _Channel:
    """Samples of one signal in the time of the fit."""

    name: str
    t_s: Vec
    values: Vec
    stretches: tuple[slice, ...]  # in each, a mean counts as none; empty: it counts
    sloped: bool  # a slope in each counts as none too

    def residual(self, t_s: Vec, simulated: Vec) -> Vec:
        error = self.values - np.interp(self.t_s, t_s, simulated)
        for stretch in self.stretches:
            error[stretch] -= error[stretch].mean()
            if self.sloped:
                ramp = self.t_s[stretch] - self.t_s[stretch].mean()
                error[stretch] -= ramp * (ramp @ error[stretch]) / max(float(ramp @ ramp), 1e-12)
        return error


def fit(
    record: FlightRecord,
    motion: FlownMotion,
    drive: Drive,
    rollout: Rollout,
    start: Plant,
    *,
    unknowns: Sequence[str],
    until_s: float,
    known: Mapping[str, float] = MappingProxyType({}),
    progress: Progress = lambda done: None,
) -> Fit:
    """On the log until `until_s`; `start` has the airframe file's numbers. `known`: standard errors of numbers of
    `start` that are not fitted, which make the others less sure."""
    problem = _Problem(record, motion, drive, rollout, start, [BY_NAME[name] for name in unknowns], until_s)
    search = _Search(problem, progress)
    x = search.at(problem.begun())
    problem.reweight(x)
    before = problem.rms(np.zeros(len(x)))
    x = search.delay(x)
    problem.reweight(x)
    x = search.delay(x, strides=(1,))
    progress(1.0)
    return problem.concluded(x, before, known)


class _Search:
    """Gauss and Newton at whole numbers of steps of delay, and the delay with the least sum of squares.

    Between two steps a rollout mixes recorded commands, which are noisy, and so smooths them: the sum of squares has a
    local minimum at each step, and over all numbers at once a search ends in one of these.
    """

    def __init__(self, problem: _Problem, progress: Progress) -> None:
        self._problem, self._progress, self._expected = problem, progress, 12 * problem.expected_rollouts
        self._jacobian: Vec | None = None

    def delay(self, x: Vec, strides: Sequence[int] = STRIDES) -> Vec:
        """From a first guess; refined by a parabola through the best number of steps and its neighbours."""
        at = self._problem.delay_at
        if at is None:
            return self.at(x)
        found: dict[int, tuple[float, Vec]] = {}

        def tried(steps: int, from_x: Vec) -> tuple[float, Vec]:
            if steps not in found:
                moved = from_x.copy()
                moved[at] = steps * STEP_S
                inside = self._problem.least[at] <= moved[at] <= self._problem.most[at]
                found[steps] = self._descended(moved) if inside else (math.inf, moved)
            return found[steps]

        best = round(float(x[at]) / STEP_S)
        tried(best, x)
        for stride in strides:
            while True:
                beside = [best - stride, best + stride]
                for steps in beside:
                    tried(steps, found[best][1])
                better = min(beside, key=lambda steps: found[steps][0])
                if found[better][0] >= found[best][0]:
                    break
                best = better
        (low, below), (middle, own), (high, above) = (found[best + side] for side in (-1, 0, 1))
        bend = low + high - 2.0 * middle
        if not 0.0 < bend < math.inf:
            return own
        offset = 0.5 * (low - high) / bend
        return np.asarray(own + abs(offset) * ((above if offset > 0 else below) - own))

    def at(self, x: Vec) -> Vec:
        return self._descended(x)[1]

    def _descended(self, x: Vec) -> tuple[float, Vec]:
        """With the delay held; the sum of squares and where it is. The Jacobian of the delay before serves as long as
        it leads down: it costs a rollout for each number."""
        problem = self._problem
        free = np.array([i for i in range(len(x)) if i != problem.delay_at])
        residuals = problem.residuals(x)
        cost = float(residuals @ residuals)
        fresh = self._jacobian is None
        for _ in range(ITERATIONS):
            self._progress(min(problem.rollouts / self._expected, 0.95))
            if self._jacobian is None:
                self._jacobian = problem.jacobian(x, free, residuals)
            jacobian = self._jacobian
            step = np.linalg.solve(jacobian.T @ jacobian, -jacobian.T @ residuals)
            for shorter in (1.0, 0.3, 0.1) if fresh else (1.0,):
                there = x.copy()
                there[free] = np.clip(x[free] + shorter * step, problem.least[free], problem.most[free])
                residuals_there = problem.residuals(there)
                cost_there = float(residuals_there @ residuals_there)
                if cost_there < cost:
                    break
            gained = (cost - cost_there) / cost
            if gained > 0.0:
                x, residuals, cost = there, residuals_there, cost_there
            if gained < ENOUGH:
                if fresh:
                    break
                self._jacobian, fresh = None, True
            elif gained > MUCH:
                self._jacobian, fresh = None, True
        return cost, x


class _Problem:
    def __init__(
        self,
        record: FlightRecord,
        motion: FlownMotion,
        drive: Drive,
        rollout: Rollout,
        start: Plant,
        unknowns: list[Unknown],
        until_s: float,
    ) -> None:
        steps = int(np.searchsorted(motion.t_s, until_s)) + 1
        self._motion, self._rows = motion, drive.rows[:steps]
        self._rollout, self._start, self.unknowns = rollout, start, unknowns
        self._from_s = float(motion.t_s[0]) + (0.0 if drive.restart_s else SETTLED_S)
        self._until_s = until_s
        self._channels = [
            channel
            for name in drive.compared
            if name in record
            for channel in [_channel(record, name, self._from_s, until_s, drive)]
            if len(channel.t_s) > 1
        ]
        if not self._channels:
            raise ConfigError(f"{record.path}: nothing to fit by; expected one or more of: {', '.join(drive.compared)}")
        self._weights = [max(float(np.std(channel.values)), 1e-6) for channel in self._channels]
        self._spread = list(self._weights)
        self.least = np.array([drive.delay_least_s if u.name == "delay" else u.least for u in unknowns])
        self.most = np.array([u.most for u in unknowns])
        self._prior = np.array([PRIOR if u.relative else u.most for u in unknowns])
        names = [u.name for u in unknowns]
        self.delay_at = names.index("delay") if "delay" in names else None
        self.expected_rollouts = 2 * (len(unknowns) + 2)
        self.rollouts = 0

    def begun(self) -> Vec:
        x = np.array([FIRST_DELAY_S if u.name == "delay" else 0.0 for u in self.unknowns])
        return np.asarray(np.clip(x, self.least, self.most))

    def plant(self, x: Vec) -> Plant:
        plant = self._start
        for unknown, value in zip(self.unknowns, x, strict=True):
            plant = unknown.by(plant, float(value))
        return plant

    def residuals(self, x: Vec) -> Vec:
        """Weighted, of all channels, then those of the prior."""
        return np.concatenate((*self._by_channel(x), x / self._prior))

    def _by_channel(self, x: Vec) -> list[Vec]:
        self.rollouts += 1
        rows = self._rollout(self._rows, self.plant(x))
        names = tuple(channel.name for channel in self._channels)
        found = signals(rows, self._motion, self._rollout.rotors, names)
        residuals = []
        for channel, weight in zip(self._channels, self._weights, strict=True):
            simulated = found[channel.name]
            error = channel.residual(simulated.t_s, simulated.values) / weight
            # A rollout that diverges is bad, not an error.
            residuals.append(np.nan_to_num(np.clip(error, -1e3, 1e3), nan=1e3))
        return residuals

    def jacobian(self, x: Vec, free: Iterable[int], residuals: Vec | None = None) -> Vec:
        """By `free`; by differences to both sides, or with the residuals at x to one side."""
        columns = []
        for i in free:
            step = self.unknowns[i].step
            low, high = x.copy(), x.copy()
            high[i] += step if x[i] + step <= self.most[i] else -step
            if residuals is None:
                low[i] = max(x[i] - step, self.least[i])
            below = self.residuals(low) if residuals is None else residuals
            columns.append((self.residuals(high) - below) / (high[i] - low[i]))
        return np.stack(columns, axis=1)

    def reweight(self, x: Vec) -> None:
        rms = [weight * _rms(error) for weight, error in zip(self._weights, self._by_channel(x), strict=True)]
        self._weights = [max(left, WEIGHT_LEAST * spread) for left, spread in zip(rms, self._spread, strict=True)]

    def rms(self, x: Vec) -> float:
        return _rms(np.concatenate(self._by_channel(x)))

    def concluded(self, x: Vec, before: float, known: Mapping[str, float]) -> Fit:
        jacobian, residuals = self.jacobian(x, range(len(x))), self.residuals(x)
        covariance = self._covariance(jacobian, residuals) + self._of_known(jacobian, x, known)
        std = np.sqrt(np.diag(covariance))
        plant = self.plant(x)
        numbers = []
        for unknown, deviation in zip(self.unknowns, std, strict=True):
            value = unknown.value(plant)
            in_unit = float(deviation * value if unknown.relative else deviation)
            numbers.append(Fitted(unknown, value, unknown.value(self._start), in_unit))
        kept = np.where([number.determined for number in numbers], x, 0.0)
        named = [(number.name, number.determined and not number.unknown.nuisance) for number in numbers]
        correlation = covariance / np.outer(std, std)
        pairs = tuple(
            (a, b, float(correlation[i, j]))
            for i, (a, known) in enumerate(named)
            for j, (b, too) in enumerate(named[:i])
            if known and too and abs(correlation[i, j]) > ENTANGLED
        )
        after = self.rms(x)
        return Fit(self.plant(kept), tuple(numbers), pairs, self.rollouts, self._from_s, self._until_s, before, after)

    def _of_known(self, jacobian: Vec, x: Vec, known: Mapping[str, float]) -> Vec:
        """What errors of the numbers that are held do to the fitted ones."""
        held = [BY_NAME[name] for name in known]
        if not held:
            return np.zeros((len(x), len(x)))
        free, self.unknowns = self.unknowns, [*self.unknowns, *held]
        self._prior = np.append(self._prior, np.full(len(held), np.inf))
        self.least = np.append(self.least, [u.least for u in held])
        self.most = np.append(self.most, [u.most for u in held])
        at = np.append(x, np.zeros(len(held)))
        columns = self.jacobian(at, range(len(x), len(at)))[: len(jacobian)]
        self.unknowns = free
        self._prior, self.least, self.most = (v[: len(x)] for v in (self._prior, self.least, self.most))
        moved = np.linalg.lstsq(jacobian, columns, rcond=None)[0]
        relative = [known[u.name] / u.value(self._start) if u.relative else known[u.name] for u in held]
        return np.asarray(moved @ np.diag(np.square(relative)) @ moved.T)

    def _covariance(self, jacobian: Vec, residuals: Vec) -> Vec:
        inverse = np.linalg.inv(jacobian.T @ jacobian)
        blocks = np.concatenate([((channel.t_s - self._from_s) / BLOCK_S).astype(int) for channel in self._channels])
        scores = np.zeros((int(blocks.max()) + 1, len(self.unknowns)))
        np.add.at(scores, blocks, jacobian[: len(blocks)] * residuals[: len(blocks), None])
        clustered = inverse @ (scores.T @ scores) @ inverse
        independent = _rms(residuals[: len(blocks)]) ** 2 * inverse
        wider = np.sqrt(np.maximum(np.diag(independent) / np.maximum(np.diag(clustered), 1e-300), 1.0))
        return np.asarray(clustered * np.outer(wider, wider))


def _channel(record: FlightRecord, name: str, from_s: float, until_s: float, drive: Drive) -> _Channel:
    signal = record[name]
    values = np.unwrap(signal.values, period=signal.quantity.turn) if signal.quantity.turn else signal.values
    inside = (signal.t_s >= from_s) & (signal.t_s < until_s)
    every = max(1, math.ceil(signal.rate_hz / RATE_MOST_HZ))
    t_s, values = signal.t_s[inside][::every], values[inside][::every]
    if name in ACCEL:
        return _Channel(name, t_s, values, (), sloped=False)
    if not drive.restart_s:
        return _Channel(name, t_s, values, (slice(0, len(t_s)),), sloped=False)
    edges = np.searchsorted(t_s, np.arange(from_s, until_s + drive.restart_s, drive.restart_s))
    stretches = tuple(slice(a, b) for a, b in itertools.pairwise(map(int, edges)) if b - a > 2)
    return _Channel(name, t_s, values, stretches, sloped=True)


def _rms(values: Vec) -> float:
    return math.sqrt(float(np.mean(values**2))) if values.size else 0.0
