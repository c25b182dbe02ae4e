"""Limits of a flight along a route, as scenarios give them."""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta

Heading = Literal["fixed", "along"]


class Limits(Config, frozen=True):
    """What a flight along a path may ask of the aircraft."""

    speed_m_s: Annotated[float, meta("m/s", "horizontal speed", gt=0, le=100)] = 2.0
    climb_m_s: Annotated[float, meta("m/s", "speed upwards", gt=0, le=100)] = 1.0
    sink_m_s: Annotated[float, meta("m/s", "speed downwards", gt=0, le=100)] = 1.0
    accel_m_s2: Annotated[float, meta("m/s2", "horizontal acceleration", gt=0, le=100)] = 1.0
    vertical_accel_m_s2: Annotated[float, meta("m/s2", "vertical acceleration", gt=0, le=100)] = 1.0
