"""Earth and air about one point, as symbols for a batch: everything is a difference from that point.

Single precision resolves 0.24 mm at 3 km and 8 mPa (0.7 mm of height) at 93 kPa; as differences, within a few hundred
metres, positions have 0.03 mm. So heights, pressures and the fix's latitude and longitude are series about the point,
whose coefficients are computed in double precision when the batch is made.

    latitude, longitude, altitude    to the second order: the third is below 1e-5 m within 300 m
    pressure (1 + u)^n - 1           with u = lapse dH / T, six terms: below 1e-6 Pa within 500 m
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.geodesy import bowring
from aeroloop.estimation import wing
from aeroloop.protocols.interface import DEGREES
from aeroloop.world.atmosphere import EARTH_RADIUS_M, LAPSE_K_M, PRESSURE_EXPONENT, R_J_KG_K, Atmosphere, Day
from aeroloop.world.earth import Earth, Home, normal_gravity_m_s2

TERMS = 6
FIX_UNITS = (np.degrees(DEGREES), np.degrees(DEGREES), 1000.0)
"""Latitude, longitude (rad) and altitude (m) in the units of the message to the board."""


class Local:
    """About a point of W; positions in the methods' arguments are relative to it."""

    def __init__(self, home: Home, day: Day, centre_W: Vec3) -> None:
        self.centre_W = centre_W
        earth = Earth(home)
        place = earth.place(centre_W)
        pos = ca.SX.sym("pos_W", 3)
        lat, away, height, sin_lat = bowring(earth.plane, pos[0], pos[1], pos[2], ca)
        at = ca.vertcat(lat, away, height)
        gravity = normal_gravity_m_s2(sin_lat, height, ca)
        self._gravity = _expanded(gravity, pos, centre_W)[:2]
        self._altitude = _expanded(height, pos, centre_W)
        base = (
            0.0,
            np.radians(home.lon_deg),
            -home.geoid_height_m,
        )  # longitude is from home's, height from the ellipsoid
        self._units = [_expanded(FIX_UNITS[i] * (at[i] + base[i]), pos, centre_W) for i in range(3)]
        self._per_unit = np.linalg.inv(np.array([unit[1] for unit in self._units]))
        cell = np.array(earth.cell)
        self._field = np.array(place.field_W_T), np.reshape(cell[6:15], (3, 3)).T
        pressure, self._temperature_K, _ = Atmosphere(day).at(place.alt_m)
        self._true_Pa = pressure
        self.pressure_Pa = float(np.float32(pressure))
        """Static pressures are relative to this one."""
        self.pressure_step_Pa = float(np.spacing(np.float32(pressure)))
        """Resolution of the message to the board, which has single precision."""
        self._geopotential = (EARTH_RADIUS_M / (EARTH_RADIUS_M + place.alt_m)) ** 2, EARTH_RADIUS_M + place.alt_m

    def altitude_m(self, pos: Any) -> Any:
        """Height above the sea, from that of the point."""
        _, slope, bend = self._altitude
        return ca.dot(ca.DM(slope), pos) + 0.5 * ca.bilin(ca.DM(bend), pos, pos)

    def gravity_m_s2(self, pos: Any) -> Any:
        value, slope = self._gravity
        return value + ca.dot(ca.DM(slope), pos)

    def field_W_T(self, pos: Any) -> Any:
        field, gradient = self._field
        return ca.DM(field) + ca.DM(gradient) @ pos

    def air(self, altitude_m: Any) -> tuple[Any, Any]:
        """Pressure from `pressure_Pa`, and density (kg/m3), at such a height."""
        scale, radius_m = self._geopotential
        u = LAPSE_K_M / self._temperature_K * scale * altitude_m / (1 + altitude_m / radius_m)
        grown = power_less_one(u, PRESSURE_EXPONENT)
        density = self._true_Pa / (R_J_KG_K * self._temperature_K) * (1 + grown) / (1 + u)
        return self._true_Pa * grown + (self._true_Pa - self.pressure_Pa), density

    def fix(self, pos: Any) -> Any:
        """The position that the board reads from a message: whole units of latitude, longitude and altitude."""
        off = []
        for value, slope, bend in self._units:
            units = float(value % 1.0) + ca.dot(ca.DM(slope), pos) + 0.5 * ca.bilin(ca.DM(bend), pos, pos)
            off.append(ca.floor(units + 0.5) - units)
        return pos + ca.DM(self._per_unit) @ ca.vertcat(*off)

    def pressure_height(self, static_Pa: Any) -> tuple[Any, Any]:
        """`wing.air` of a pressure from `pressure_Pa`: the height from that of `pressure_Pa`, and the density."""
        ratio = (self.pressure_Pa / wing.STANDARD_PA) ** wing.EXPONENT
        grown = power_less_one(static_Pa / self.pressure_Pa, wing.EXPONENT)
        top_m = wing.STANDARD_K / wing.LAPSE_K_M * ratio
        density = (self.pressure_Pa + static_Pa) / (wing.AIR_J_KG_K * wing.STANDARD_K * ratio * (1 + grown))
        return -top_m * grown, density


def power_less_one(u: Any, exponent: float) -> Any:
    """(1 + u)^exponent - 1 of a small u, by its series."""
    total: Any = 1.0
    for k in range(TERMS, 1, -1):
        total = 1.0 + (exponent - k + 1) / k * u * total
    return exponent * u * total


def _expanded(value: Any, pos: Any, at: Vec3) -> tuple[float, Vec, Vec]:
    """Value, gradient and second derivatives."""
    bend, slope = ca.hessian(value, pos)
    numbers = ca.Function("expanded", [pos], [value, slope, bend])(at)
    return float(numbers[0]), np.array(numbers[1]).ravel(), np.array(numbers[2])
