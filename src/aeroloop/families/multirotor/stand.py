"""A stand that holds a multirotor in the air, level and at rest, until it lets go: a flight without take-off."""

from __future__ import annotations

from typing import Annotated

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec3

LOWEST_M = 1.0


class Stand(Config, frozen=True):
    """Holds the aircraft, heading east, while its estimator aligns and its rotors start."""

    pos_W: Annotated[Vec3, meta("m", "centre of mass: east, north, up; at least 1 m up")] = (0.0, 0.0, 4.0)
    until_s: Annotated[float, meta("s", "simulated time at which the stand lets go", gt=0, le=3600)] = 4.0

    def __post_init__(self) -> None:
        if not self.pos_W[2] >= LOWEST_M:
            raise ValueError(f"pos_W: expected a height of at least {LOWEST_M:g} m, not {self.pos_W[2]:g}")

    @property
    def motion(self) -> tuple[float, ...]:
        """As `world.rigid.Rigid.motion`."""
        return (*self.pos_W, 1.0, *(0.0,) * 15)
