"""Missions as MAVLink items: from waypoints in metres, from a QGroundControl plan, and written as such a plan."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.ground.files import read_text
from aeroloop.ground.pilot_commands import PilotConfig, Waypoint

MAX_BYTES = 4 * 1024 * 1024
MAX_ITEMS = 1000
ABOVE_HOME = dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
WHOLE_FRAMES = {
    dialect.MAV_FRAME_GLOBAL: dialect.MAV_FRAME_GLOBAL_INT,
    dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT: ABOVE_HOME,
}
"""For each frame of a plan, the one with integer coordinates."""
PLAN_FRAMES = {whole: named for named, whole in WHOLE_FRAMES.items()}
SPEED_OVER_GROUND = 1
PRECISION_REQUIRED = dialect.PRECISION_LAND_MODE_REQUIRED
OPEN = 2**31 - 1
"""MAVLink's integer for a coordinate that the autopilot chooses; NaN here, and null in a plan."""

Geodetic = Callable[[tuple[float, float, float]], tuple[float, float]]
"""Latitude and longitude in degrees of a position east, north and up of the start, in metres."""


@dataclass(frozen=True, slots=True)
class Item:
    """One mission item, as in MISSION_ITEM_INT, in degrees and metres."""

    command: int
    lat_deg: float = 0.0
    lon_deg: float = 0.0
    alt_m: float = 0.0
    params: tuple[float, float, float, float] = (0.0, 0.0, 0.0, math.nan)
    frame: int = ABOVE_HOME
    autocontinue: bool = True


def mission(
    config: PilotConfig, geodetic: Geodetic, *, precision: bool = False, land_m: Vec3 | None = None
) -> tuple[Item, ...]:
    """The mission that the pilot uploads; empty if there is none. `precision`: it ends on a landing target. `land_m`:
    where it lands, if not at the last waypoint."""
    if config.plan_file:
        return read_plan(Path(config.plan_file))
    if not config.waypoints:
        return ()
    here = geodetic((0.0, 0.0, 0.0))
    items = [Item(dialect.MAV_CMD_NAV_TAKEOFF, *here, config.waypoints[0].pos_m[2])]
    for waypoint in config.waypoints:
        items += _waypoint(waypoint, geodetic)
    if config.ending == "return":
        items.append(Item(dialect.MAV_CMD_NAV_RETURN_TO_LAUNCH, frame=dialect.MAV_FRAME_MISSION))
    elif config.ending == "land":
        last = geodetic(land_m or config.waypoints[-1].pos_m)
        kind = float(PRECISION_REQUIRED) if precision else 0.0
        items.append(Item(dialect.MAV_CMD_NAV_LAND, *last, params=(0.0, kind, 0.0, math.nan)))
    return tuple(items)


def _waypoint(waypoint: Waypoint, geodetic: Geodetic) -> list[Item]:
    place = geodetic(waypoint.pos_m)
    point = Item(dialect.MAV_CMD_NAV_WAYPOINT, *place, waypoint.pos_m[2], params=(waypoint.hold_s, 0.0, 0.0, math.nan))
    if not waypoint.speed_m_s:
        return [point]
    speed = (SPEED_OVER_GROUND, waypoint.speed_m_s, -1.0, 0.0)
    return [Item(dialect.MAV_CMD_DO_CHANGE_SPEED, params=speed, frame=dialect.MAV_FRAME_MISSION), point]


def read_plan(path: Path) -> tuple[Item, ...]:
    """The simple items of a `.plan` file; unsupported items raise an error instead of being skipped."""
    try:
        items = json.loads(read_text(path, max_bytes=MAX_BYTES))["mission"]["items"]
        if len(items) > MAX_ITEMS:
            raise ConfigError(f"{path}: expected at most {MAX_ITEMS} mission items, not {len(items)}")
        return tuple(_item(item, f"{path}: mission item {number}") for number, item in enumerate(items))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: expected a plan of QGroundControl, but it is not JSON: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: expected a plan of QGroundControl with mission.items: {error!r}") from None


def _item(item: dict[str, object], where: str) -> Item:
    if item.get("type") != "SimpleItem":
        raise ConfigError(f"{where}: expected a SimpleItem, not {str(item.get('type'))[:40]!r}")
    given = item["params"]
    if not isinstance(given, list) or len(given) != 7:
        raise ConfigError(f"{where}: expected seven params")
    numbers = [math.nan if value is None else float(value) for value in given]
    command, frame = item["command"], item["frame"]
    if not (isinstance(command, int) and isinstance(frame, int)):
        raise ConfigError(f"{where}: expected command and frame as numbers")
    p1, p2, p3, p4, lat_deg, lon_deg, alt_m = numbers
    may_be_open = (
        command != dialect.MAV_CMD_NAV_WAYPOINT
    )  # land at the present position, return: their coordinates are null
    if not all(math.isfinite(n) or (v is None and may_be_open) for v, n in zip(given[4:], numbers[4:], strict=True)):
        raise ConfigError(f"{where}: expected latitude, longitude and altitude as numbers")
    return Item(command, lat_deg, lon_deg, alt_m, (p1, p2, p3, p4), WHOLE_FRAMES.get(frame, frame))


def plan_text(items: Sequence[Item], home: Vec3 | None) -> str:
    plan = {
        "fileType": "Plan",
        "version": 1,
        "groundStation": "Aeroloop",
        "geoFence": {"circles": [], "polygons": [], "version": 2},
        "rallyPoints": {"points": [], "version": 2},
        "mission": {
            "version": 2,
            "firmwareType": dialect.MAV_AUTOPILOT_PX4,
            "vehicleType": dialect.MAV_TYPE_QUADROTOR,
            "cruiseSpeed": 15,
            "hoverSpeed": 5,
            "plannedHomePosition": list(home or (0.0, 0.0, 0.0)),
            "items": [_simple(item, number) for number, item in enumerate(items, 1)],
        },
    }
    return json.dumps(plan, indent=4, allow_nan=False) + "\n"


def write_plan(path: Path, items: Sequence[Item], home: Vec3 | None) -> None:
    try:
        path.write_text(plan_text(items, home), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def _simple(item: Item, number: int) -> dict[str, object]:
    numbers = (*item.params, item.lat_deg, item.lon_deg, item.alt_m)
    return {
        "type": "SimpleItem",
        "doJumpId": number,
        "autoContinue": item.autocontinue,
        "command": item.command,
        "frame": PLAN_FRAMES.get(item.frame, item.frame),
        "params": [value if math.isfinite(value) else None for value in numbers],
    }
