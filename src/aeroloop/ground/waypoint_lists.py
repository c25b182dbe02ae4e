"""Missions as the text files of Mission Planner and MAVProxy (`.waypoints`, "QGC WPL 110"): a line for each item, the
first one home: index, current, frame, command, four parameters, latitude, longitude, altitude, autocontinue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.ground.files import read_text
from aeroloop.ground.missions import MAX_BYTES, MAX_ITEMS, PLAN_FRAMES, WHOLE_FRAMES, Item, read_plan

HEADER = "QGC WPL 110"
ENDING = ".waypoints"
FIELDS = 12
LARGEST = 1e7
"""Of any number."""


def read_mission(path: Path) -> tuple[Item, ...]:
    """The items of a `.waypoints` file or, with any other ending, of a plan."""
    return read(path) if path.suffix == ENDING else read_plan(path)


def text(items: Sequence[Item], home: Vec3) -> str:
    """What a coordinate or parameter leaves to the autopilot is 0 there."""
    rows = [_row(0, dialect.MAV_FRAME_GLOBAL, dialect.MAV_CMD_NAV_WAYPOINT, (0.0, 0.0, 0.0, 0.0, *home), current=True)]
    for number, item in enumerate(items, 1):
        numbers = (*item.params, item.lat_deg, item.lon_deg, item.alt_m)
        rows.append(_row(number, PLAN_FRAMES.get(item.frame, item.frame), item.command, numbers))
    return "\n".join((HEADER, *rows)) + "\n"


def _row(number: int, frame: int, command: int, numbers: Sequence[float], *, current: bool = False) -> str:
    told = [value if math.isfinite(value) else 0.0 for value in numbers]
    cells = [*(f"{value:.6f}" for value in told[:4]), *(f"{value:.8f}" for value in told[4:6]), f"{told[6]:.6f}"]
    return "\t".join((f"{number}", f"{int(current)}", f"{frame}", f"{command}", *cells, "1"))


def read(path: Path) -> tuple[Item, ...]:
    """Without home."""
    header, *lines = read_text(path, max_bytes=MAX_BYTES).split("\n")
    if header.strip() != HEADER:
        raise ConfigError(f"{path}, line 1: expected {HEADER!r}")
    rows = [(number, line) for number, line in enumerate(lines, 2) if line.strip()]
    if not 2 <= len(rows) <= MAX_ITEMS + 1:
        raise ConfigError(f"{path}: expected home and 1 to {MAX_ITEMS} mission items, not {len(rows)} lines")
    return tuple(_item(line, f"{path}, line {number}") for number, line in rows[1:])


def _item(line: str, where: str) -> Item:
    cells = line.split()
    if len(cells) != FIELDS:
        raise ConfigError(f"{where}: expected {FIELDS} numbers, not {len(cells)}")
    try:
        _, _, frame, command = (int(cell) for cell in cells[:4])
        p1, p2, p3, p4, lat_deg, lon_deg, alt_m, onward = (float(cell) for cell in cells[4:])
    except ValueError:
        raise ConfigError(f"{where}: expected {FIELDS} numbers, the first four of them whole") from None
    numbers = (frame, command, p1, p2, p3, p4, lat_deg, lon_deg, alt_m, onward)
    if not all(abs(value) <= LARGEST for value in numbers):
        raise ConfigError(f"{where}: expected numbers within +-{LARGEST:g}")
    if abs(lat_deg) > 90 or abs(lon_deg) > 360:
        raise ConfigError(f"{where}: expected latitude and longitude in degrees, not {lat_deg:g}, {lon_deg:g}")
    frame = WHOLE_FRAMES.get(frame, frame)
    return Item(command, lat_deg, lon_deg, alt_m, (p1, p2, p3, p4), frame, bool(onward))
