"""The plant's side of the pose line: packets of the vehicle's true motion, and commands from type 4."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from aeroloop.actuators.motors import Motor, command_at
from aeroloop.controllers.pose.tables import NoiseLevels, PoseScenario
from aeroloop.core.frames import Vec3, euler_from_quat, frd_from_flu, ned_from_enu, quat_ned_frd_from_enu_flu
from aeroloop.core.geodesy import moved
from aeroloop.protocols.pose import (
    ATTITUDE,
    FORCE,
    POSITION,
    RATES,
    STATUS,
    VELOCITY,
    Attitude,
    Pose,
    Position,
    Rates,
    SpecificForce,
    Status,
    Velocity,
    encode,
)
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Vehicle
from aeroloop.world.earth import Earth

LEAST_US, MOST_US = 1000, 2000
MS = 1_000_000


class PoseSampler:
    """The packets of a set, in the order of their types."""

    def __init__(self, scenario: PoseScenario, vehicle: Vehicle[Any, Any]) -> None:
        pose = scenario.controller.pose
        self._vehicle, self._layout = vehicle, pose.layout
        self._kinds = sorted(pose.kinds)
        self._earth = Earth(scenario.aircraft.home)
        self._noise = _Noise(pose.noise_std, scenario.seed) if pose.noise == "pc" else None
        self._number = 0

    def __call__(self) -> bytes:
        packets = self._packets()
        self._number += 1
        return b"".join(encode(packets[kind], self._layout) for kind in self._kinds)

    def _packets(self) -> dict[int, Pose]:
        t_ns, pos_W, quat_WB, vel_W, rate_B, accel_W = self._vehicle.state
        place = self._earth.place(pos_W)
        ax, ay, az = accel_W
        force_B = times(body_from_world(quat_WB), ax, ay, az + place.gravity_m_s2)
        lat_deg, lon_deg, alt_m = place.lat_deg, place.lon_deg, place.alt_m
        if self._noise is not None:
            rate_B, force_B, vel_W = (
                self._noise.gyro(rate_B),
                self._noise.accelerometer(force_B),
                self._noise.velocity(vel_W),
            )
            east_m, north_m, up_m = self._noise.position((0.0, 0.0, 0.0))
            lat_deg, lon_deg = moved(lat_deg, lon_deg, alt_m, east_m, north_m)
            alt_m += up_m
        return {
            ATTITUDE: Attitude(*euler_from_quat(quat_ned_frd_from_enu_flu(quat_WB))),
            POSITION: Position(lon_deg, lat_deg, alt_m),
            RATES: Rates(*frd_from_flu(rate_B)),
            VELOCITY: Velocity(*ned_from_enu(vel_W)),
            FORCE: SpecificForce(*frd_from_flu(force_B)),
            STATUS: Status(t_ns // MS, self._number),
        }


class _Noise:
    """Added by the PC, where the board adds none: to what is sent, so never to magnetometer and barometer alone."""

    def __init__(self, levels: NoiseLevels, seed: int) -> None:
        generator = Streams(seed).generator("pose")

        def white(std: float) -> Callable[[Vec3], Vec3]:
            def noisy(value: Vec3) -> Vec3:
                x, y, z = (generator.standard_normal(3) * std).tolist()
                return value[0] + x, value[1] + y, value[2] + z

            return noisy

        self.gyro, self.accelerometer = white(levels.gyro_rad_s), white(levels.accelerometer_m_s2)
        self.position, self.velocity = white(levels.position_m), white(levels.velocity_m_s)


def from_pulses(pulses_us: Sequence[int]) -> Row:
    """Commands, 0 to 1; a pulse below 1000 us, or none, stops a motor."""
    return tuple((min(max(us, LEAST_US), MOST_US) - LEAST_US) / (MOST_US - LEAST_US) for us in pulses_us)


def from_speeds(motor: Motor) -> Callable[[Sequence[int]], Row]:
    """Commands that hold speeds in rpm."""
    return lambda speeds: tuple(min(command_at(motor, rpm * math.tau / 60), 1.0) for rpm in speeds)
