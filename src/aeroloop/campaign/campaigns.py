"""Campaigns: many flights of one scenario with drawn parameters. The common part of `aeroloop campaign` and Python.

campaign.db     every flight (`store.py`)      report.html   written by `report`
replays/        flights flown again by `replay`       aborted/      what is left of flights that could not be flown
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import msgspec

from aeroloop.api.flying import RUNS, Watcher, carry_out, verified
from aeroloop.api.scenarios import ScenarioPlan
from aeroloop.batch.engine import Target
from aeroloop.campaign import definition as files
from aeroloop.campaign import fault_campaign, kept
from aeroloop.campaign.bench_search import boundary_of_flights
from aeroloop.campaign.definition import CampaignFile, Definition
from aeroloop.campaign.design import PlannedFlight, flights
from aeroloop.campaign.design_size import design_of
from aeroloop.campaign.driver import Driver, OnProgress, Progress, counted
from aeroloop.campaign.identity import edition_of, flight_key
from aeroloop.campaign.judgement import Judged, Worst
from aeroloop.campaign.places import LOCAL, batch_target, default_workers, workers_at
from aeroloop.campaign.search import Boundary
from aeroloop.campaign.store import ABORTED, DATABASE, FLOWN, PLANNED, Row, Store
from aeroloop.campaign.worker import Task
from aeroloop.core.config import convert, override
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError, not_written
from aeroloop.core.fleet import Plan
from aeroloop.flight.judging import Judged as JudgedFlight
from aeroloop.flight.results import REPORT
from aeroloop.flight.supervisor import Flight

LOCK, REPLAYS = "campaign.lock", "replays"
PER_SIMULATED_S, FIXED_S = 10.0, 60.0
"""Wall limit of a flight: a multiple of its simulated time, and a fixed part for its start."""


@dataclass(frozen=True)
class Replay:
    """A flight of a campaign that was flown again."""

    row: Row
    folder: Path
    log_sha256: str
    compared: bool  # on the rung and at the pace of the campaign, so that the hash must be the same
    exit_code: int  # of the flight
    summary: Mapping[str, Any] = field(default_factory=dict)  # its summary.json

    @property
    def equal(self) -> bool:
        """The same log; of a batch, which has none, the same verdict."""
        if self.row.log_sha256 is None:
            return bool(self.summary["ok"]) == self.row.passed
        return self.log_sha256 == self.row.log_sha256

    @property
    def differences(self) -> dict[str, tuple[float, float]]:
        """Checked metrics of a flight of a batch: there, and on the bench."""
        bench = self.summary.get("metrics", {})
        return {each["name"]: (each["value"], bench[each["name"]]) for each in self.row.checks if each["name"] in bench}

    @property
    def words(self) -> str:
        if self.row.state == ABORTED:
            return f"flown here; in the campaign it could not be flown: {self.row.why}"
        if not self.compared:
            return "flown at another pace or on another rung than in the campaign: log hashes are not compared"
        if self.row.log_sha256 is None:
            pairs = ", ".join(f"{name} {a:.6g} there, {b:.6g} here" for name, (a, b) in self.differences.items())
            return f"{'the same verdict as' if self.equal else 'another verdict than'} in the batch: {pairs}"
        if self.equal:
            return "log_sha256 is the one of the campaign"
        return f"log_sha256 differs: {self.log_sha256[:12]} here, {str(self.row.log_sha256)[:12]} in the campaign"


class Campaign:
    """A campaign and its folder. `Campaign("quad-wind").run()`; `open_campaign(DIR)` for one that was flown."""

    def __init__(
        self,
        campaign: str | Path | Mapping[str, Any] | CampaignFile,
        *,
        out: str | Path | None = None,
        engine: str | None = None,
    ) -> None:
        """`campaign`: a name, a .toml file, or a table with the content of one. `out`: its folder; flights that are
        there already are not flown again. `engine`: `bench` or `batch` in place of the file's."""
        self.file = campaign if isinstance(campaign, CampaignFile) else files.read(campaign, engine)
        self.folder = Path(out) if out is not None else RUNS / f"campaign-{self.definition.name}"

    @property
    def definition(self) -> Definition:
        return self.file.definition

    @cached_property
    def edition(self) -> str:
        return edition_of(self.file.scenario.plan)

    @property
    def remark(self) -> str:
        """Where the number of flights differs from that in the file."""
        return "" if self.definition.own_number else design_of(self.definition).remark

    def run(
        self,
        *,
        workers: int | None = None,
        limit: int | None = None,
        on: str = LOCAL,
        on_progress: OnProgress = lambda progress: None,
    ) -> Judged:
        """Fly what is missing. `workers`: flights on the bench at a time. `limit`: at most so many now. `on`: `local`,
        `gpu` for a batch, or the address of a ray cluster, `ray://HOST:PORT`. What was flown stays, however it ends."""
        if self.definition.engine == "batch":
            return self._run_batch(batch_target(on), workers, limit, on_progress)
        count, plan = workers or default_workers(self.file.scenario.plan), self.file.scenario.plan
        with self._writing() as store:
            store.begin(self.about())
            if self.file.scenario.plan.loop == "pil":
                self._build()
            total = 0 if self.definition.search else design_of(self.definition).flights
            driver = Driver(store, self.limit_s, self.definition.retries, Progress(total, count), on_progress)
            if self.definition.search:
                with workers_at(on, workers, plan) as ours:
                    store.keep({"boundary": msgspec.to_builtins(boundary_of_flights(self, driver, ours, limit))})
                return judged(store)
            planned = list(flights(self.definition, philox=self.file.philox))
            if self.definition.sweep:
                planned = fault_campaign.planned(self.file, store, self.edition)
                total = len(planned)
            driver.progress.total = total
            tasks = self.planned(store, planned, driver.planning)
            driver.progress = counted(store, total, count)
            waiting = [tasks[row.key] for row in store.rows(PLANNED)][:limit]
            if waiting:
                driver.progress.until = driver.progress.done + len(waiting)
                with workers_at(on, workers, plan) as ours:
                    driver.fly(waiting, ours)
            return judged(store)

    def _run_batch(self, target: Target, workers: int | None, limit: int | None, on_progress: OnProgress) -> Judged:
        from aeroloop.campaign.batch_run import Work, run

        with self._writing() as store:
            run(store, self, target, Work(workers, limit), on_progress)
            return judged(store)

    def planned(
        self, store: Store, planned: Sequence[PlannedFlight], on_progress: Callable[[int], None] = lambda count: None
    ) -> dict[str, Task]:
        """Tasks by key, written into the store; ConfigError names the flight whose values the scenario refuses.
        `on_progress`: how many there are so far."""
        return {task.key: task for task in self.tasks(store, planned, on_progress)}

    def tasks(
        self, store: Store, planned: Sequence[PlannedFlight], on_progress: Callable[[int], None] = lambda count: None
    ) -> list[Task]:
        """In the order of the flights; two that are the same have the same key."""
        scenario, tasks = self.file.scenario, list[Task]()
        table = None if scenario.table is None else dict(scenario.table)
        for each in planned:
            changes = (*scenario.changes, *self.file.changes(each.values, each.seed))
            own = ScenarioPlan(scenario.path, changes, scenario.table)
            try:
                key = flight_key(own.plan, self.edition)
            except ConfigError as error:
                raise ConfigError(f"{self.file.path}: flight {each.number}: {error}") from None
            free = None
            if self.definition.sweep:
                free = (*scenario.changes, *fault_campaign.fault_free(self.file, each.values, each.seed))
            left = str(kept.place(self.folder.resolve(), each.number))
            on_progress(len(tasks))
            tasks.append(Task(key, str(scenario.path.resolve()), changes, self.edition, table, free, left))
        rows = [(task.key, each.number, each.values, each.seed) for task, each in zip(tasks, planned, strict=True)]
        store.plan(rows, self.edition)
        return tasks

    @property
    def limit_s(self) -> float:
        return self.definition.wall_limit_s or PER_SIMULATED_S * self.file.scenario.plan.duration_s + FIXED_S

    def _build(self) -> None:
        """What all flights need, once: the firmware image."""
        with Flight(self.file.scenario.plan, self.folder / "build"):
            pass

    def about(self) -> dict[str, Any]:
        table = files.as_table(self.definition)
        if self.file.scenario.table is None:
            table["scenario"] = str(self.file.scenario.path.resolve())
        total = 0 if self.definition.own_number or self.definition.sweep else design_of(self.definition).flights
        return {
            "definition": table,
            "file": str(self.file.path.resolve()),
            "edition": self.edition,
            "total": total,
            "boundary": None,
        }

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        """The store; another driver of the same folder is refused."""
        store = Store(self.folder, writes=True)
        try:
            with self._lock_file() as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ConfigError(
                        f"{self.folder}: another process runs this campaign; expected another --out"
                    ) from None
                yield store
        finally:
            store.close()

    def _lock_file(self) -> IO[str]:
        try:
            return (self.folder / LOCK).open("w")
        except OSError as error:
            raise not_written(self.folder / LOCK, error) from None

    # Of what was flown.

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        store = Store(self.folder)
        try:
            yield store
        finally:
            store.close()

    def status(self) -> Judged:
        with self._reading() as store:
            return judged(store)

    def worst(self, count: int | None = None) -> list[Worst]:
        return self.status().worst(count)

    def report(self) -> Path:
        """Write report.html; its path."""
        from aeroloop.analysis import page
        from aeroloop.campaign.campaign_page import render  # drawing is slow to import

        path = self.folder / REPORT
        page.write(path, render(self.status(), self.folder), "report")
        return path

    def export(self, out: str | Path | None = None) -> Path:
        """One row for each flight, as .csv or .parquet; its path."""
        from aeroloop.campaign.flight_table import write

        path = Path(out) if out is not None else self.folder / "flights.csv"
        write(path, self.status())
        return path

    def plan_of(self, number: int, *, loop: str | None = None) -> tuple[Row, ScenarioPlan]:
        """A flight by its number, and its scenario."""
        rows = self.status().rows
        found = [row for row in rows[number - 1 : number] if row.number == number] or [
            row for row in rows if row.number == number
        ]
        if not found:
            raise ConfigError(f"{self.folder}: no flight {number}; expected 1 to {len(rows)}")
        row = found[0]
        rung = () if loop is None else (override("loop", loop),)
        return row, self.file.scenario.changed((*self.file.changes(row.values, row.seed), *rung))

    def replay(
        self, number: int, *, loop: str | None = None, watcher: Watcher | None = None, report: bool = True
    ) -> Replay:
        """Fly a flight again with all its processes; its log must have the hash of the campaign's."""
        row, scenario = self.plan_of(number, loop=loop)
        return self.replayed(
            row,
            scenario,
            lambda plan, folder: carry_out(plan, folder, watcher or Watcher(notice=lambda words: None), report=report),
        )

    def replayed(self, row: Row, scenario: ScenarioPlan, fly: Callable[[Plan, Path], JudgedFlight]) -> Replay:
        if row.state == PLANNED:
            raise ConfigError(f"{self.folder}: flight {row.number} was not flown yet; expected one with a result")
        plan = verified(scenario)
        flown = fly(plan, self._replay_folder(row.number))
        compared = row.state == FLOWN and plan.lockstep and plan.loop == self.file.scenario.plan.loop
        return Replay(row, flown.folder, str(flown.summary["log_sha256"]), compared, flown.exit_code, flown.summary)

    def _replay_folder(self, number: int) -> Path:
        base, n = self.folder / REPLAYS / f"flight-{number}", 1
        folder = base
        while folder.exists():
            n += 1
            folder = base.with_name(f"{base.name}-{n}")
        return folder

    def __repr__(self) -> str:
        return f"<Campaign {self.definition.name} in {self.folder}>"


