"""`aeroloop slam`: RGB-D graph-SLAM on a recorded sequence."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli import progress
from aeroloop.cli.console import plain, print_note
from aeroloop.core.errors import ConfigError, not_written

if TYPE_CHECKING:
    from aeroloop.perception.slam.settings import Settings
    from aeroloop.perception.slam.tum import Sequence

EPILOG = (
    "Examples:\n\n`aeroloop slam rgbd_dataset_freiburg3_long_office_household`\n\n"
    "`aeroloop slam DIR --set loops=false --out runs/odometry`\n\n"
    "`aeroloop slam DIR --set every=3 --set far_m=4 --json`\n\n"
    "`aeroloop slam DIR --compare`\n\n"
    "DIR has rgb.txt and depth.txt, and may have groundtruth.txt and calibration.toml. Exit codes: 0 done, 2 bad usage."
)
REPORT = "report.html"


def slam(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an RGB-D sequence in TUM's format.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; may be repeated.")
    ] = None,
    front_end: Annotated[str, typer.Option("--front-end", metavar="NAME", help="orb, sift or icp.")] = "",
    compare: Annotated[bool, typer.Option("--compare", help="Run every front end, and make their table.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results; must not exist yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
) -> None:
    """Compute trajectory and map of a recorded RGB-D sequence by graph-SLAM, and their errors against ground truth."""
    from aeroloop.api.flying import RUNS
    from aeroloop.perception.slam import run, tum
    from aeroloop.perception.slam.opencv import cv
    from aeroloop.perception.slam.settings import FRONT_ENDS, settings_of

    if compare and front_end:
        raise ConfigError("--compare runs every front end: expected no --front-end")
    cv()  # before anything is read: without OpenCV one sentence
    given = (*(overrides or ()), *((f"front_end={front_end}",) if front_end else ()))
    names = FRONT_ENDS if compare else (settings_of(given).front_end,)
    chosen = [settings_of((*given, f"front_end={name}")) for name in names]
    sequence = tum.open_sequence(folder)
    if not sequence.calibrated:
        print_note(f"{folder}: no calibration.toml; using TUM's default values (fx = fy = 525, 640x480, 1/5000 m)")
    results = out or RUNS / f"slam-{datetime.now():%Y%m%d-%H%M%S}"
    run.make_folder(results)
    try:
        rows = [_run(sequence, settings, results, separate=compare) for settings in chosen]
    except BaseException:
        with suppress(OSError):  # keep what is in it already
            results.rmdir()
        raise
    summary: dict[str, Any] = {"front_ends": rows} if compare else rows[0]
    if compare:
        _write_comparison(results, folder.name, summary)
    if as_json:
        sys.stdout.write(json.dumps(summary, indent=2, allow_nan=False) + "\n")
    else:
        _show(rows, results / REPORT)


def _run(sequence: Sequence, settings: Settings, folder: Path, *, separate: bool) -> dict[str, Any]:
    """One front end, with its files; its numbers."""
    from aeroloop.analysis import page, slam_page
    from aeroloop.perception.slam import run

    count = run.frame_count(sequence, settings)
    with progress.counted(f"slam {settings.front_end}", count, "frames") as told:
        result = run.run(sequence, settings, lambda done: told(done, f"frame {done}"))
    if separate:
        folder = folder / settings.front_end
        run.make_folder(folder)
    numbers = run.summary(result)
    run.write(folder, result, numbers)
    page.write(folder / REPORT, slam_page.render(result, numbers), "report")
    return numbers


def _write_comparison(folder: Path, name: str, summary: dict[str, Any]) -> None:
    from aeroloop.analysis import page, slam_page

    path = folder / "summary.json"
    try:
        path.write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise not_written(path, error) from None
    page.write(folder / REPORT, slam_page.render_comparison(name, summary["front_ends"]), "report")


def _show(rows: list[dict[str, Any]], report: Path) -> None:
    from aeroloop.analysis import slam_page

    screen = Console()
    table = Table("", *(row["front_end"] for row in rows), header_style="bold")
    columns = [slam_page.cells(row) for row in rows]
    for index, (title, _, _) in enumerate(slam_page.COLUMNS):
        table.add_row(title, *(column[index] for column in columns))
    screen.print(table)
    screen.print(f"report: {plain(str(report))}", highlight=False, soft_wrap=True)
