"""`aeroloop video`: a film of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from aeroloop.cli import progress
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3

EPILOG = (
    "Examples:\n\n`aeroloop video runs/quad-mission`\n\n"
    "`aeroloop video runs/quad-mission --camera free --instruments --out mission.mp4`\n\n"
    "`aeroloop video runs/quad-mission --camera free --eye 5,-8,2 --from 10 --to 20 --speed 0.5`\n\n"
    "`aeroloop video runs/mixed-fleet --aircraft wing --camera onboard --out wing.webm`\n\n"
    "`aeroloop video runs/quad-mission --out small.webp --size 400x226 --speed 4`\n\n"
    "`aeroloop video runs/quad-mission --from 12 --out frame.png`\n\n"
    "MP4 and WebM need PyAV: `pip install 'aeroloop[video]'`; GIF, WebP and PNG do not."
)


def video(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `aeroloop fly` made, or its flight.mcap.")],
    camera: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="chase: behind the aircraft; free: stays, with the flight in view; onboard: mounted on the aircraft.",
        ),
    ] = "chase",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ends in .mp4, .webm, .gif, .webp, or .png for one frame; RUN/flight.mp4."),
    ] = None,
    fps: Annotated[float | None, typer.Option(metavar="N", help="Frames a second; 25, of .gif and .webp 12.5.")] = None,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="In pixels; 960x540, of .gif and .webp 480x270, more with --instruments.")
    ] = "",
    from_s: Annotated[float | None, typer.Option("--from", metavar="S", help="From this time of the flight.")] = None,
    to_s: Annotated[float | None, typer.Option("--to", metavar="S", help="Up to this time of the flight.")] = None,
    speed: Annotated[float, typer.Option(metavar="X", help="Times real time: 4 is faster, 0.25 slow motion.")] = 1.0,
    instruments: Annotated[bool, typer.Option("--instruments", help="Instruments and plots beside the view.")] = False,
    aircraft: Annotated[
        str, typer.Option(metavar="NAME", help="Of several: which one to follow, by name or number from 1.")
    ] = "",
    eye: Annotated[
        str, typer.Option(metavar="E,N,U", help="Place of the free camera in m, which then turns to the aircraft.")
    ] = "",
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Draw at twice the size and average: smooth edges, more time.")
    ] = False,
) -> None:
    """Make a film of a run from its log, without a display."""
    from aeroloop.flight.results import LOG
    from aeroloop.video import encoders
    from aeroloop.video.film import Settings
    from aeroloop.video.make import make

    file = out or (run if run.is_dir() else run.parent) / f"{Path(LOG).stem}.mp4"
    kind = encoders.kind_of(file)
    settings = Settings(
        camera=camera,
        fps=kind.fps if fps is None else fps,
        size_px=_size(size) if size else kind.panel_size_px if instruments else kind.size_px,
        from_s=from_s,
        to_s=to_s,
        speed=speed,
        aircraft=aircraft,
        instruments=instruments,
        smooth=smooth,
        eye_W=_place(eye) if eye else None,
    )
    with progress.steps(file.name, "frames") as told:
        count = make(run, file, settings, told)
    width, height = settings.size_px
    length = f", {count / settings.fps:.1f} s" if count > 1 else ""
    typer.echo(f"{file}: {count} frame{'s' if count > 1 else ''} of {width}x{height}{length}, {_bytes(file)}")


def _size(words: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})[xX](\d{1,5})", words, re.ASCII)
    if found is None:
        raise ConfigError(f"--size {words}: expected WIDTHxHEIGHT in pixels, for example 1280x720")
    return int(found[1]), int(found[2])


def _place(words: str) -> Vec3:
    try:
        east_m, north_m, up_m = (float(word) for word in words.split(","))
    except ValueError:
        raise ConfigError(f"--eye {words}: expected east, north and up in m, for example 5,-8,2") from None
    if not all(abs(value) < 1e6 for value in (east_m, north_m, up_m)):
        raise ConfigError(f"--eye {words}: expected numbers below 1000 km")
    return east_m, north_m, up_m


def _bytes(file: Path) -> str:
    size_B = file.stat().st_size
    return f"{size_B / 1e6:.1f} MB" if size_B >= 1e5 else f"{size_B / 1e3:.0f} kB"
