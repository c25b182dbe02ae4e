"""`aeroloop camera`: the camera images of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeroloop.core.errors import ConfigError, not_written

app = typer.Typer(help="The camera images of a run.", no_args_is_help=True, rich_markup_mode="markdown")
FORMATS = ("jpg", "png")


@app.callback()
def camera() -> None:
    """The camera images of a run."""


@app.command(
    epilog="Examples:\n\n`aeroloop camera view runs/quad-camera-mil-20260101-120000`\n\n"
    "`aeroloop camera view RUN --sheet`\n\n"
    "`aeroloop camera view RUN --camera down --format png --out images`\n\n"
    "A log has five images per simulated second. PNG and contact sheets need OpenCV: `pip install 'aeroloop[vision]'`."
)
def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `aeroloop fly` made, or a flight.mcap.")],
    wanted: Annotated[str, typer.Option("--camera", metavar="NAME", help="Only this camera; else all.")] = "",
    sheet: Annotated[bool, typer.Option("--sheet", help="One contact sheet a camera instead of single files.")] = False,
    kind: Annotated[str, typer.Option("--format", metavar="KIND", help="jpg (as logged) or png.")] = "jpg",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the files; else RUN/images.")] = None,
) -> None:
    """Write the logged images of a run's cameras as files."""
    from aeroloop.cameras import encoding
    from aeroloop.cameras.contact_sheet import contact_sheet
    from aeroloop.flight.results import LOG
    from aeroloop.recording.logged_images import images

    if kind not in FORMATS:
        raise ConfigError(f"--format {kind}: expected one of: {', '.join(FORMATS)}")
    log = run / LOG if run.is_dir() else run
    if not log.is_file():
        raise ConfigError(f"{run}: no flight log; expected a folder that `aeroloop fly` made, or a flight.mcap")
    found = list(images(log))
    chosen = [image for image in found if wanted in ("", image.camera)]
    if not chosen:
        there = sorted({image.camera for image in found})
        expected = f"expected one of: {', '.join(there)}" if there else "expected a flight with [[cameras]]"
        raise ConfigError(f"{log}: no images{f' of camera {wanted}' if wanted else ''}; {expected}")
    folder = out or log.parent / "images"
    stems = {image: f"{image.aircraft}-{image.camera}" for image in chosen}
    if sheet:
        files = {
            f"{stem}-sheet.jpg": contact_sheet([(image.t_s, image.jpeg) for image in chosen if stems[image] == stem])
            for stem in dict.fromkeys(stems.values())
        }
    else:
        files = {
            f"{stems[image]}-{image.t_s:09.3f}.{kind}": image.jpeg if kind == "jpg" else encoding.png(image.jpeg)
            for image in chosen
        }
    for name, content in files.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        except OSError as error:
            raise not_written(folder / name, error) from None
    typer.echo(f"{folder}: {len(files)} {'contact sheets' if sheet else 'images'}")
