"""Earth model: position of the frame W, gravity and magnetic field.

W has its origin at home and is tangent to the WGS-84 ellipsoid: x east, y north, z along its normal; it does not follow
the earth's curvature. So height over the sea grows by d^2/2R at the distance d (0.8 m at 3.2 km) while z does not, and
the local vertical differs from z by d/R; gravity is given as a magnitude, and a plant applies it along -z.

Two heights: `alt_m` is above mean sea level; the ellipsoid height is `alt_m` plus the geoid's height, which is
taken from the scenario and constant over the flight (it changes by centimetres per kilometre in most places).

Normal gravity: Somigliana's closed form on the ellipsoid and its second-order series upwards,
g = g0 (1 - 2 h/a (1 + f + m - 2 f sin^2 lat) + 3 h^2/a^2); NIMA TR8350.2, 3rd edition, eqs. 4-1 and 4-3.
"""

from __future__ import annotations

import datetime
import math
from typing import Annotated, Any

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Vec3
from aeroloop.core.geodesy import A_M, E2, EARTH_RATE_RAD_S, F, TangentPlane
from aeroloop.core.signals import Place, new_tuple
from aeroloop.world.magnetic import MagneticModel, edition

GRAVITY_EQUATOR_M_S2 = 9.7803253359
SOMIGLIANA_K = 0.00193185265241
GRAVITY_RATIO_M = 0.00344978650684  # omega^2 a^2 b / GM
_FREE_AIR = 2.0 * (1.0 + F + GRAVITY_RATIO_M) / A_M
_FREE_AIR_LAT = 4.0 * F / A_M
_FREE_AIR_2 = 3.0 / A_M**2

REACH_M = 500_000.0
"""Farther from home than this a flat W is not accurate enough."""

CELL_M = 10_000.0
"""The magnetic field is taken as linear within cubes of this size; the error is below 1 nT."""
_HALF_CELL_M = CELL_M / 2


class Home(Config, frozen=True):
    """Position of the origin of W on earth, and the date."""

    lat_deg: Annotated[float, meta("deg", "geodetic latitude, WGS-84", ge=-90, le=90)] = 47.397742
    lon_deg: Annotated[float, meta("deg", "longitude, WGS-84", ge=-180, le=180)] = 8.545594
    alt_m: Annotated[float, meta("m", "height above mean sea level", ge=-500, le=20_000)] = 488.0
    geoid_height_m: Annotated[
        float, meta("m", "mean sea level above the WGS-84 ellipsoid; 0 makes both heights equal", ge=-110, le=90)
    ] = 0.0
    date: Annotated[datetime.date, note("day of the flight, for the magnetic field")] = datetime.date(2026, 1, 1)

    def __post_init__(self) -> None:
        edition(self.date)


def turn_W(home: Home) -> Vec3:
    """The earth's rotation in the axes of W, rad/s."""
    lat_rad = math.radians(home.lat_deg)
    return 0.0, EARTH_RATE_RAD_S * math.cos(lat_rad), EARTH_RATE_RAD_S * math.sin(lat_rad)


def normal_gravity_m_s2(sin_lat: Any, ellipsoid_height_m: Any, maths: Any = math) -> Any:
    """Of numbers, or of symbols with the `maths` (sqrt) for them."""
    s2 = sin_lat * sin_lat
    h = ellipsoid_height_m
    on_ellipsoid = GRAVITY_EQUATOR_M_S2 * (1.0 + SOMIGLIANA_K * s2) / maths.sqrt(1.0 - E2 * s2)
    return on_ellipsoid * (1.0 - (_FREE_AIR - _FREE_AIR_LAT * s2) * h + _FREE_AIR_2 * h * h)


