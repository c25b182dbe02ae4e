"""`aeroloop new`: template files for your own aircraft, each a copy of one that flies; or all examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import EXAMPLES

EXAMPLE = EXAMPLES / "aircraft" / "sled"
"""The smallest example of an own family."""
COPIED = (".py", ".toml", ".ipynb", ".json")
NAME = re.compile(r"^[a-z][a-z0-9]*([-_][a-z0-9]+)*$")
AIRFRAME = "airframe.toml"
HOVER = """\
name = "{name}"
summary = "Takes off to 3 m, holds its place and lands"
duration_s = 40.0

[vehicle]
kind = "multirotor"
airframe = "airframe.toml"

[[pilot.commands]]
at_s = 6.0
do = "arm"
[[pilot.commands]]
at_s = 6.5
do = "takeoff"
value = 3.0
[[pilot.commands]]
at_s = 25.0
do = "land"

[[checks]]
metric = "pos_rms_m"
below = 1.0
[[checks]]
metric = "armed_at_end"
equals = 0.0
"""
LOITER = """\
name = "{name}"
summary = "A minute on its circle"
duration_s = 60.0

[vehicle]
kind = "fixedwing"
airframe = "airframe.toml"

[sensors.gnss]
start_s = 0.0

[mission]
airspeed_m_s = 20.0
loiter_radius_m = 150.0
command_at_s = 3600.0

[[checks]]
metric = "altitude_error_max_m"
below = 10.0
"""


def new(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="multirotor, fixedwing, family (Python), or examples.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new folder, which must not exist yet.")],
) -> None:
    """Create the files of your own aircraft, or a copy of the shipped examples, ready to fly and to change."""
    if kind not in TEMPLATES:
        raise ConfigError(f"new: unknown kind {kind!r}, expected one of: {', '.join(TEMPLATES)}")
    folder = Path(name)
    if not NAME.match(folder.name):
        raise ConfigError(f"new {name}: expected a name of small letters, digits and hyphens that begins with a letter")
    files = TEMPLATES[kind](folder)
    taken = [path for path in (folder, *files) if path.exists()]
    if taken:
        raise ConfigError(f"{taken[0]}: exists already, and is never overwritten; choose another name")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
        typer.echo(f"wrote {path}")
    typer.echo(f"fly it: aeroloop fly {next(iter(files))}")


def _of_airframe(flight: str, scenario: str, shipped: str) -> Callable[[Path], Mapping[Path, str]]:
    def files(folder: Path) -> Mapping[Path, str]:
        airframe = resources.files("aeroloop").joinpath(shipped).read_text(encoding="utf-8")
        named = scenario.format(name=f"{_plain(folder.name)}-{Path(flight).stem}")
        return {folder / flight: named, folder / AIRFRAME: airframe}

    return files


def _of_family(folder: Path) -> Mapping[Path, str]:
    if not folder.name.isidentifier():
        raise ConfigError(f"new {folder}: a folder of Python modules, expected letters, digits and underscores alone")
    _check_shipped(folder, EXAMPLE)

    def renamed(path: Path) -> str:
        """Modules import one another by the folder's name."""
        text = path.read_text(encoding="utf-8").replace("examples/aircraft/sled.toml", f"{folder}.toml")
        return re.sub(r'(?<=from )sled(?=\.)|(?<=")sled(?=[".])|(?<=\./)sled', folder.name, text)

    flight = renamed(EXAMPLE.with_suffix(".toml")).replace(f'name = "{folder.name}"', f'name = "{_plain(folder.name)}"')
    modules = sorted(EXAMPLE.glob("*.py"))
    return {folder.with_suffix(".toml"): flight, **{folder / path.name: renamed(path) for path in modules}}


def _of_examples(folder: Path) -> Mapping[Path, str]:
    """Laws, aircraft and the router's file: docs and README refer to them as `examples/...`."""
    _check_shipped(folder, EXAMPLES)
    first = EXAMPLES / "aircraft" / "octo-hover.toml"
    others = (path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in COPIED and path != first)
    return {folder / path.relative_to(EXAMPLES): path.read_text(encoding="utf-8") for path in (first, *others)}


def _check_shipped(folder: Path, shipped: Path) -> None:
    if not shipped.is_dir():
        raise ConfigError(
            f"new {folder}: {shipped}: no such folder, and it is copied from there; install Aeroloop again"
        )


def _plain(name: str) -> str:
    """The name in the format of scenario names."""
    return name.replace("_", "-")


TEMPLATES: Mapping[str, Callable[[Path], Mapping[Path, str]]] = {
    "multirotor": _of_airframe("hover.toml", HOVER, "families/multirotor/iris.toml"),
    "fixedwing": _of_airframe("loiter.toml", LOITER, "families/fixedwing/aerosonde.toml"),
    "family": _of_family,
    "examples": _of_examples,
}
