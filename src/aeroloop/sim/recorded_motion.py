"""A vehicle's motion whose every step is told to its IMU, whole or cut by a message; others are not wrapped.

Between a step and the sensors an impact may change the velocity: `felt` adds that, as the accelerometer measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, RigidState, Truth
from aeroloop.sensors.imu_history import ImuHistory
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Motion, Surroundings

E = TypeVar("E")
S = TypeVar("S", bound=RigidState | Truth)
Accel = Callable[[S, S, float], Vec3]
"""Mean acceleration (m/s2) in the world between two states, a time apart; without that of the earth's rotation."""


def accel_of_state(before: RigidState, after: RigidState, dt_s: float) -> Vec3:
    """A body that notes the mean over its last step."""
    return after.accel_W


@dataclass(frozen=True)
class Source(Generic[E, S]):
    """Where the quantities of a step come from."""

    around: Surroundings | None
    accel_W: Accel[S]
    rotors_rad_s: Callable[[E], Sequence[float]] | None  # mean over the step; None: rotors without a simulated speed


class RecordedMotion(Generic[E, S]):
    def __init__(self, motion: Motion[E, S], history: ImuHistory, source: Source[E, S]) -> None:
        self.motion, self._history, self._source = motion, history, source
        self.state = motion.state
        self._ended: S | None = None  # state at the end of the last step

    def drive(self, command: Row, dt_ns: int) -> E:
        source, dt_s = self._source, dt_ns / NS
        before = self.motion.state(0)
        gravity_m_s2 = source.around.place.gravity_m_s2 if source.around is not None else 0.0
        effort = self.motion.drive(command, dt_ns)
        self._ended = after = self.motion.state(0)
        if dt_ns > 0:
            x, y, z = source.accel_W(before, after, dt_s)
            speeds = source.rotors_rad_s(effort) if source.rotors_rad_s is not None else ()
            self._history.step(before, after, (x, y, z + gravity_m_s2), speeds, dt_s)
        return effort

    def felt(self, state: S) -> None:
        """Before the sensors sample."""
        ended = self._ended
        if ended is not None and (state.vel_W != ended.vel_W or state.rate_B != ended.rate_B):
            self._history.strike(ended, state)


def recorded(
    motion: Motion[E, S],
    sense: Callable[[S, E], list[Any]],
    history: ImuHistory | None,
    source: Source[E, S],
) -> tuple[Motion[E, S], Callable[[S, E], list[Any]]]:
    """Motion and sensors of a vehicle whose IMU may have a history; they themselves where it has none."""
    if history is None:
        return motion, sense
    if history.rotors is not None and source.rotors_rad_s is None:
        raise ConfigError(
            "sensors.imu.vibration: this aircraft's rotors have no simulated speed; leave the table out, or plan a "
            "fault of kind vibration"
        )
    recording = RecordedMotion(motion, history, source)

    def sense_after(state: S, effort: E) -> list[Any]:
        recording.felt(state)
        return sense(state, effort)

    return recording, sense_after
