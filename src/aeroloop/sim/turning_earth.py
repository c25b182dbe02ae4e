"""A vehicle's motion on a rotating earth; without the rotation nothing of this is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, RigidState, Truth
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Motion
from aeroloop.world.earth_rotation import EarthRotation, Inertia

E = TypeVar("E")
S = TypeVar("S", bound=RigidState | Truth)
Displace = Callable[[Vec3, Vec3, Vec3], None]
"""Sets position, velocity and body rate; the acceleration of the last step, which accelerometers measure, stays."""


class OnTurningEarth(Generic[E, S]):
    """A motion whose every step is followed by what the earth's rotation adds to it."""

    def __init__(self, motion: Motion[E, S], rotation: EarthRotation, displace: Displace) -> None:
        self.motion, self._rotation, self._displace = motion, rotation, displace
        self.state = motion.state
        self._stepped = motion.state(0)

    def drive(self, command: Row, dt_ns: int) -> E:
        before = self.motion.state(0)
        effort = self.motion.drive(command, dt_ns)
        self._stepped = self.motion.state(0)
        self._displace(*self._rotation.moved(before, self._stepped, dt_ns / NS))
        return effort

    def stepped(self) -> S:
        """The state in which the last step ended before the rotation was added: the last one whose forces it felt."""
        return self._stepped


def on_earth(
    motion: Motion[E, S], turn_W: Vec3 | None, inertia_kgm2: Inertia, displace: Displace
) -> Motion[E, S] | OnTurningEarth[E, S]:
    """The motion itself where the earth's rotation, `turn_W` in rad/s, is not simulated (None)."""
    return motion if turn_W is None else OnTurningEarth(motion, EarthRotation(turn_W, inertia_kgm2), displace)


def stepped(motion: Motion[E, S] | OnTurningEarth[E, S]) -> Callable[[], S] | None:
    """`OnTurningEarth.stepped` of a motion; None where steps end in its state."""
    return motion.stepped if isinstance(motion, OnTurningEarth) else None
