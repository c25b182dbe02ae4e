"""The standard atmosphere (ISO 2533, ICAO Doc 7488) from 2 km below to 32 km above the sea.

With the geopotential altitude H = r h / (r + h): temperature falls by 6.5 K/km to H = 11 km, is constant to 20 km and
rises by 1 K/km above; pressure follows from hydrostatic balance, density from the gas law. A day that is not standard
has another pressure and temperature at sea level; lapse rates and heights of the layers stay, and so does the balance.
"""

from __future__ import annotations

import math
from typing import Annotated

from aeroloop.core.config import Config, meta
from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import GRAVITY_M_S2, Vec3
from aeroloop.core.signals import Air, new_tuple

EARTH_RADIUS_M = 6356766.0  # the nominal one of the standard
R_J_KG_K = 287.05287
LAPSE_K_M = -0.0065
TROPOPAUSE_M = 11_000.0  # geopotential
PRESSURE_EXPONENT = -GRAVITY_M_S2 / (R_J_KG_K * LAPSE_K_M)
WARMING_M = 20_000.0  # geopotential, where the temperature begins to rise
WARMING_K_M = 0.001
WARMING_EXPONENT = -GRAVITY_M_S2 / (R_J_KG_K * WARMING_K_M)
LOWEST_M, HIGHEST_M = -2_000.0, 32_000.0  # geometric; the layer ends at 32 km of geopotential, 32,162 m


class Day(Config, frozen=True):
    """Pressure and temperature at sea level."""

    sea_level_pressure_Pa: Annotated[float, meta("Pa", "pressure at mean sea level", ge=85000, le=110000)] = 101325.0
    sea_level_temperature_K: Annotated[float, meta("K", "temperature at mean sea level", ge=220, le=330)] = 288.15


class Atmosphere:
    """Pressure, temperature and density over height."""

    def __init__(self, day: Day) -> None:
        self._p0, self._t0 = day.sea_level_pressure_Pa, day.sea_level_temperature_K
        self._t11 = self._t0 + LAPSE_K_M * TROPOPAUSE_M
        self._p11 = self._p0 * (self._t11 / self._t0) ** PRESSURE_EXPONENT
        self._decay_per_m = -GRAVITY_M_S2 / (R_J_KG_K * self._t11)
        self._p20 = self._p11 * math.exp(self._decay_per_m * (WARMING_M - TROPOPAUSE_M))

    @property
    def day(self) -> tuple[float, float, float, float, float, float]:
        """Pressure (Pa) and temperature (K) at sea level and at the tropopause; decay of pressure above it (1/m);
        pressure where the temperature begins to rise (Pa)."""
        return self._p0, self._t0, self._p11, self._t11, self._decay_per_m, self._p20

    def at(self, alt_m: float) -> tuple[float, float, float]:
        """Pressure (Pa), temperature (K) and density (kg/m3) at a height above mean sea level."""
        if not LOWEST_M <= alt_m <= HIGHEST_M:  # NaN too
            raise AeroloopError(
                f"The altitude {alt_m:g} m is outside the atmosphere: "
                f"expected {LOWEST_M:g} to {HIGHEST_M:g} m above mean sea level."
            )
        geopotential_m = EARTH_RADIUS_M * alt_m / (EARTH_RADIUS_M + alt_m)
        if geopotential_m <= TROPOPAUSE_M:
            temperature = self._t0 + LAPSE_K_M * geopotential_m
            pressure = self._p0 * (temperature / self._t0) ** PRESSURE_EXPONENT
        elif geopotential_m <= WARMING_M:
            temperature = self._t11
            pressure = self._p11 * math.exp(self._decay_per_m * (geopotential_m - TROPOPAUSE_M))
        else:
            temperature = self._t11 + WARMING_K_M * (geopotential_m - WARMING_M)
            pressure = self._p20 * (temperature / self._t11) ** WARMING_EXPONENT
        return pressure, temperature, pressure / (R_J_KG_K * temperature)

    def air(self, alt_m: float, wind_W: Vec3) -> Air:
        pressure, temperature, density = self.at(alt_m)
        return new_tuple(Air, (wind_W, pressure, temperature, density))
