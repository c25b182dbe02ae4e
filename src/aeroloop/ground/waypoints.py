"""The waypoint file: CSV with a header, `t_s,x_m,y_m,z_m` and optionally `yaw_rad`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.ground.files import read_text

COLUMNS = ("t_s", "x_m", "y_m", "z_m", "yaw_rad")
MAX_ROWS = 100_000
MAX_BYTES = 16 * 1024 * 1024
MAX_VALUE = 1e6
"""Bound of every number: far beyond any flight, and its speeds still fit the float32 of the wire."""
MIN_LEG_S = 0.001
"""References have millisecond timestamps, so points closer than that cannot be distinguished."""


@dataclass(frozen=True, slots=True)
class Waypoint:
    t_s: float
    pos_W: Vec3
    yaw_rad: float


def read(path: Path) -> list[Waypoint]:
    """The points of a file, at least one, in the order of their strictly increasing times."""
    points: list[Waypoint] = []
    for where, (t_s, x, y, z, *yaw) in rows(path, COLUMNS, most=MAX_ROWS):
        if points and t_s < points[-1].t_s + MIN_LEG_S:
            raise ConfigError(f"{where}: t_s: expected at least {MIN_LEG_S} s more than {points[-1].t_s}, not {t_s}")
        points.append(Waypoint(t_s, (x, y, z), yaw[0] if yaw else 0.0))
    return points


def rows(path: Path, columns: tuple[str, ...], *, most: int) -> Iterator[tuple[str, list[float]]]:
    """The numbers of each line after the header, at least one line, and where it is; the last column may be missing
    from the file."""
    header, *lines = read_text(path, max_bytes=MAX_BYTES).split("\n")
    given = tuple(cell.strip() for cell in header.split(","))
    if given not in (columns, columns[:-1]):
        raise ConfigError(f"{path}, line 1: expected the header {','.join(columns[:-1])}[,{columns[-1]}]")
    found = 0
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        where, cells = f"{path}, line {number}", line.split(",")
        if len(cells) != len(given):
            raise ConfigError(f"{where}: expected {len(given)} values ({','.join(given)}), not {len(cells)}")
        found += 1
        if found > most:
            raise ConfigError(f"{where}: expected at most {most} points")
        yield where, [_number(cell, f"{where}: {name}") for name, cell in zip(given, cells, strict=True)]
    if not found:
        raise ConfigError(f"{path}, line 2: expected at least one point")


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) <= MAX_VALUE:
        raise ConfigError(f"{where}: expected a number within +-{MAX_VALUE:g}, not {text.strip()!r}")
    return value
