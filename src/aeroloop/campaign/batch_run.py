"""A campaign with the batch engine: fly what is missing, then some flights again on the bench, then judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from aeroloop.batch.engine import Target
from aeroloop.campaign.agreement import agreement, chosen
from aeroloop.campaign.batch_flights import BatchFlights, kept_of
from aeroloop.campaign.batch_judged import BatchJudged
from aeroloop.campaign.batch_table import FlightColumns, LazyRows, of_blocks
from aeroloop.campaign.definition import Definition
from aeroloop.campaign.design import Columns, PlannedFlight, columns, draws
from aeroloop.campaign.design_size import design_of
from aeroloop.campaign.driver import Driver, OnProgress, Progress
from aeroloop.campaign.local_workers import LocalWorkers
from aeroloop.campaign.places import default_workers
from aeroloop.campaign.rare import RareRate
from aeroloop.campaign.search import Boundary, Point, searched
from aeroloop.campaign.store import PLANNED, Store
from aeroloop.core.errors import ConfigError

if TYPE_CHECKING:
    from aeroloop.campaign.campaigns import Campaign


@dataclass(frozen=True)
class Work:
    """What one run of a campaign may do."""

    workers: int | None = None  # flights on the bench at a time
    limit: int | None = None  # flights


def run(store: Store, campaign: Campaign, target: Target, work: Work, on_progress: OnProgress) -> None:
    """What is missing, at most `work.limit` flights of it; `judged` says what the store then holds."""
    definition, limit = campaign.definition, work.limit
    if definition.rare is not None and limit is not None:
        raise ConfigError(f"--limit {limit}: a rate of rare failures is estimated at once; run it without a limit")
    batch = BatchFlights(campaign.file, campaign.edition, target)
    before = store.about.get("batch_results", {})
    results = before if before.get("design") == batch.kept.design else {"design": batch.kept.design}
    store.begin({**campaign.about(), "batch": msgspec.to_builtins(asdict(batch.kept)), "batch_results": results})
    progress = Progress(0, 1)
    if definition.search is not None:
        store.keep({"boundary": msgspec.to_builtins(_searched(store, batch, progress, on_progress, limit))})
    elif definition.rare is not None:
        if "rare" not in results:
            rate = batch.rare_rate(store, progress, on_progress)
            store.keep({"batch_results": {**results, "rare": msgspec.to_builtins(asdict(rate))}})
    elif not _flown(store, batch, progress, on_progress, limit):
        return
    _confirm(store, campaign, work.workers, on_progress)


def _flown(store: Store, batch: BatchFlights, progress: Progress, on_progress: OnProgress, limit: int | None) -> bool:
    """Whether all flights of the design are in the store."""
    total = design_of(batch.definition).flights
    known = of_blocks(batch.kept, store.blocks(batch.kept.design))
    wanted = total if limit is None else min(total, known.count + limit)
    progress.total, progress.done = total, min(known.count, total)
    progress.failed = int(known.count - known.passed.sum())
    if known.count < wanted:
        batch.fly(store, columns(batch.definition).part(0, wanted), known.count, progress, on_progress)
    return wanted == total


def _searched(
    store: Store, batch: BatchFlights, progress: Progress, on_progress: OnProgress, limit: int | None
) -> Boundary:
    search = batch.definition.search
    assert search is not None
    drawn = {key: np.array(own, float) for key, own in draws(batch.definition, search.most_per_point).items()}
    known = of_blocks(batch.kept, store.blocks(batch.kept.design))
    passed: dict[Point, list[bool]] = {}
    for *point, flag in zip(*(known.values.get(name, ()) for name in search.names), known.passed, strict=True):
        passed.setdefault(tuple(map(float, point)), []).append(bool(flag))
    count = known.count

    def fly(asked: Mapping[Point, int]) -> dict[Point, list[bool]]:
        nonlocal count
        new = [(point, n) for point, wanted in asked.items() for n in range(len(passed.get(point, ())), wanted)]
        if new:
            if limit is not None and count - known.count + len(new) > limit:
                raise ConfigError(f"--limit {limit}: the search needs more flights; run it again without a limit")
            noise = np.array([n for _, n in new])
            points = np.array([point for point, _ in new])
            values = {key: own[noise] for key, own in drawn.items()}
            values |= {name: points[:, index] for index, name in enumerate(search.names)}
            part = Columns(values, noise.astype(np.uint32))
            flown = batch.at_once(part)
            batch.add(store, count, part, np.stack(list(flown.metrics.values())))
            for (point, _), flag in zip(new, flown.passed.tolist(), strict=True):
                passed.setdefault(point, []).append(flag)
            count += part.count
            progress.done = progress.total = count
            on_progress(progress)
        return {point: passed[point][:wanted] for point, wanted in asked.items()}

    return searched(search, fly)


def _confirm(store: Store, campaign: Campaign, count: int | None, on_progress: OnProgress) -> None:
    """Fly the flights of the statement of agreement on the bench, those that were not."""
    table = _table(store, campaign.definition)
    planned = [
        PlannedFlight(row.number, row.values, row.seed)
        for row in map(table.row, chosen(table, campaign.definition.seed))
    ]
    tasks = campaign.planned(store, planned)
    waiting = [tasks[row.key] for row in store.rows(PLANNED)]
    if waiting:
        workers = LocalWorkers(min(len(waiting), count or default_workers(campaign.file.scenario.plan)))
        progress = Progress(len(waiting), workers.count, last="on the bench")
        with workers:
            Driver(store, campaign.limit_s, campaign.definition.retries, progress, on_progress).fly(waiting, workers)


def _table(store: Store, definition: Definition) -> FlightColumns:
    """The flights of the present design."""
    kept = kept_of(store.about["batch"])
    table = of_blocks(kept, store.blocks(kept.design))
    if definition.search is not None or definition.rare is not None:
        return table
    return _first(table, design_of(definition).flights)


def judged(store: Store, definition: Definition, boundary: Boundary | None) -> BatchJudged:
    about = store.about
    table = _table(store, definition)
    stored: dict[str, Any] = about.get("batch_results", {})
    rows = {row.number: row for row in store.rows()}
    return BatchJudged(
        definition,
        LazyRows(table),
        {},
        store.blocks_not_counted(table.kept.design, about["edition"]),
        total=about["total"] or _total(definition, table),
        boundary=boundary,
        edition=about["edition"],
        table=table,
        agreement=agreement(table, chosen(table, definition.seed), rows, store.metrics()),
        rare=msgspec.convert(stored["rare"], RareRate) if "rare" in stored else None,
    )


def _total(definition: Definition, table: FlightColumns) -> int:
    if definition.sensitivity is not None:
        return design_of(definition).flights
    return definition.rare.flights if definition.rare is not None else table.count


def _first(table: FlightColumns, count: int) -> FlightColumns:
    """Where the file asks for fewer flights than there are."""
    if count >= table.count:
        return table
    values = {key: own[:count] for key, own in table.values.items()}
    return FlightColumns(table.kept, values, table.noise[:count], {k: own[:count] for k, own in table.metrics.items()})
