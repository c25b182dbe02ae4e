"""`aeroloop compare` with logs: options, what is printed, and the lines while a long log is read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli.console import plain, print_note
from aeroloop.core.errors import ConfigError
from aeroloop.flight import results

if TYPE_CHECKING:
    from aeroloop.flown.comparison import Compared, Comparison
    from aeroloop.flown.read import Progress

LINE_PERIOD_S = 2.0
PAPER = "paper"

TableName = Annotated[
    str | None,
    typer.Option("--table", metavar="paper", help="Of logs: the sixteen correlations beside the paper's."),
]
FromTime = Annotated[
    float | None, typer.Option("--from", metavar="S", help="Of logs: compare from this time of the first log.")
]
ToTime = Annotated[float | None, typer.Option("--to", metavar="S", help="Of logs: compare up to this time.")]
MaxLag = Annotated[
    float | None,
    typer.Option("--max-lag", min=0.1, max=120.0, metavar="S", help="Of logs: largest lag sought; 2, with --table 30."),
]
Mappings = Annotated[
    list[Path] | None,
    typer.Option(
        "--map", metavar="FILE", help="Of a CSV: a TOML file, which column is which signal; one for each CSV."
    ),
]


@dataclass(frozen=True)
class LogOptions:
    table: str | None
    from_s: float | None
    to_s: float | None
    max_lag_s: float | None
    mappings: tuple[Path, ...]

    @property
    def given(self) -> bool:
        return bool(self.mappings) or any(
            value is not None for value in (self.table, self.from_s, self.to_s, self.max_lag_s)
        )


def compare_logs(
    paths: list[Path], out: Path | None, chosen: LogOptions, within: float | None, *, as_json: bool
) -> None:
    if len(paths) != 2:
        raise ConfigError(f"expected two logs to compare, not {len(paths)}")
    if within is not None:
        raise ConfigError("--within: expected folders that `aeroloop fly` made, not logs")
    if chosen.table not in (None, PAPER):
        raise ConfigError(f"--table {chosen.table}: expected {PAPER}")
    from aeroloop.analysis import page as pages
    from aeroloop.flown import as_json as words
    from aeroloop.flown import page
    from aeroloop.flown.comparison import MAX_LAG_S, ROUTE_MAX_LAG_S, Settings, compare
    from aeroloop.flown.read import Options, read

    file = out or results.comparison_path(paths)
    results.check_comparison_path(file)
    paper = chosen.table == PAPER
    mappings = list(chosen.mappings)
    records = []
    for path in paths:
        of_csv = path.suffix.lower() == ".csv"
        mapping = (mappings.pop(0) if len(mappings) > 1 else mappings[0]) if of_csv and mappings else None
        records.append(read(path, Options(mapping, progress=reading(path))))
    max_lag_s = chosen.max_lag_s or (ROUTE_MAX_LAG_S if paper else MAX_LAG_S)
    comparison = compare(records[0], records[1], Settings(chosen.from_s, chosen.to_s, max_lag_s))
    pages.write(file, page.render(comparison, paper=paper), "comparison")
    if as_json:
        typer.echo(json.dumps(words.numbers(comparison, paper=paper), indent=2, allow_nan=False))
    else:
        _show(comparison, file, paper)


def reading(
    path: Path, tell: Callable[[str], None] = print_note, now_s: Callable[[], float] = time.monotonic
) -> Progress:
    """A line every few seconds, for a log that takes as long."""
    next_s = now_s() + LINE_PERIOD_S

    def told(done: int, size: int) -> None:
        nonlocal next_s
        if now_s() >= next_s and done < size:
            next_s = now_s() + LINE_PERIOD_S
            tell(f"{path.name}: {done / 1e6:.0f} of {size / 1e6:.0f} MB read")

    return told


def _show(comparison: Comparison, file: Path, paper: bool) -> None:
    from aeroloop.flown import paper_table
    from aeroloop.flown.page import summary

    screen = Console()
    if paper:
        rows = paper_table.rows(comparison)
        table = Table("signal", "r", "published", "", header_style="bold")
        for row in rows:
            table.add_row(row.name, "–" if row.r is None else f"{row.r:.4f}", f"{row.published:.4f}", row.remark)
        screen.print(table)
        for line in paper_table.findings(rows):
            screen.print(line, highlight=False, soft_wrap=True)
    else:
        screen.print(score_table(comparison))
        screen.print("trivial: the delayed setpoint; TIC-0: of the mean-free series", highlight=False)
    for line in summary(comparison):
        screen.print(plain(line), highlight=False, soft_wrap=True)
    screen.print(f"page: {plain(str(file))}", highlight=False, soft_wrap=True)


def score_table(comparison: Comparison) -> Table:
    titles = ("signal", "r", "trivial", "RMSE", "unit", "NRMSE", "TIC", "TIC-0", "")
    table = Table(*titles, box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column in table.columns[:-1]:
        column.no_wrap = True
    for each in comparison.signals:
        table.add_row(*_cells(each))
    return table


def _cells(each: Compared) -> tuple[str, ...]:
    score, shown = each.score, each.quantity
    r = f"[bright_black]{score.r:.4f}[/]" if each.remark else f"{score.r:.4f}"
    trivial = "–" if each.trivial is None else f"{each.trivial.r:.4f}"
    numbers = (f"{value:.3f}" for value in (score.nrmse, score.tic, score.tic_mean_free))
    remark = ", ".join(filter(None, (each.remark, each.scale_words)))
    return (shown.name, r, trivial, f"{score.rmse * shown.shown:.3g}", shown.display_unit, *numbers, remark)
