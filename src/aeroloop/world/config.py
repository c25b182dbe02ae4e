"""Keys of `[world]` that all aircraft have in common; a family adds its ground and its bounds, and changes defaults."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.world.atmosphere import Day
from aeroloop.world.earth import Home, turn_W
from aeroloop.world.object_kinds import SceneName, scene_objects
from aeroloop.world.objects import MOST_OBJECTS, WorldObject, check
from aeroloop.world.wind import WindConfig


class CommonWorld(Config, frozen=True):
    """The simulated world."""

    FEELS_GUST_RATES: ClassVar[bool] = False
    """Whether the family's aerodynamics depend on body rates, so that gust rates act on it."""

    step_s: Annotated[
        float, meta("s", "integration step; the order of its error: docs/simulation.md", ge=1e-5, le=0.02)
    ] = 0.004
    home: Annotated[Home, note("position on earth where the flight starts")] = Home()
    earth_rotation: Annotated[
        bool, note("the earth turns: gyroscopes measure its rate, and moving aircraft are deflected (Coriolis)")
    ] = False
    day: Annotated[Day, note("the air at sea level")] = Day()
    wind: Annotated[WindConfig, note("wind")] = WindConfig()
    scene: Annotated[SceneName, note("objects of a ready world around the origin; empty: none (docs/worlds.md)")] = ""
    objects: Annotated[
        tuple[WorldObject, ...],
        Meta(max_length=MOST_OBJECTS, description="what aircraft can hit (docs/worlds.md)", extra={"unit": "-"}),
    ] = ()
    objects_origin_m: Annotated[
        tuple[float, float],
        meta("m", "origin of objects and scene, east and north of home; set for aircraft of fleets"),
    ] = (0.0, 0.0)

    @property
    def turn_W(self) -> Vec3 | None:
        """Rate of the earth's rotation in rad/s; None where it is not simulated."""
        return turn_W(self.home) if self.earth_rotation else None

    def __post_init__(self) -> None:
        check(self.objects, scene_objects(self.scene))
        if self.wind.turbulence.rates and not self.FEELS_GUST_RATES:
            raise ValueError("wind.turbulence.rates: gust rates act on fixed wings alone; expected false")
