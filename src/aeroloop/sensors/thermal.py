"""Temperature of a sensor: that of the air, plus its own heat and that of the board, which build up over minutes.

    T' = (T_air + warming - T) / time

It starts at the air's temperature. The air's temperature is held over a sample period, for which the step is exact.
"""

from __future__ import annotations

import math
from typing import Annotated

from aeroloop.core.config import Config, meta


class Thermal(Config, frozen=True):
    """Temperature of the sensor, for the errors that depend on it."""

    time_s: Annotated[float, meta("s", "time constant of warming up and of following the air", gt=0, le=1e6)]
    warming_K: Annotated[float, meta("K", "above the air once warm", ge=0, le=200)] = 0.0
    calibrated_K: Annotated[float, meta("K", "temperature at which it was calibrated", gt=0, le=500)] = 298.15


class Temperature:
    """Of one sensor."""

    def __init__(self, table: Thermal, period_s: float) -> None:
        self._table = table
        self._per_sample = -period_s / table.time_s
        self._began = False
        self.kelvin = table.calibrated_K

    def advance(self, air_K: float, steps: int) -> float:
        """Temperature over that of the calibration (K), `steps` sample periods later."""
        if not self._began:
            self._began, self.kelvin = True, air_K
        else:
            to = air_K + self._table.warming_K
            self.kelvin = to + (self.kelvin - to) * math.exp(steps * self._per_sample)
        return self.kelvin - self._table.calibrated_K
