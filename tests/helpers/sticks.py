"""A plain stick and its map, shared by the stick tests."""

from __future__ import annotations

from aeroloop.ground.axes import AxisRange
from aeroloop.ground.axis_map import AxisMap, Channel, Limits

CODES = {"ABS_X": 0, "ABS_Y": 1, "ABS_RX": 3, "ABS_RY": 4}
NAMES = {code: name for name, code in CODES.items()}
RANGES = {name: AxisRange(-100, 100) for name in CODES}
PLAIN = AxisMap(
    forward=Channel(axis="ABS_RY", scale=2.0, dead_zone=0.0),
    left=Channel(axis="ABS_RX", scale=2.0, dead_zone=0.0),
    up=Channel(axis="ABS_Y", scale=1.0, dead_zone=0.0),
    yaw=Channel(axis="ABS_X", scale=0.5, dead_zone=0.0),
    limits=Limits(floor_m=1.0, ceiling_m=5.0),
)
HEADER = '{"axes":{"ABS_X":[-100,100],"ABS_Y":[0,255]}}\n'
