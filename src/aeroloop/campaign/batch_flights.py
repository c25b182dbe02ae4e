"""Flies the flights of a campaign with the batch engine: in launches of about a second, each a block of the store.

So a launch is what an interrupt waits for, and what a killed driver loses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from scipy.special import ndtr

from aeroloop.analysis.checks import required
from aeroloop.batch import flights
from aeroloop.batch.engine import Engine, Target
from aeroloop.campaign import rare
from aeroloop.campaign.batch_table import FlightColumns, Kept
from aeroloop.campaign.definition import CampaignFile, Definition, extremes
from aeroloop.campaign.design import Columns, quantiles
from aeroloop.campaign.driver import OnProgress, Progress
from aeroloop.campaign.identity import DIGITS, flight_key
from aeroloop.campaign.parameter import Parameter
from aeroloop.campaign.statistics import Array
from aeroloop.campaign.store import Block, Store
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet
from aeroloop.core.scenario import Check, Scenario

LAUNCH_S = 0.7
FIRST_LAUNCH = {"lanes": 64, "double": 16, "cuda": 33_792}
"""Flights of the first launch, which measures the rate: few on a processor, enough to fill a GPU."""
MOST_A_LAUNCH = 1 << 18
WEIGHT = "likelihood_ratio"
"""Metric of a flight of a shifted distribution: the weight with which it counts."""


def check(file: CampaignFile) -> flights.Plan:
    """The plan of a campaign's batch; ConfigError names a key or metric that a batch does not have."""
    plan = flights.planned(_scenario(file))
    try:
        for _, key, values in extremes(file.definition):
            flights.columns(plan, {key: [float(value) for value in values]}, len(values))
        flights.check_metrics(plan, [check.metric for check in required(_scenario(file))])
        if file.definition.rare is not None:
            _limit(file.definition.rare.check, required(_scenario(file)))
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{file.path}: {error}") from None
    return plan


def _scenario(file: CampaignFile) -> Scenario:
    plan = file.scenario.plan
    if isinstance(plan, Fleet):
        raise ConfigError(f"{file.path}: scenario: a batch flies one aircraft, not a fleet; expected engine = bench")
    return plan


def _limit(metric: str, checks: Sequence[Check]) -> Check:
    for each in checks:
        if each.metric == metric and each.equals is None:
            return each
    known = ", ".join(each.metric for each in checks if each.equals is None)
    raise ConfigError(f"rare.check: no check of {metric!r} with `below` or `above`, expected one of: {known}")


def design_hash(file: CampaignFile, edition: str) -> str:
    """Of what decides the flights. With `random`, and `sobol` by doubling, more flights leave the first as they are."""
    definition = file.definition
    table = msgspec.to_builtins(definition)
    content = {name: table[name] for name in ("parameter", "seed", "design", "seeds_per_point")}
    content |= {name: table[name] for name in ("search", "sensitivity", "rare")}
    content["flights"] = definition.flights if definition.design == "lhs" else None
    text = json.dumps([flight_key(file.scenario.plan, edition), content], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


class BatchFlights:
    """The flights of one campaign file."""

    def __init__(self, file: CampaignFile, edition: str, target: Target) -> None:
        self._file, self._edition = file, edition
        self.plan = file.batch or check(file)
        definition = file.definition
        keys = [*(each.key for each in definition.parameter), *(definition.search.names if definition.search else ())]
        metrics = self.plan.loop.metrics + ((WEIGHT,) if definition.rare else ())
        checks = required(_scenario(file))
        self.kept = Kept(design_hash(file, edition), tuple(keys), metrics, dict(self.plan.always), checks)
        self._engine = Engine(self.plan.loop, target)
        self._per_launch = FIRST_LAUNCH[target]

    @property
    def definition(self) -> Definition:
        return self._file.definition

    def launches(self, columns: Columns) -> Iterator[tuple[Columns, Array, float]]:
        """Parts of the flights in order, their metrics (metrics, flights), and the time they took."""
        first = 0
        while first < columns.count:
            part = columns.part(first, first + self._per_launch)
            own = flights.columns(self.plan, part.values, part.count)
            seeds = np.full(part.count, self.definition.seed, np.uint32)
            flown = self._engine.fly(own, self.plan.table, seeds, flights=part.noise)
            yield part, np.stack(list(flown.metrics.values())), flown.seconds
            first += part.count
            rate = part.count / max(flown.seconds, 1e-6)
            self._per_launch = int(np.clip(LAUNCH_S * rate, 16, min(4 * self._per_launch, MOST_A_LAUNCH)))

    def fly(self, store: Store, columns: Columns, known: int, progress: Progress, on_progress: OnProgress) -> None:
        """Flights from number `known` on, into the store."""
        first = known
        for part, metrics, seconds in self.launches(columns.part(known, columns.count)):
            self.add(store, first, part, metrics)
            first += part.count
            progress.done += part.count
            progress.failed += int(part.count - self.table(part, metrics).passed.sum())
            progress.recent_s.append(seconds / part.count)
            on_progress(progress)

    def add(self, store: Store, first: int, part: Columns, metrics: Array) -> None:
        params = np.stack([part.values[key] for key in self.kept.keys]) if self.kept.keys else np.empty((0, part.count))
        store.add_block(self.kept.design, self._edition, Block(first, params, part.noise, metrics))

    def table(self, columns: Columns, metrics: Array) -> FlightColumns:
        named = dict(zip(self.kept.metrics, metrics.astype(float), strict=False))
        return FlightColumns(self.kept, columns.values, columns.noise, named)

    def at_once(self, columns: Columns) -> FlightColumns:
        """Without the store."""
        metrics = [metrics for _, metrics, _ in self.launches(columns)]
        return self.table(columns, np.concatenate(metrics, axis=1))

    def rare_rate(self, store: Store, progress: Progress, on_progress: OnProgress) -> rare.RareRate:
        """Shift the distribution level by level; the flights of the estimate are kept, with their weights."""
        settings = self.definition.rare
        assert settings is not None
        drawn = sorted(self.definition.parameter, key=lambda each: each.key)
        limit = _limit(settings.check, self.kept.checks)
        rng = np.random.default_rng(np.random.SeedSequence(self.definition.seed, spawn_key=tuple(b"rare")))
        noise = 0

        def columns(u: Array) -> Columns:
            nonlocal noise
            noise += len(u)
            values = {each.key: _at(each, u[:, index]) for index, each in enumerate(drawn)}
            return Columns(values, np.arange(noise - len(u), noise, dtype=np.uint32))

        def margins(u: Array) -> Array:
            found = self.at_once(columns(u)).margins(limit)
            progress.done += len(u)
            progress.total = max(progress.total, progress.done + settings.flights)
            on_progress(progress)
            return found

        density, levels = rare.search(settings, len(drawn), margins, rng)
        u = density.draw(settings.flights, rng)
        weights, flown = density.weights(u), columns(u)
        table = self.at_once(flown)
        metrics = np.stack([*(table.metrics[name] for name in self.plan.loop.metrics), weights])
        self.add(store, 0, flown, metrics)
        return rare.estimate(settings.check, table.margins(limit), weights, levels)


def _at(parameter: Parameter, u: Array) -> Array:
    """Values at standard normal numbers; of a normal distribution without the detour, which ends at 8 deviations."""
    normal = parameter.normal
    if normal is None:
        return quantiles(parameter, ndtr(u))
    values = normal.mean + normal.std * u
    return np.asarray(np.clip(values, *normal.clip) if normal.clip else values)


def kept_of(table: dict[str, Any]) -> Kept:
    found: Kept = msgspec.convert(table, Kept)
    return found