class Earth:
    """Properties of the earth at a position in W."""

    def __init__(self, home: Home) -> None:
        self.geoid_height_m = home.geoid_height_m
        self._magnetic = MagneticModel(home.date)
        self.plane = TangentPlane(home.lat_deg, home.lon_deg, home.alt_m + home.geoid_height_m)
        self._cells: dict[tuple[int, int, int], tuple[float, ...]] = {}
        self.cell: tuple[float, ...] = (math.nan,) * 15  # the first place enters one: no position is inside this

    def place(self, pos_W: Vec3) -> Place:
        """The earth there; a pure function of the position."""
        x, y, z = pos_W
        cx, cy, cz, bx, by, bz, bx_x, by_x, bz_x, bx_y, by_y, bz_y, bx_z, by_z, bz_z = self.cell
        dx, dy, dz = x - cx, y - cy, z - cz
        if not (
            -_HALF_CELL_M <= dx < _HALF_CELL_M
            and -_HALF_CELL_M <= dy < _HALF_CELL_M
            and -_HALF_CELL_M <= dz < _HALF_CELL_M
        ):
            self._enter_cell(pos_W)
            return self.place(pos_W)
        lat, lon, height, sin_lat = self.plane.geodetic(x, y, z)
        field_W_T = (
            bx + bx_x * dx + bx_y * dy + bx_z * dz,
            by + by_x * dx + by_y * dy + by_z * dz,
            bz + bz_x * dx + bz_y * dy + bz_z * dz,
        )
        alt_m, gravity_m_s2 = height - self.geoid_height_m, normal_gravity_m_s2(sin_lat, height)
        return new_tuple(Place, (math.degrees(lat), math.degrees(lon), alt_m, gravity_m_s2, field_W_T))

    def geodetic(self, pos_W: Vec3) -> tuple[float, float, float]:
        """Latitude and longitude in degrees, height above mean sea level in m."""
        lat, lon, height, _ = self.plane.geodetic(*pos_W)
        return math.degrees(lat), math.degrees(lon), height - self.geoid_height_m

    def pos_W(self, lat_deg: float, lon_deg: float, alt_m: float) -> Vec3:
        """The inverse of `geodetic`, for waypoints and the like."""
        return self.plane.local(lat_deg, lon_deg, self.ellipsoid_height_m(alt_m))

    def ellipsoid_height_m(self, alt_m: float) -> float:
        """The height above the ellipsoid, as GNSS receivers report it."""
        return alt_m + self.geoid_height_m

    def field_W_T(self, pos_W: Vec3) -> Vec3:
        """The magnetic field in W's axes directly from the model; `place` interpolates it. Slow."""
        plane = self.plane
        lat, lon, height, _ = plane.geodetic(*pos_W)
        east, north, up = self._magnetic.field_T(math.degrees(lat), math.degrees(lon), height)
        # Local axes -> earth-fixed axes rotated so that home's meridian is y = 0 -> W.
        away = lon - plane.lon_rad
        outward = math.cos(lat) * up - math.sin(lat) * north
        along = math.cos(lat) * north + math.sin(lat) * up
        x = math.cos(away) * outward - math.sin(away) * east
        y = math.sin(away) * outward + math.cos(away) * east
        return y, plane.cos_lat * along - plane.sin_lat * x, plane.cos_lat * x + plane.sin_lat * along

    def _enter_cell(self, pos_W: Vec3) -> None:
        """Field and gradient at the middle of the cube that holds the position; seven model runs when it is new."""
        if not all(abs(axis) <= REACH_M for axis in pos_W):  # NaN too
            raise AeroloopError(
                f"The position {pos_W} m is outside the world: expected numbers within {REACH_M / 1000:.0f} km of home."
            )
        kx, ky, kz = (math.floor(axis / CELL_M + 0.5) for axis in pos_W)
        cell = self._cells.get((kx, ky, kz))
        if cell is None:
            x, y, z = kx * CELL_M, ky * CELL_M, kz * CELL_M
            h = _HALF_CELL_M
            cell = (x, y, z, *self.field_W_T((x, y, z)))
            for ahead, behind in (
                ((x + h, y, z), (x - h, y, z)),
                ((x, y + h, z), (x, y - h, z)),
                ((x, y, z + h), (x, y, z - h)),
            ):
                pairs = zip(self.field_W_T(ahead), self.field_W_T(behind), strict=True)
                cell += tuple((a - b) / CELL_M for a, b in pairs)
            self._cells[kx, ky, kz] = cell
        self.cell = cell
