"""`aeroloop export px4-module`: a control law as an external module for PX4."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeroloop.cli.board_commands import Law, Name, Overrides
from aeroloop.core import config, scenario_files
from aeroloop.core.errors import ConfigError

EPILOG = (
    "Examples:\n\n`aeroloop export px4-module --out my_module`\n\n"
    "`aeroloop export px4-module --law my_law.py --out my_module`\n\n"
    "`aeroloop export px4-module --airframe my-quad/airframe.toml --rate 400 --out my_module`\n\n"
    "Then, in PX4's folder:\n\n`make px4_sitl EXTERNAL_MODULES_LOCATION=$HOME/my_module`"
)


def px4_module(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the module: a new or an empty one.")],
    name: Name = "quad-px4",
    law: Law = None,
    airframe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another aircraft: iris, hexarotor ..., or a .toml file.")
    ] = None,
    rate_hz: Annotated[
        float, typer.Option("--rate", metavar="HZ", help="Steps of the law a second: PX4's rate of the gyroscope.")
    ] = 250.0,
    overrides: Overrides = None,
) -> None:
    """Write a control law as an external PX4 module: its C, PX4's parameters, build files and start-up scripts."""
    from aeroloop.controllers.px4 import module_export

    given = [*(overrides or ()), *([config.override("vehicle.airframe", airframe)] if airframe else ())]
    scenario = scenario_files.load(scenario_files.find(name), tuple(given))
    if law is not None and not law.is_file():
        raise ConfigError(f"--law {law}: no such file")
    exported = module_export.described(scenario, law.absolute() if law else None, rate_hz)
    module_export.write(out, module_export.files(exported))
    typer.echo(f"{out}: {exported.law_name} for {exported.aircraft}, {exported.law.rotors} rotors, {rate_hz:g} Hz")
    if exported.law.memory > exported.logged_memory:
        typer.echo(f"of its memory of {exported.law.memory} values {exported.logged_memory} fit into PX4's log")
    typer.echo(f"build it, in PX4's folder: make px4_sitl EXTERNAL_MODULES_LOCATION={out.absolute()}")
    typer.echo(f"start it: {out / 'README.md'}")
