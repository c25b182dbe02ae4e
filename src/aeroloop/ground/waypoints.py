"""The waypoint file: CSV with a header, `t_s,x_m,y_m,z_m` and optionally `yaw_rad`."""

from __future__ import annotations

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
    header, *lines = read_text(path, max_bytes=MAX_BYTES).split("\n")
    columns = tuple(cell.strip() for cell in header.split(","))
    if columns not in (COLUMNS, COLUMNS[:-1]):
        raise ConfigError(f"{path}, line 1: expected the header {','.join(COLUMNS[:-1])}[,{COLUMNS[-1]}]")
    points: list[Waypoint] = []
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        point = _point(line, columns, where=f"{path}, line {number}")
        if points and point.t_s < points[-1].t_s + MIN_LEG_S:
            raise ConfigError(
                f"{path}, line {number}: t_s: expected at least {MIN_LEG_S} s more "
                f"than {points[-1].t_s}, not {point.t_s}"
            )
        if len(points) == MAX_ROWS:
            raise ConfigError(f"{path}, line {number}: expected at most {MAX_ROWS} points")
        points.append(point)
    if not points:
        raise ConfigError(f"{path}, line 2: expected at least one point")
    return points


def _point(line: str, columns: tuple[str, ...], *, where: str) -> Waypoint:
    cells = line.split(",")
    if len(cells) != len(columns):
        raise ConfigError(f"{where}: expected {len(columns)} values ({','.join(columns)}), not {len(cells)}")
    t_s, x, y, z, *yaw = (_number(cell, f"{where}: {name}") for name, cell in zip(columns, cells, strict=True))
    return Waypoint(t_s, (x, y, z), yaw[0] if yaw else 0.0)


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) <= MAX_VALUE:
        raise ConfigError(f"{where}: expected a number within +-{MAX_VALUE:g}, not {text.strip()!r}")
    return value
