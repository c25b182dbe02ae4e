"""A mission item as MAVLink's MISSION_ITEM_INT, and back."""

from __future__ import annotations

import math

from pymavlink.dialects.v20 import common as dialect

from aeroloop.ground.missions import OPEN, Item
from aeroloop.protocols.mavlink import Message

_M = dialect
_LOCAL = frozenset((_M.MAV_FRAME_LOCAL_NED, _M.MAV_FRAME_LOCAL_ENU, _M.MAV_FRAME_LOCAL_OFFSET_NED))


def item_message(item: Item, number: int, to: tuple[int, int]) -> Message:
    """`to` is the target system and component."""
    scale = _scale(item.frame)
    x, y = (OPEN if math.isnan(value) else round(value * scale) for value in (item.lat_deg, item.lon_deg))
    return _M.MAVLink_mission_item_int_message(
        *to,
        number,
        item.frame,
        item.command,
        int(number == 0),
        int(item.autocontinue),
        *item.params,
        x,
        y,
        item.alt_m,
        _M.MAV_MISSION_TYPE_MISSION,
    )


def item_from(message: Message) -> Item:
    """Item from either message."""
    x, y = float(message.x), float(message.y)
    if message.get_type() == "MISSION_ITEM_INT":
        scale = _scale(message.frame)
        x, y = (math.nan if value == OPEN else value / scale for value in (message.x, message.y))
    params = (message.param1, message.param2, message.param3, message.param4)
    return Item(message.command, x, y, message.z, params, message.frame, bool(message.autocontinue))


def _scale(frame: int) -> float:
    """Integer units per degree or metre; 1 for a frame without coordinates."""
    if frame == _M.MAV_FRAME_MISSION:
        return 1.0
    return 1e4 if frame in _LOCAL else 1e7
