"""The first flight of an own fixed wing: as text of a scenario file beside its `airframe.toml`."""

from __future__ import annotations

from pathlib import Path

from aeroloop.core.first_flight import FirstFlight

FILE = "loiter.toml"
TEXT = """\
name = "{name}"
summary = "A minute on its circle"
duration_s = 60.0

[vehicle]
kind = "fixedwing"
airframe = "airframe.toml"

[sensors.gnss]
start_s = 0.0

[mission]
airspeed_m_s = {airspeed_m_s}
loiter_radius_m = {radius_m}
command_at_s = 3600.0

[[checks]]
metric = "altitude_error_max_m"
below = 10.0
"""


def flight(name: str, airspeed_m_s: float = 20.0, radius_m: float = 150.0) -> str:
    return TEXT.format(name=name, airspeed_m_s=airspeed_m_s, radius_m=radius_m)


FIRST = FirstFlight(FILE, flight, Path(__file__).with_name("aerosonde.toml"))
