"""`aeroloop pad`: the landing pad as a file to print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeroloop.core.errors import not_written

EPILOG = (
    "Examples:\n\n`aeroloop pad --out pad.pdf`\n\n"
    "`aeroloop pad --out pad.pdf --page a4`\n\n"
    "`aeroloop pad --out small.svg --scale 0.25`\n\n"
    "`aeroloop pad --out texture.png`\n\n"
    "Print at 100 %, without fitting to the page, and measure the ruler: it is 10 cm long."
)


def pad(
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write; .pdf, .svg or .png (the board alone).")],
    scale: Annotated[
        float, typer.Option(metavar="S", help="Size relative to the board of 1.10 m; the detector needs it too.")
    ] = 1.0,
    page: Annotated[
        str,
        typer.Option(metavar="SIZE", help="board (one page as large as the pad), or tiles of a4, a3, a0 or letter."),
    ] = "board",
) -> None:
    """Write the landing pad to scale, for printing."""
    from aeroloop.perception import pad_print

    content = pad_print.render(pad_print.kind_of(out), scale=scale, page=page)
    try:
        out.write_bytes(content)
    except OSError as error:
        raise not_written(out, error) from None
    typer.echo(f"{out}: the pad, {1.1 * scale:g} m wide; print at 100 % and measure the ruler")
