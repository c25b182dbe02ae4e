"""Between degrees on the earth and metres from an origin: east, north and up on the plane that touches it there.

Through earth-centred coordinates and back by Bowring's closed form (Survey Review 28, 1985), so distance costs no
accuracy. Heights are taken as heights above the ellipsoid, whatever they are measured from: near the origin the
difference cancels.
"""

from __future__ import annotations

import math

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Origin

A_M = 6378137.0  # WGS-84
F = 1.0 / 298.257223563
B_M = A_M * (1.0 - F)
E2 = F * (2.0 - F)
EP2 = E2 / (1.0 - E2)


def local(origin: Origin, lat_deg: float, lon_deg: float, alt_m: float) -> Vec3:
    """East, north, up of a place, in m from the origin."""
    sin0, cos0, out0_m, axial0_m = _meridian(origin.lat_deg, origin.alt_m)
    _, _, out_m, axial_m = _meridian(lat_deg, alt_m)
    away = math.radians(lon_deg - origin.lon_deg)
    # From here x points out of the axis through the origin's meridian.
    x, y, z = out_m * math.cos(away) - out0_m, out_m * math.sin(away), axial_m - axial0_m
    return y, cos0 * z - sin0 * x, cos0 * x + sin0 * z


def geodetic(origin: Origin, pos_W: Vec3) -> tuple[float, float, float]:
    """Latitude and longitude in degrees and altitude in m: the inverse of `local`."""
    sin0, cos0, out0_m, axial0_m = _meridian(origin.lat_deg, origin.alt_m)
    east, north, up = pos_W
    x, z = out0_m + cos0 * up - sin0 * north, axial0_m + sin0 * up + cos0 * north
    out_m = math.hypot(x, east)
    start = math.atan2(B_M * z * (1.0 + EP2 * B_M / math.hypot(out_m, z)), A_M * out_m)
    lat = math.atan2(z + EP2 * B_M * math.sin(start) ** 3, out_m - E2 * A_M * math.cos(start) ** 3)
    sin_lat, cos_lat = math.sin(lat), math.cos(lat)
    alt_m = out_m * cos_lat + z * sin_lat - A_M * math.sqrt(1.0 - E2 * sin_lat * sin_lat)
    lon_deg = origin.lon_deg + math.degrees(math.atan2(east, x))
    return math.degrees(lat), (lon_deg + 180.0) % 360.0 - 180.0, alt_m


def _meridian(lat_deg: float, alt_m: float) -> tuple[float, float, float, float]:
    """Sine and cosine of the latitude, distance from the earth's axis and height over the equator's plane in m."""
    lat = math.radians(lat_deg)
    sin_lat, cos_lat = math.sin(lat), math.cos(lat)
    prime_m = A_M / math.sqrt(1.0 - E2 * sin_lat * sin_lat)
    return sin_lat, cos_lat, (prime_m + alt_m) * cos_lat, (prime_m * (1.0 - E2) + alt_m) * sin_lat