def replay_exit_code(replay: Replay) -> int:
    """1 if the log differs, else that of the flight itself: a failed flight fails again."""
    if not replay.compared:
        return replay.exit_code
    return EXIT_OK if replay.equal else EXIT_CHECK_FAILED


def open_campaign(folder: str | Path) -> Campaign:
    """A campaign by its folder, with the file as it was when it was last run."""
    store = Store(Path(folder))
    try:
        about = store.about
    finally:
        store.close()
    if "definition" not in about:
        raise ConfigError(f"{folder}: {DATABASE} holds no campaign; run it again")
    definition = convert(about["definition"], Definition, str(Path(folder) / DATABASE))
    return Campaign(files.of_definition(definition, Path(about["file"])), out=folder)


def judged(store: Store) -> Judged:
    about = store.about
    definition = convert(about["definition"], Definition, str(store.path))
    if definition.engine == "batch":
        from aeroloop.campaign.batch_run import judged as judged_batch

        return judged_batch(store, definition, boundary_of(about.get("boundary")))
    rows = store.rows()
    return Judged(
        definition,
        rows,
        store.metrics(),
        store.not_counted(about["edition"]),
        total=about["total"] or len(rows),
        boundary=boundary_of(about.get("boundary")),
        edition=about["edition"],
        stretches=fault_campaign.stretches_of(about.get(fault_campaign.PHASES_KEPT)),
    )


def boundary_of(table: dict[str, Any] | None) -> Boundary | None:
    return None if table is None else msgspec.convert(table, Boundary)
