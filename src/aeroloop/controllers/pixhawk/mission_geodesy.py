"""Mission coordinates (degrees, altitude above sea level or home) to and from the estimate's local frame."""

from __future__ import annotations

import math

from aeroloop.core import geodesy
from aeroloop.core.angles import wrap_pi
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Origin


def local_from_geodetic(origin: Origin, lat_deg: float, lon_deg: float) -> tuple[float, float]:
    """East and north of the origin, at the origin's height. Slow: for waypoints, not for every step."""
    plane = geodesy.TangentPlane(origin.lat_deg, origin.lon_deg, origin.alt_m)
    east, north, _ = plane.local(lat_deg, lon_deg, origin.alt_m)
    return east, north


def geodetic_from_local(origin: Origin, pos_W: Vec3) -> tuple[float, float, float]:
    """Degrees, and metres above mean sea level."""
    lat_deg, lon_deg, _ = geodesy.geodetic(origin, (pos_W[0], pos_W[1], 0.0))
    return lat_deg, lon_deg, origin.alt_m + pos_W[2]


def yaw_from_heading(heading_deg: float) -> float:
    """From clockwise from north, as in MAVLink, to counter-clockwise from east."""
    return wrap_pi(math.pi / 2 - math.radians(heading_deg))
