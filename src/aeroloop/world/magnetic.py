"""The earth's main magnetic field: the World Magnetic Model, through pygeomag.

The edition is the one that was in force at the date (each serves five years); crustal fields, the ionosphere and nearby
objects are not included.
"""

from __future__ import annotations

import datetime

from pygeomag import GeoMag, calculate_decimal_year
from pygeomag.wmm.wmm_2015v2 import WMM_2015v2
from pygeomag.wmm.wmm_2020 import WMM_2020
from pygeomag.wmm.wmm_2025 import WMM_2025

from aeroloop.core.frames import Vec3

EDITIONS = {2015: WMM_2015v2, 2020: WMM_2020, 2025: WMM_2025}
YEARS = 5
_FIRST, _LAST = min(EDITIONS), max(EDITIONS) + YEARS - 1
_TESLA_PER_NT = 1e-9


def edition(date: datetime.date) -> int:
    """First year of the edition for that date."""
    year = date.year - date.year % YEARS
    if year not in EDITIONS:
        raise ValueError(
            f"date: expected one that the World Magnetic Model covers, {_FIRST}-01-01 to {_LAST}-12-31, not {date}"
        )
    return year


class MagneticModel:
    """The field at one date."""

    def __init__(self, date: datetime.date) -> None:
        self._model = GeoMag(coefficients_data=EDITIONS[edition(date)])
        self._year = float(calculate_decimal_year(date))

    def field_T(self, lat_deg: float, lon_deg: float, ellipsoid_height_m: float) -> Vec3:
        """East, north, up at that position, in its own axes. Slow: for a tick use `Earth.place`."""
        field = self._model.calculate(glat=lat_deg, glon=lon_deg, alt=ellipsoid_height_m / 1000.0, time=self._year)
        return field.y * _TESLA_PER_NT, field.x * _TESLA_PER_NT, -field.z * _TESLA_PER_NT
