"""`aeroloop trajectory`: a smooth motion through points, compared with an aircraft's limits and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.core.errors import EXIT_CHECK_FAILED, ConfigError

if TYPE_CHECKING:
    from aeroloop.api.trajectories import Trajectory

EPILOG = (
    "The file has a header and a line for each point: `x_m,y_m,z_m` and optionally `speed_m_s`, from the point on. "
    "Exit code 1 if the trajectory is beyond the aircraft's limits.\n\n"
    "Examples:\n\n`aeroloop trajectory points.csv`\n\n"
    "`aeroloop trajectory points.csv --for tiltrotor-spiral --limit accel_m_s2=0.5 --out my-flight.toml`\n\n"
    "`aeroloop trajectory points.csv --for quad-law-hover --heading along --out my-flight.toml`\n\n"
    "`aeroloop trajectory points.csv --for quad-mission --every 5 --out survey.plan`\n\n"
    "`aeroloop trajectory goal.csv --for fixedwing-hierarchical --out to-the-goal.toml`\n\n"
    "The dashboard's page Trajectory draws the points: `aeroloop dash`."
)


def trajectory(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="The points.")],
    scenario: Annotated[
        str, typer.Option("--for", metavar="SCENARIO", help="Its aircraft flies it, in its world.")
    ] = "tiltrotor-spiral",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ends in .toml (a scenario that flies it), .plan or .waypoints (a mission), .motion.csv, .csv.",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="KEY=VALUE", help="Of the speeds along the path, e.g. accel_m_s2=0.5."),
    ] = None,
    as_given: Annotated[
        bool, typer.Option("--as-given", help="Fly the speeds of the file, without slowing down in bends.")
    ] = False,
    heading: Annotated[str, typer.Option(help="fixed, or along: with the path.")] = "fixed",
    yaw_deg: Annotated[float, typer.Option("--yaw", metavar="DEG", help="Fixed heading, from east to north.")] = 0.0,
    ending: Annotated[str, typer.Option(help="Of a mission: return, land or hold.")] = "return",
    every_m: Annotated[
        float, typer.Option("--every", min=0, metavar="M", help="Of a mission: waypoints along the curve, M apart.")
    ] = 0.0,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON alone on standard output.")
    ] = False,
) -> None:
    """Make a smooth trajectory through points: compare it with an aircraft's limits, save it to fly it."""
    from math import radians

    from aeroloop.api.trajectories import trajectory as made

    drawn = made(
        file,
        scenario,
        limits=dict(_limit(each) for each in limits or ()),
        fit=not as_given,
        heading=_one_of("--heading", heading, "fixed", "along"),
        yaw_rad=radians(_within("--yaw", yaw_deg, 180.0)),
        ending=_one_of("--ending", ending, "return", "land", "hold"),
        every_m=every_m,
    )
    written = drawn.save(out, replace=replace) if out is not None else []
    if as_json:
        typer.echo(json.dumps(_numbers(drawn, written), indent=2, allow_nan=False))
    else:
        _show(drawn, written)
    if drawn.violations:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _limit(words: str) -> tuple[str, float]:
    key, _, value = words.partition("=")
    try:
        return key.strip(), float(value)
    except ValueError:
        raise ConfigError(f"--limit {words}: expected KEY=NUMBER, for example accel_m_s2=0.5") from None


def _one_of(option: str, value: str, *known: str) -> Any:
    if value not in known:
        raise ConfigError(f"{option} {value}: expected {', '.join(known[:-1])} or {known[-1]}")
    return value


def _within(option: str, value: float, most: float) -> float:
    if not abs(value) <= most:
        raise ConfigError(f"{option} {value:g}: expected -{most:g} to {most:g}")
    return value


def _numbers(drawn: Trajectory, written: list[Path]) -> dict[str, Any]:
    flown = bool(drawn.quantities)
    return {
        "aircraft": drawn.base.scenario.family.name,
        "points": len(drawn.points),
        "length_m": drawn.length_m if flown else None,
        "duration_s": drawn.duration_s if flown else None,
        "quantities": [
            {"name": each.name, "unit": each.unit, "worst": each.worst, "limit": each.limit}
            for each in drawn.quantities
        ],
        "violations": [str(each) for each in drawn.violations],
        "files": [str(path) for path in written],
    }


def _show(drawn: Trajectory, written: list[Path]) -> None:
    screen = Console()
    if drawn.quantities:
        table = Table("quantity", "worst", "limit", "", header_style="bold")
        for each in drawn.quantities:
            held = "[red]beyond[/]" if each.beyond.any() else "[green]within[/]"
            table.add_row(each.name, f"{each.worst:.2f} {each.unit}", f"{each.limit:g} {each.unit}", held)
        screen.print(table)
        words = f"{len(drawn.points)} points, {drawn.length_m:.1f} m in {drawn.duration_s:.1f} s"
        screen.print(f"{words} ({drawn.base.scenario.family.name})", highlight=False)
    for violation in drawn.violations:
        screen.print(f"[yellow]{violation}[/]", highlight=False, soft_wrap=True)
    for path in written:
        screen.print(f"written: {path}", highlight=False, soft_wrap=True)
