"""A mission as a `.plan` file of QGroundControl."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.ground.missions import Item

_QUADROTOR, _PX4 = dialect.MAV_TYPE_QUADROTOR, dialect.MAV_AUTOPILOT_PX4
_FRAMES = {
    dialect.MAV_FRAME_GLOBAL_INT: dialect.MAV_FRAME_GLOBAL,
    dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT: dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT,
}


def plan_text(items: Sequence[Item], home: Vec3 | None) -> str:
    plan = {
        "fileType": "Plan",
        "version": 1,
        "groundStation": "Aeroloop",
        "geoFence": {"circles": [], "polygons": [], "version": 2},
        "rallyPoints": {"points": [], "version": 2},
        "mission": {
            "version": 2,
            "firmwareType": _PX4,
            "vehicleType": _QUADROTOR,
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
        "frame": _FRAMES.get(item.frame, item.frame),
        "params": [value if math.isfinite(value) else None for value in numbers],
    }
