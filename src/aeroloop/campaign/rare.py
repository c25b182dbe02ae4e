"""The rate of a rare failure, by adaptive importance sampling (cross-entropy with a density of kernels).

The parameters are functions of independent standard normal numbers u. Level by level, the flights that came nearest to
the failure, weighted by their likelihood ratio, become the centres of the next density; a tenth of every density is
the original one, so that no weight exceeds ten and a second region of failure is not lost. The last density gives

    rate = mean(w failed),   w = p(u) / q(u),   effective sample size = (sum w)^2 / sum w^2 over failed flights

R. Y. Rubinstein, D. P. Kroese, "The cross-entropy method" (2004); P. Zhang, JASA 91 (1996), for kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aeroloop.campaign.batch_file import FEWEST_EFFECTIVE, Rare
from aeroloop.campaign.statistics import Array, Interval

ORIGINAL = 0.1
"""Part of a density that is the parameters' own."""
CENTRES = 64
LEAST_WIDTH = 0.15
"""Of a kernel, in standard deviations of the parameter."""
Fly = Callable[[Array], Array]
"""u (flights, parameters) -> margin of the check, not above 0 where it fails."""


@dataclass(frozen=True)
class Level:
    flights: int
    margin: float  # reached by the fraction that leads to the next level
    failed: int


@dataclass(frozen=True)
class RareRate:
    check: str
    rate: float
    relative_error: float
    interval: Interval  # 95 %
    effective: float  # sample size
    flights: int  # in all
    failed: int  # of those of the estimate
    levels: tuple[Level, ...]

    @property
    def stated(self) -> bool:
        return self.effective >= FEWEST_EFFECTIVE

    def ok(self, settings: Rare | None) -> bool:
        limit = settings.relative_error if settings else None
        return self.stated and (limit is None or self.relative_error <= limit)

    @property
    def words(self) -> str:
        levels = f"{len(self.levels)} levels, {self.flights} flights"
        if not self.stated:
            return (
                f"{self.check}: no rate is stated: the effective sample size is {self.effective:.3g}, expected at "
                f"least {FEWEST_EFFECTIVE} ({self.failed} failed; {levels})"
            )
        low, high = self.interval
        return (
            f"{self.check} fails with rate {self.rate:.3g}, 95 % interval {low:.3g} to {high:.3g}; relative error "
            f"{self.relative_error:.2g}, effective sample size {self.effective:.0f} ({levels})"
        )


@dataclass(frozen=True)
class Density:
    """Normal kernels of one width for each parameter, and a tenth of the original density; none: the original."""

    centres: Array  # (kernels, parameters)
    width: Array  # (parameters,)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        u = rng.standard_normal((count, len(self.width)))
        if not len(self.centres):
            return u
        picked = rng.integers(0, len(self.centres), count)
        moved = self.centres[picked] + self.width * u
        return np.asarray(np.where(rng.random(count)[:, None] < ORIGINAL, u, moved))

    def weights(self, u: Array) -> Array:
        """Likelihood ratios of the original density over this one."""
        if not len(self.centres):
            return np.ones(len(u))
        own = -0.5 * np.sum(u * u, axis=1)
        kernels = np.zeros(len(u))
        for centre in self.centres:
            z = (u - centre) / self.width
            kernels += np.exp(-0.5 * np.sum(z * z, axis=1) - own - np.sum(np.log(self.width)))
        return np.asarray(1.0 / (ORIGINAL + (1.0 - ORIGINAL) * kernels / len(self.centres)))


def search(settings: Rare, parameters: int, fly: Fly, rng: np.random.Generator) -> tuple[Density, tuple[Level, ...]]:
    """The density at the failure."""
    density = Density(np.empty((0, parameters)), np.ones(parameters))
    levels: list[Level] = []
    for _ in range(settings.levels):
        u = density.draw(settings.flights, rng)
        margins, weights = fly(u), density.weights(u)
        failed = margins <= 0.0
        reached = float(np.quantile(margins, settings.fraction))
        levels.append(Level(len(u), reached, int(failed.sum())))
        at_failure = reached <= 0.0
        elite = margins <= max(reached, 0.0)
        density = _at(u[elite], weights[elite], rng)
        if at_failure:
            break
    return density, tuple(levels)


def _at(u: Array, weights: Array, rng: np.random.Generator) -> Density:
    picked = rng.choice(len(u), min(CENTRES, len(u)), p=weights / weights.sum())
    mean = np.average(u, axis=0, weights=weights)
    spread = np.sqrt(np.average((u - mean) ** 2, axis=0, weights=weights))
    d = u.shape[1]
    silverman = (4.0 / (d + 2.0) / CENTRES) ** (1.0 / (d + 4.0))
    return Density(u[picked], np.clip(silverman * spread, LEAST_WIDTH, 1.0))


def estimate(check: str, margins: Array, weights: Array, levels: tuple[Level, ...]) -> RareRate:
    """From flights of the last density."""
    failed = margins <= 0.0
    own = np.where(failed, weights, 0.0)
    rate, count = float(own.mean()), len(own)
    error = float(own.std(ddof=1)) / math.sqrt(count)
    effective = float(own.sum() ** 2 / np.sum(own * own)) if failed.any() else 0.0
    relative = error / rate if rate > 0.0 else math.inf
    interval = max(0.0, rate - 1.96 * error), min(1.0, rate + 1.96 * error)
    flights = count + sum(level.flights for level in levels)
    return RareRate(check, rate, relative, interval, effective, flights, int(failed.sum()), levels)
