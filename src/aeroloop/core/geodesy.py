"""Conversion between geodetic coordinates and local east, north and up on the tangent plane of WGS-84 at an origin.

Through earth-centred coordinates and back by Bowring's closed form (Survey Review 28, 1985), so accuracy does not
depend on distance; tests compare it with pymap3d. The caller chooses the height reference: the ellipsoid, or mean sea
level for both origin and position, where the difference cancels near the origin.

`local` and `geodetic` take the origin in each call, for an estimator with its own origin. `TangentPlane` is computed
once, for a plant that converts at every step; it computes sines by division instead of from angles, so the last digits
of the two differ, and logged values depend on which was used.
"""

from __future__ import annotations

import math
from typing import Any

import pymap3d

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Origin

A_M = 6378137.0  # WGS-84: semi-major axis
F = 1.0 / 298.257223563  # flattening
B_M = A_M * (1.0 - F)  # semi-minor axis
EARTH_RATE_RAD_S = 7.292115e-5
E2 = F * (2.0 - F)  # first eccentricity, squared
EP2 = E2 / (1.0 - E2)  # second eccentricity, squared
_EP2_B, _E2_A = EP2 * B_M, E2 * A_M


def wrap_longitude(lon_deg: float) -> float:
    """In [-180, 180) degrees."""
    return (lon_deg + 180.0) % 360.0 - 180.0


def radii_m(lat_rad: float) -> tuple[float, float]:
    """Radii of curvature of the ellipsoid: across the meridian (prime vertical) and along it."""
    w2 = 1.0 - E2 * math.sin(lat_rad) ** 2
    prime_m = A_M / math.sqrt(w2)
    return prime_m, prime_m * (1.0 - E2) / w2


def span_m(lat_rad: float, east_rad: float, north_rad: float) -> tuple[float, float]:
    """Lengths of a small span of longitude and of one of latitude on the ellipsoid."""
    prime_m, meridian_m = radii_m(lat_rad)
    return east_rad * prime_m * math.cos(lat_rad), north_rad * meridian_m


def moved(lat_deg: float, lon_deg: float, alt_m: float, east_m: float, north_m: float) -> tuple[float, float]:
    """Latitude and longitude a few metres away; at the poles, where east is undefined, the longitude is kept."""
    lat = math.radians(lat_deg)
    prime_m, meridian_m = radii_m(lat)
    circle_m = (prime_m + alt_m) * math.cos(lat)
    lon_step_deg = math.degrees(east_m / circle_m) if circle_m > 1.0 else 0.0
    lon_moved_deg = wrap_longitude(lon_deg + lon_step_deg) if lon_step_deg else lon_deg
    return lat_deg + math.degrees(north_m / (meridian_m + alt_m)), lon_moved_deg


def local(origin: Origin, lat_deg: float, lon_deg: float, alt_m: float) -> Vec3:
    """East, north and up of a position, in m from the origin."""
    sin0, cos0, out0_m, axial0_m = _meridian(origin.lat_deg, origin.alt_m)
    _, _, out_m, axial_m = _meridian(lat_deg, alt_m)
    away = math.radians(lon_deg - origin.lon_deg)
    # Here x points away from the earth's axis in the origin's meridian.
    x, y, z = out_m * math.cos(away) - out0_m, out_m * math.sin(away), axial_m - axial0_m
    return y, cos0 * z - sin0 * x, cos0 * x + sin0 * z


def geodetic(origin: Origin, pos_W: Vec3) -> tuple[float, float, float]:
    """Latitude and longitude in degrees and altitude in m: the inverse of `local`."""
    sin0, cos0, out0_m, axial0_m = _meridian(origin.lat_deg, origin.alt_m)
    east, north, up = pos_W
    x, z = out0_m + cos0 * up - sin0 * north, axial0_m + sin0 * up + cos0 * north
    out_m = math.hypot(x, east)
    start = math.atan2(B_M * z * (1.0 + _EP2_B / math.hypot(out_m, z)), A_M * out_m)
    lat = math.atan2(z + _EP2_B * math.sin(start) ** 3, out_m - _E2_A * math.cos(start) ** 3)
    sin_lat, cos_lat = math.sin(lat), math.cos(lat)
    alt_m = out_m * cos_lat + z * sin_lat - A_M * math.sqrt(1.0 - E2 * sin_lat * sin_lat)
    lon_deg = origin.lon_deg + math.degrees(math.atan2(east, x))
    return math.degrees(lat), wrap_longitude(lon_deg), alt_m


class TangentPlane:
    """The plane at one origin; heights are above the ellipsoid."""

    def __init__(self, lat_deg: float, lon_deg: float, height_m: float) -> None:
        self._origin = lat_deg, lon_deg, height_m
        lat = math.radians(lat_deg)
        self.sin_lat, self.cos_lat, self.lon_rad = math.sin(lat), math.cos(lat), math.radians(lon_deg)
        x, y, z = pymap3d.geodetic2ecef(lat_deg, lon_deg, height_m)
        self.axis_distance_m, self.z_m = math.hypot(x, y), float(z)

    def local(self, lat_deg: float, lon_deg: float, height_m: float) -> Vec3:
        """East, north and up of a position, in m."""
        east, north, up = pymap3d.geodetic2enu(lat_deg, lon_deg, height_m, *self._origin)
        return float(east), float(north), float(up)

    def geodetic(self, east: float, north: float, up: float) -> tuple[float, float, float, float]:
        """Latitude, longitude (rad), height (m) and the latitude's sine."""
        lat, away, height, sin_lat = bowring(self, east, north, up)
        lon: float = self.lon_rad + away
        if lon >= math.pi:
            lon -= 2.0 * math.pi
        elif lon < -math.pi:
            lon += 2.0 * math.pi
        return lat, lon, height, sin_lat


def bowring(plane: Any, east: Any, north: Any, up: Any, maths: Any = math) -> tuple[Any, Any, Any, Any]:
    """Latitude, longitude from the plane's meridian (rad), height (m) and the latitude's sine; for a `TangentPlane` and
    numbers, or for symbols with their `maths` (hypot, atan2, sqrt)."""
    hypot, atan2 = maths.hypot, maths.atan2
    sin0, cos0 = plane.sin_lat, plane.cos_lat
    towards = plane.axis_distance_m + cos0 * up - sin0 * north
    axial = plane.z_m + sin0 * up + cos0 * north
    p = hypot(towards, east)
    # Bowring: start with the parametric latitude; one step is sufficient for all heights here.
    start_sin = B_M * axial * (1.0 + _EP2_B / hypot(p, axial))
    start_cos = A_M * p
    length = hypot(start_sin, start_cos)
    s, c = start_sin / length, start_cos / length
    rise, run = axial + _EP2_B * s * s * s, p - _E2_A * c * c * c
    length = hypot(rise, run)
    sin_lat, cos_lat = rise / length, run / length
    height = p * cos_lat + axial * sin_lat - A_M * maths.sqrt(1.0 - E2 * sin_lat * sin_lat)
    return atan2(rise, run), atan2(east, towards), height, sin_lat


def _meridian(lat_deg: float, alt_m: float) -> tuple[float, float, float, float]:
    """Sine and cosine of the latitude, distance from the earth's axis and height over the equator's plane in m."""
    lat = math.radians(lat_deg)
    sin_lat, cos_lat = math.sin(lat), math.cos(lat)
    prime_m = A_M / math.sqrt(1.0 - E2 * sin_lat * sin_lat)
    return sin_lat, cos_lat, (prime_m + alt_m) * cos_lat, (prime_m * (1.0 - E2) + alt_m) * sin_lat
