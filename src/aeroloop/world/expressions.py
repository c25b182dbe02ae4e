"""Earth and atmosphere as CasADi expressions for compiled steps: counterparts of `earth.py` and `atmosphere.py`.

The arithmetic is the same, so that values differ only in their last digits: `hypot` of the C library rounds otherwise
than Python's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca

from aeroloop.core.geodesy import bowring
from aeroloop.world.atmosphere import (
    EARTH_RADIUS_M,
    LAPSE_K_M,
    PRESSURE_EXPONENT,
    R_J_KG_K,
    TROPOPAUSE_M,
    WARMING_EXPONENT,
    WARMING_K_M,
    WARMING_M,
)
from aeroloop.world.earth import normal_gravity_m_s2

DEG = math.degrees(1.0)


class PlaneSymbols(NamedTuple):
    """A `core.geodesy.TangentPlane` of symbols."""

    sin_lat: ca.SX
    cos_lat: ca.SX
    lon_rad: ca.SX
    axis_distance_m: ca.SX
    z_m: ca.SX


class DaySymbols(NamedTuple):
    """An `Atmosphere` of symbols."""

    pressure_Pa: ca.SX  # at sea level
    temperature_K: ca.SX  # at sea level
    tropopause_Pa: ca.SX
    tropopause_K: ca.SX
    decay_per_m: ca.SX  # above the tropopause
    warming_Pa: ca.SX  # where the temperature begins to rise


def geodetic(plane: PlaneSymbols, pos_W: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Latitude, longitude (deg), height over the ellipsoid (m) and normal gravity (m/s2)."""
    lat, away, height, sin_lat = bowring(plane, pos_W[0], pos_W[1], pos_W[2], ca)
    lon = plane.lon_rad + away
    lon += ca.if_else(lon < -math.pi, 2.0 * math.pi, 0.0) - ca.if_else(lon >= math.pi, 2.0 * math.pi, 0.0)
    return DEG * lat, DEG * lon, height, normal_gravity_m_s2(sin_lat, height, ca)


def field_T(cell: ca.SX, pos_W: ca.SX) -> ca.SX:
    """The magnetic field in W in a cell of `Earth`: its middle, the field there, its gradients along x, y and z."""
    away = pos_W - cell[0:3]
    return cell[3:6] + cell[6:9] * away[0] + cell[9:12] * away[1] + cell[12:15] * away[2]


def air(day: DaySymbols, alt_m: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Pressure (Pa), temperature (K) and density (kg/m3) at a height above mean sea level."""
    geopotential_m = EARTH_RADIUS_M * alt_m / (EARTH_RADIUS_M + alt_m)
    low, high = geopotential_m <= TROPOPAUSE_M, geopotential_m > WARMING_M
    warmer = day.tropopause_K + WARMING_K_M * (geopotential_m - WARMING_M)
    cold = ca.if_else(high, warmer, day.tropopause_K)
    temperature = ca.if_else(low, day.temperature_K + LAPSE_K_M * geopotential_m, cold)
    below = day.pressure_Pa * (temperature / day.temperature_K) ** PRESSURE_EXPONENT
    above = day.tropopause_Pa * ca.exp(day.decay_per_m * (geopotential_m - TROPOPAUSE_M))
    highest = day.warming_Pa * (temperature / day.tropopause_K) ** WARMING_EXPONENT
    pressure = ca.if_else(low, below, ca.if_else(high, highest, above))
    return pressure, temperature, pressure / (R_J_KG_K * temperature)
