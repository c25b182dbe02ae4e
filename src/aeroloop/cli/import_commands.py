"""`aeroloop import`: an aircraft of your own from a CAD file (URDF, SDF, STL, OBJ), ready to fly."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli.console import plain
from aeroloop.cli.new_aircraft import AIRFRAME, NAME
from aeroloop.cli.new_aircraft import plain as scenario_name
from aeroloop.core import scenario_files
from aeroloop.core.errors import EXIT_CHECK_FAILED, AeroloopError, ConfigError, not_written
from aeroloop.core.tables import FAMILIES, family, made, part

if TYPE_CHECKING:
    from aeroloop.cad.assembly import Densities
    from aeroloop.cad.imported import Imported, Importer, Written

EPILOG = (
    "Examples:\n\n"
    "`aeroloop import my.sdf --out my-quad`\n\n"
    "`aeroloop import quad.urdf --out my-quad --density 1200 --density wing=60`\n\n"
    "`aeroloop import frame.stl --out my-quad --density 1600 --unit mm`\n\n"
    "`aeroloop import iris.sdf --out my-quad --body base_link --meshes models`\n\n"
    "`aeroloop import export.urdf --out my-quad --rotor Revolute_14 --rotor Revolute_16 ...`"
)


PIPED = 160
"""Columns where there is no terminal."""


def import_aircraft(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Description (.urdf, .sdf) or mesh (.stl, .obj).")],
    out: Annotated[Path, typer.Option("--out", help="The new folder, which must not exist yet.")],
    density: Annotated[
        list[str] | None,
        typer.Option(
            "--density",
            metavar="[NAME=]KG_M3",
            help="Density of the solids in kg/m3, for all or for a link or material; for links without a mass in the "
            "file, and for named links.",
        ),
    ] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Unit of the meshes: m, mm, cm or in; default m.")] = None,
    meshes: Annotated[
        Path | None,
        typer.Option("--meshes", help="Folder that meshes may be read from; default: the file's own folder."),
    ] = None,
    body: Annotated[
        str,
        typer.Option(
            "--body", metavar="LINK", help="Take mass and inertia from this link alone: others are placeholders."
        ),
    ] = "",
    rotor: Annotated[
        list[str] | None,
        typer.Option("--rotor", metavar="JOINT", help="A rotor's joint, in the order of the motors; default: by name."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", help="multirotor or fixedwing; default: from its rotors and surfaces.")
    ] = "",
) -> None:
    """Write the folder of your own aircraft from a CAD file: airframe, shape and a first flight."""
    from aeroloop.cad import imported  # numpy takes a tenth of a second that other commands should not need
    from aeroloop.cad.assembly import UNITS_M

    if unit is not None and unit not in UNITS_M:
        raise ConfigError(f"--unit {unit}: expected one of: {', '.join(UNITS_M)}")
    if not NAME.match(out.name):
        raise ConfigError(
            f"--out {out}: expected a name of small letters, digits and hyphens that begins with a letter"
        )
    if out.exists():
        raise ConfigError(f"{out}: exists already, and is never overwritten; choose another name")
    found = imported.read(
        file, _densities(density or []), unit=unit, meshes=meshes, body=body, rotor_joints=rotor or []
    )
    importer = _importer(found, kind)
    result = importer.written(found, scenario_name(out.name))
    names = _write(out, found, result)
    screen = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)
    _show(screen, found, result)
    _say(screen, plain(f"wrote {', '.join(names)}"))
    flight = out / result.flight_name
    try:
        _check(flight)
    except AeroloopError as error:
        _say(screen, f"[yellow]cannot fly yet[/]: {plain(str(error))}")
        raise typer.Exit(EXIT_CHECK_FAILED) from None
    _say(screen, plain(f"fly it: aeroloop fly {flight}"))


def _densities(words: list[str]) -> Densities:
    from aeroloop.cad.assembly import Densities

    named: dict[str, float] = {}
    other = None
    for word in words:
        name, equals, text = word.rpartition("=")
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0.1 <= value <= 30_000.0 or (equals and not name):
            raise ConfigError(
                f"--density {word}: expected kg/m3 from 0.1 to 30000 (foam 30, PLA 1240, carbon 1600, aluminium 2700), "
                "as 1200 or NAME=1200"
            )
        if name:
            named[name] = value
        else:
            other = value
    return Densities(named, other)


def _importer(found: Imported, kind: str) -> Importer:
    """Of the family that it belongs to, or of the given one; ConfigError says why it is none."""
    importers = {family(name).name: part(row) for name in FAMILIES if (row := family(name).importer)}
    titles = {family(name).name: name for name in FAMILIES}  # a family may have two names: the last is the general one
    if kind:
        chosen = next((own for own, title in titles.items() if kind in (own, title) and own in importers), "")
        if not chosen:
            known = ", ".join(titles[own] for own in importers)
            raise ConfigError(f"--kind {kind}: expected one of: {known}")
        importers = {chosen: importers[chosen]}
    lacking = {titles[own]: importer.lacks(found) for own, importer in importers.items()}
    fitting = [importer for own, importer in importers.items() if not lacking[titles[own]]]
    if len(fitting) > 1:
        raise ConfigError(f"{found.source}: could be any of: {', '.join(lacking)}; state it by --kind")
    if not fitting:
        joints = ", ".join(joint.name for joint in found.assembly.model.joints[:12]) or "none"
        why = "; ".join(lacking.values())
        raise ConfigError(
            f"{found.source}: {why}; rotors are recognised by a motor model, by joints called rotor, prop or motor, or "
            f"named by --rotor JOINT (joints in the file: {joints})"
        )
    chosen_importer: Importer = fitting[0]
    return chosen_importer


def _show(screen: Console, found: Imported, result: Written) -> None:
    table = Table("body", header_style="bold")
    for title in ("mass kg", "centre m", "Ixx kg m2", "Iyy", "Izz"):
        table.add_column(title, no_wrap=True)
    table.add_column("from")
    rows = [(each.name, each.inertial, each.source) for each in found.assembly.bodies]
    for name, own, source in (*rows, ("aircraft", found.body, found.weighed)):
        centre = " ".join(f"{_rounded(value):.4g}" for value in own.centre_m)
        moments = (f"{own.inertia_kgm2[axis, axis]:.4g}" for axis in range(3))
        table.add_row(plain(name), f"{own.mass_kg:.4g}", centre, *moments, plain(source))
    screen.print(table)
    model = found.assembly.model
    for rotor in found.rotors:
        spin = {1: "counter-clockwise", -1: "clockwise", None: "direction unknown"}[rotor.spin]
        at = ", ".join(f"{_rounded(value):.4g}" for value in rotor.pos_m)
        _say(screen, plain(f"rotor {rotor.name}: at ({at}) m, {spin}, recognised by its {rotor.by}"))
    for surface in found.surfaces:
        _say(screen, plain(f"surface {surface.name}: {surface.kind}"))
    others = {rotor.name for rotor in found.rotors} | {surface.name for surface in found.surfaces}
    rest = [f"{joint.name} ({joint.kind})" for joint in model.joints if joint.name not in others]
    if rest:
        more = f" and {len(rest) - 20} more" if len(rest) > 20 else ""
        _say(screen, plain(f"joints taken as rigid: {', '.join(rest[:20])}{more}"))
    _list(screen, "check", (*found.notes, *result.notes))
    missing = [entry for entry in result.entries if not entry.known]
    _list(screen, f"fill in, in {AIRFRAME} (marked FILL IN)", _grouped((entry.key, entry.origin) for entry in missing))


def _say(screen: Console, text: str) -> None:
    screen.print(text, soft_wrap=True)


def _rounded(length_m: float) -> float:
    """To a micrometre: less is the error of a sum."""
    return round(float(length_m), 6) + 0.0


def _grouped(missing: Iterable[tuple[str, str]]) -> list[str]:
    """Keys with the same reason on one line."""
    reasons: dict[str, list[str]] = {}
    for key, origin in missing:
        reasons.setdefault(origin, []).append(key)
    return [f"{', '.join(keys)}: {origin}" for origin, keys in reasons.items()]


def _list(screen: Console, title: str, lines: Iterable[str]) -> None:
    lines = list(lines)
    if lines:
        _say(screen, f"[bold]{title}[/]")
    for line in lines:
        _say(screen, plain(f"  - {line}"))


def _write(out: Path, found: Imported, result: Written) -> list[str]:
    """Before anything is printed: whoever reads the output may stop early. Returns the files' names."""
    texts = {AIRFRAME: result.airframe, result.flight_name: result.flight}
    contents = {name: text.encode() for name, text in texts.items()} | dict(found.files)
    for name, content in contents.items():
        path = out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise not_written(path, error) from None
    shown = [str(out / name) for name in texts]
    return [*shown, f"{len(found.files)} meshes"] if found.files else shown


def _check(flight: Path) -> None:
    """What a flight would refuse: the airframe and its mission."""
    scenario = scenario_files.load(flight)
    row = family(scenario.kind)
    if row.check:
        made(row.check, scenario)
    if row.shape:
        made(row.shape, scenario)
