"""`aeroloop new`: template files for your own aircraft, each a copy of one that flies; or all examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from aeroloop.core.errors import ConfigError
from aeroloop.core.first_flight import FirstFlight
from aeroloop.core.paths import EXAMPLES
from aeroloop.core.tables import family, part

EPILOG = "Examples: `aeroloop new multirotor my-quad`, `aeroloop new family my_rocket`"
EXAMPLE = EXAMPLES / "aircraft" / "sled"
"""The smallest example of an own family."""
COPIED = (".py", ".toml", ".ipynb", ".json", ".sdf")
NAME = re.compile(r"^[a-z][a-z0-9]*([-_][a-z0-9]+)*$")
AIRFRAME = "airframe.toml"


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


def _of_airframe(kind: str) -> Callable[[Path], Mapping[Path, str]]:
    """A copy of a shipped airframe with the first flight of its family, which is imported when it is needed."""

    def files(folder: Path) -> Mapping[Path, str]:
        first: FirstFlight = part(family(kind).first_flight)
        named = first.flight(f"{plain(folder.name)}-{Path(first.file).stem}")
        return {folder / first.file: named, folder / AIRFRAME: first.airframe.read_text(encoding="utf-8")}

    return files


def _of_family(folder: Path) -> Mapping[Path, str]:
    if not folder.name.isidentifier():
        raise ConfigError(f"new {folder}: a folder of Python modules, expected letters, digits and underscores alone")
    _check_shipped(folder, EXAMPLE)

    def renamed(path: Path) -> str:
        """Modules import one another by the folder's name."""
        text = path.read_text(encoding="utf-8").replace("examples/aircraft/sled.toml", f"{folder}.toml")
        return re.sub(r'(?<=from )sled(?=\.)|(?<=")sled(?=[".])|(?<=\./)sled', folder.name, text)

    flight = renamed(EXAMPLE.with_suffix(".toml")).replace(f'name = "{folder.name}"', f'name = "{plain(folder.name)}"')
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


def plain(name: str) -> str:
    """The name in the format of scenario names."""
    return name.replace("_", "-")


TEMPLATES: Mapping[str, Callable[[Path], Mapping[Path, str]]] = {
    "multirotor": _of_airframe("multirotor"),
    "fixedwing": _of_airframe("fixedwing"),
    "family": _of_family,
    "examples": _of_examples,
}
