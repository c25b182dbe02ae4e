"""`aeroloop export`: the log of a run for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeroloop.core.errors import ConfigError

EPILOG = (
    "Examples:\n\n`aeroloop export runs/quad-hover-mil-20260101-120000 --csv`\n\n"
    "`aeroloop export runs/quad-hover-mil-20260101-120000 --parquet --ulg --out tables`\n\n"
    "`aeroloop export flight.mcap --csv`\n\n"
    "`aeroloop export px4-module` is another command: a control law as a PX4 module."
)


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `aeroloop fly` made, or a flight.mcap.")],
    csv: Annotated[bool, typer.Option("--csv", help="A CSV file for each stream, with units in its header.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="A Parquet file for each stream.")] = False,
    ulg: Annotated[bool, typer.Option("--ulg", help="One ULog file, as PX4 writes them.")] = False,
    dataflash: Annotated[bool, typer.Option("--bin", help="One DataFlash file, as ArduPilot writes them.")] = False,
    signals: Annotated[
        bool, typer.Option("--signals", help="One CSV file of the standard signals, which `aeroloop compare` reads.")
    ] = False,
    mcap: Annotated[
        bool, typer.Option("--mcap", help="The log again, with Foxglove's topics: for logs of older versions.")
    ] = False,
    layout: Annotated[bool, typer.Option("--layout", help="A Foxglove layout for the aircraft of this run.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the files; else RUN/export.")] = None,
) -> None:
    """Write the log of a run in other formats."""
    from aeroloop.flight.export import export_run

    chosen = {
        "csv": csv,
        "parquet": parquet,
        "ulg": ulg,
        "bin": dataflash,
        "signals": signals,
        "mcap": mcap,
        "layout": layout,
    }
    formats = [name for name, wanted in chosen.items() if wanted]
    if not formats:
        raise ConfigError(f"no format given; expected one or more of: {', '.join(f'--{name}' for name in chosen)}")
    for path in export_run(run, formats, out):
        typer.echo(path)
