"""Earth, air and ground at the aircraft's position, updated step by step."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Air, Place, RigidState, Truth
from aeroloop.world.wind_shape import GroundHeight as GroundHeight

E_contra = TypeVar("E_contra", contravariant=True)


class EarthStage(Protocol):
    def place(self, pos_W: Vec3) -> Place: ...


class AtmosphereStage(Protocol):
    def air(self, alt_m: float, wind_W: Vec3) -> Air: ...


class WindStage(Protocol):
    def over(self, ground_m: GroundHeight | None) -> GroundHeight | None: ...
    def step(self, t_ns: int, dt_ns: int, height_m: float, vel_W: Vec3) -> Vec3: ...


class Surroundings:
    def __init__(
        self,
        earth: EarthStage,
        atmosphere: AtmosphereStage,
        wind: WindStage,
        start: RigidState | Truth,
        ground_m: GroundHeight | None = None,
    ) -> None:
        """Without `ground_m` the ground is flat, at height 0."""
        self._earth, self._atmosphere, self._wind, self._ground_m = earth, atmosphere, wind, wind.over(ground_m)
        self.place: Place
        self.air: Air
        self.ground_m = 0.0  # height of the ground below the aircraft
        self.move(0, 0, start.pos_W, start.vel_W)

    def move(self, t_ns: int, dt_ns: int, pos_W: Vec3, vel_W: Vec3) -> None:
        self.place = self._earth.place(pos_W)
        self.air = self._atmosphere.air(self.place.alt_m, self.wind_W(t_ns, dt_ns, pos_W, vel_W))

    def wind_W(self, t_ns: int, dt_ns: int, pos_W: Vec3, vel_W: Vec3) -> Vec3:
        """Wind at that position; the part of `move` with a state of its own, so call it once per step."""
        x, y, height_m = pos_W
        if self._ground_m is not None:
            self.ground_m = self._ground_m(x, y)
            height_m -= self.ground_m
        return self._wind.step(t_ns, dt_ns, height_m if height_m > 0.0 else 0.0, vel_W)


class WorldStage(Protocol[E_contra]):
    def step(self, effort: E_contra, air: Air, gravity_m_s2: float, dt_ns: int) -> None: ...
    def state(self, t_ns: int) -> RigidState: ...


class InAir(Generic[E_contra]):
    """A body that flies in the air and gravity of its surroundings."""

    def __init__(self, world: WorldStage[E_contra], surroundings: Surroundings) -> None:
        self._world, self._surroundings = world, surroundings
        self.state = world.state

    def step(self, effort: E_contra, dt_ns: int) -> None:
        surroundings = self._surroundings
        self._world.step(effort, surroundings.air, surroundings.place.gravity_m_s2, dt_ns)
