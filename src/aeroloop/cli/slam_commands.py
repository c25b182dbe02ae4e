"""`aeroloop slam`: RGB-D graph-SLAM on a recorded sequence, or on the frames of a camera's link."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli import progress
from aeroloop.cli.console import plain, print_note
from aeroloop.core.errors import ConfigError, LinkError, not_written

if TYPE_CHECKING:
    from aeroloop.cameras.frame_client import FrameClient
    from aeroloop.perception.slam.result import SlamResult
    from aeroloop.perception.slam.settings import Settings
    from aeroloop.perception.slam.tum import Sequence
    from aeroloop.world.room_layout import Layout

EPILOG = (
    "Examples:\n\n`aeroloop slam rgbd_dataset_freiburg3_long_office_household`\n\n"
    "`aeroloop slam DIR --set loops=false --out runs/odometry`\n\n"
    "`aeroloop slam DIR --set every=3 --set far_m=4 --json`\n\n"
    "`aeroloop slam DIR --compare`\n\n"
    "`aeroloop slam tcp://bench.local:5600 --out runs/map`\n\n"
    "DIR has rgb.txt and depth.txt, and may have groundtruth.txt and calibration.toml. A link is that of a flight's "
    "camera with depth (`cameras.link`), read until the flight ends or Ctrl-C.\n\n"
    "Exit codes: 0 done, 2 bad usage, 3 no server."
)
REPORT = "report.html"


class Extra(NamedTuple):
    separate: bool  # each front end has a folder of its own
    octree: bool


def slam(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DIR|URL",
            help="Folder of an RGB-D sequence in TUM's format, or tcp://HOST:PORT of a camera's link.",
        ),
    ],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; may be repeated.")
    ] = None,
    front_end: Annotated[str, typer.Option("--front-end", metavar="NAME", help="orb, sift or icp.")] = "",
    compare: Annotated[bool, typer.Option("--compare", help="Run every front end, and make their table.")] = False,
    with_octree: Annotated[
        bool, typer.Option("--octree", help="Write map.bt too, an octree with free space; needs the extra octree.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results; must not exist yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
) -> None:
    """Compute trajectory and map of RGB-D frames by graph-SLAM, and their errors against ground truth."""
    from aeroloop.api.flying import RUNS
    from aeroloop.cameras.frame_client import FrameClient, address, is_link
    from aeroloop.perception.slam import files, octree, tum
    from aeroloop.perception.slam.opencv import cv
    from aeroloop.perception.slam.settings import FRONT_ENDS, settings_of

    if compare and front_end:
        raise ConfigError("--compare runs every front end: expected no --front-end")
    cv()  # before anything is read: without OpenCV one sentence
    if with_octree:
        octree.octomap()
    given = (*(overrides or ()), *((f"front_end={front_end}",) if front_end else ()))
    names = FRONT_ENDS if compare else (settings_of(given).front_end,)
    chosen = [settings_of((*given, f"front_end={name}")) for name in names]
    reader: FrameClient | Sequence
    if is_link(source):
        address(source)
        if compare:
            raise ConfigError("--compare reads the frames once for each front end: expected a folder")
        reader = FrameClient(source)
    else:
        reader = tum.open_sequence(Path(source))
        if not reader.calibrated:
            print_note(f"{source}: no calibration.toml; using TUM's default values (fx = fy = 525, 640x480, 1/5000 m)")
    results = out or RUNS / f"slam-{datetime.now():%Y%m%d-%H%M%S}"
    files.make_folder(results)
    try:
        rows = [_run(reader, source, settings, results, Extra(compare, with_octree)) for settings in chosen]
    except BaseException:
        with suppress(OSError):  # keep what is in it already
            results.rmdir()
        raise
    summary: dict[str, Any] = {"front_ends": rows} if compare else rows[0]
    if compare:
        _write_comparison(results, Path(source).name, summary)
    if as_json:
        sys.stdout.write(json.dumps(summary, indent=2, allow_nan=False) + "\n")
    else:
        _show(rows, results / REPORT)


def _run(reader: FrameClient | Sequence, source: str, settings: Settings, folder: Path, extra: Extra) -> dict[str, Any]:
    """One front end, with its files; its numbers."""
    from aeroloop.analysis import page, slam_maps, slam_page
    from aeroloop.cameras.frame_client import FrameClient
    from aeroloop.perception.slam import files, octree, run

    if isinstance(reader, FrameClient):
        result = _streamed(reader, source, settings)
    else:
        count = run.frame_count(reader, settings)
        with progress.counted(f"slam {settings.front_end}", count, "frames") as told:
            result = run.run(reader, settings, lambda done: told(done, f"frame {done}"))
    if extra.separate:
        folder = folder / settings.front_end
        files.make_folder(folder)
    numbers, layout = run.summary(result), _layout(Path(source))
    if layout is not None and result.truth is not None:
        numbers |= slam_maps.map_errors(result, layout)
    if extra.octree:
        numbers |= octree.write(folder, result.state, settings)
    files.write(folder, result, numbers)
    page.write(folder / REPORT, slam_page.render(result, numbers, layout), "report")
    return numbers


def _layout(folder: Path) -> Layout | None:
    """The room of a rendered sequence, whose surfaces are known."""
    from aeroloop.core.config import convert, read_toml
    from aeroloop.world.room_layout import FILE, RoomConfig

    path = folder / FILE
    return convert(read_toml(path), RoomConfig, str(path)).layout if path.is_file() else None


def _streamed(client: FrameClient, url: str, settings: Settings) -> SlamResult:
    """Frames until the flight ends; Ctrl-C ends the stream, and the results are written all the same."""
    from aeroloop.perception.slam.live import LiveSlam

    slam, first, last, used = LiveSlam(client.calibration, settings), None, None, 0
    lines = progress.StreamLines(f"slam {url}")
    before = signal.signal(signal.SIGINT, lambda *_: client.stop())
    try:
        for index, frame in enumerate(client.frames()):
            first, last, used = frame.number if first is None else first, frame.number, used + 1
            if index % settings.every == 0:
                row = slam.frame(frame.number, frame.t_ns, frame.rgb, frame.depth)
                lines(f"{used} frames, {row.keyframes} keyframes, {len(slam.state.loops)} loops, {row.state}")
    finally:
        signal.signal(signal.SIGINT, before)
        client.close()
    if first is None or last is None:
        raise LinkError(f"{url}: no frame's images could be decoded; expected JPEG and 16-bit PNG")
    if client.refused:
        print_note(f"{url}: damaged frames: " + ", ".join(f"{n} by {why}" for why, n in client.refused.items()))
    return replace(slam.result(url), missed=max(0, last - first + 1 - used))


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
