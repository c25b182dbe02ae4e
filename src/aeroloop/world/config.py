"""Keys of `[world]` that all aircraft have in common; a family adds its ground and its bounds, and changes defaults."""

from __future__ import annotations

from typing import Annotated

from aeroloop.core.config import Config, meta, note
from aeroloop.world.atmosphere import Day
from aeroloop.world.earth import Home
from aeroloop.world.wind import WindConfig


class CommonWorld(Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-5, le=0.02)] = 0.004
    home: Annotated[Home, note("position on earth where the flight starts")] = Home()
    day: Annotated[Day, note("the air at sea level")] = Day()
    wind: Annotated[WindConfig, note("wind")] = WindConfig()
