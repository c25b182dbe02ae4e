"""The first flight of an own multirotor: as text of a scenario file beside its `airframe.toml`."""

from __future__ import annotations

from pathlib import Path

from aeroloop.core.first_flight import FirstFlight

FILE = "hover.toml"
TEXT = """\
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


def flight(name: str) -> str:
    return TEXT.format(name=name)


FIRST = FirstFlight(FILE, flight, Path(__file__).with_name("iris.toml"))
