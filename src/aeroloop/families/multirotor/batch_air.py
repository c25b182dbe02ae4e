"""Earth and air near home in forms that single precision computes: differences from home, not from the earth's centre.

Heights over the ellipsoid follow the tangent plane's second order, d^2/2R; the next one is 1e-5 m at a kilometre. With
the height difference dh, geopotential dH = dh (R/(R+a0))^2 / (1 + dh/(R+a0)), and s = L dH/T0,

    p = p0 (1 + s)^n,  rho = rho0 (1 + s)^(n-1),  pressure altitude = H0 - (Ts/L) B ((1 + s)(1 + e/p)^(1/n) - 1),

since n = -g/(R L) of the atmosphere is the inverse of the barometer's exponent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.core.geodesy import radii_m
from aeroloop.sensors import barometer
from aeroloop.world import expressions
from aeroloop.world.atmosphere import EARTH_RADIUS_M, LAPSE_K_M, PRESSURE_EXPONENT, Atmosphere, Day
from aeroloop.world.earth import Earth, Home

_STEP_M = 100.0


@dataclass(frozen=True)
class LocalAir:
    """Constants at home."""

    gravity_m_s2: float
    gravity_north_per_s2: float
    gravity_up_per_s2: float
    curve_east_per_m: float
    curve_north_per_m: float
    alt_m: float
    pressure_Pa: float
    temperature_K: float
    density_kg_m3: float
    cell: tuple[float, ...]

    @classmethod
    def at(cls, home: Home, day: Day) -> LocalAir:
        earth = Earth(home)

        def gravity(north_m: float, up_m: float) -> float:
            return earth.place((0.0, north_m, up_m)).gravity_m_s2

        north = (gravity(_STEP_M, 0.0) - gravity(-_STEP_M, 0.0)) / (2 * _STEP_M)
        up = (gravity(0.0, _STEP_M) - gravity(0.0, -_STEP_M)) / (2 * _STEP_M)
        place = earth.place((0.0, 0.0, 0.0))
        prime_m, meridian_m = radii_m(math.radians(home.lat_deg))
        height_m = home.alt_m + home.geoid_height_m
        pressure, temperature, density = Atmosphere(day).at(place.alt_m)
        return cls(
            place.gravity_m_s2,
            north,
            up,
            1 / (2 * (prime_m + height_m)),
            1 / (2 * (meridian_m + height_m)),
            place.alt_m,
            pressure,
            temperature,
            density,
            earth.cell,
        )

    def rise_m(self, pos_W: Any) -> Any:
        """Height over home's level surface."""
        x, y, z = (pos_W[i] for i in range(3))
        return z + self.curve_east_per_m * x * x + self.curve_north_per_m * y * y

    def gravity(self, pos_W: Any) -> Any:
        return self.gravity_m_s2 + self.gravity_north_per_s2 * pos_W[1] + self.gravity_up_per_s2 * self.rise_m(pos_W)

    def warming(self, pos_W: Any) -> Any:
        """s of the module's text: the relative change of the temperature since home."""
        rise, from_centre = self.rise_m(pos_W), EARTH_RADIUS_M + self.alt_m
        geopotential = rise * (EARTH_RADIUS_M / from_centre) ** 2 / (1 + rise / from_centre)
        return LAPSE_K_M / self.temperature_K * geopotential

    def density(self, pos_W: Any) -> Any:
        return self.density_kg_m3 * (1 + _power_less_one(self.warming(pos_W), PRESSURE_EXPONENT - 1))

    def pressure_altitude_m(self, pos_W: Any, pressure_error_Pa: Any) -> Any:
        """Of a barometer, from what it shows at home without an error."""
        s = self.warming(pos_W)
        pressure = self.pressure_Pa * (1 + _power_less_one(s, PRESSURE_EXPONENT))
        more = _power_less_one(pressure_error_Pa / pressure, barometer.EXPONENT)
        scale = barometer.SEA_LEVEL_K / barometer.LAPSE_K_PER_M
        at_home = (self.pressure_Pa / barometer.SEA_LEVEL_PA) ** barometer.EXPONENT
        return -scale * at_home * (s + more + s * more)

    def field_W_T(self, pos_W: Any) -> Any:
        return expressions.field_T(ca.SX(ca.DM(self.cell)), pos_W)


def _power_less_one(x: Any, n: float) -> Any:
    """(1 + x)^n - 1 for |x| below 0.1."""
    rest: Any = 0
    for k in range(5, 1, -1):
        rest = (n - k + 1) / k * x * (1 + rest)
    return n * x * (1 + rest)
