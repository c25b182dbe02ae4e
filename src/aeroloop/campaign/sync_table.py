"""The synchronisation tables: fly the cells, judge them, and write tables, summary and report into a folder.

tables.md       both tables, where the law is not better, checks    rrr.csv, quad.csv   every cell
summary.json    numbers, checks and statements for scripts           report.html         the same with pictures
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aeroloop.analysis import page as pages
from aeroloop.campaign import flying, tables
from aeroloop.campaign.plant import Cell
from aeroloop.campaign.results import Check, Results, acceptance
from aeroloop.campaign.statements import Statement, statements
from aeroloop.core.errors import ConfigError, not_written
from aeroloop.flight.results import REPORT, SUMMARY, as_text

TABLES = "tables.md"


@dataclass(frozen=True)
class Judged:
    results: Results
    checks: list[Check]
    statements: list[Statement]

    @property
    def every(self) -> list[Check]:
        return tables.all_checks(self.checks, self.statements)

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.every)

    @property
    def summary(self) -> dict[str, object]:
        return tables.summary(self.results, self.checks, self.statements)


def judge(results: Results) -> Judged:
    return Judged(results, acceptance(results), statements(results))


def fly(
    cells: Sequence[Cell],
    seed: int = 1,
    *,
    workers: int | None = None,
    on_progress: flying.OnProgress = lambda cell: None,
) -> Judged:
    flown = flying.fly_all(cells, seed, workers=workers, on_progress=on_progress)
    return judge(Results(seed, flying.with_kicks(flown), {one.cell: one.ended for one in flown}))


def read(folder: Path) -> Judged:
    """Judge what a folder holds again."""
    path = folder / SUMMARY
    try:
        return judge(tables.results_of(json.loads(path.read_text(encoding="utf-8"))))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; expected a folder of sync-table") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{path}: expected the summary that sync-table writes") from None


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(
            f"{folder}: exists already, and results are never overwritten; choose another --out"
        ) from None
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error.strerror}") from None


def write(folder: Path, judged: Judged) -> Path:
    """Returns the report's path."""
    from aeroloop.campaign import page  # imported here: drawing is slow to import

    results = judged.results
    texts = {
        TABLES: tables.markdown(results, judged.checks, judged.statements),
        SUMMARY: as_text(judged.summary),
        **{f"{plant}.csv": tables.csv_text(results, plant) for plant in results.plants},
    }
    for name, text in texts.items():
        try:
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise not_written(folder / name, error) from None
    report = folder / REPORT
    pages.write(report, page.render(results, judged.checks, judged.statements), "report")
    return report
