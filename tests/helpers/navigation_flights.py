"""Flights for the navigation filter: a true motion, seen through the simulator's own earth, air and sensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from failing_sensors import FailingSuite

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.faults import PlannedFault
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS, NavEstimate, Place, RigidState
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.navigation import Navigation
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import Sample, SensorSet, preset
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.magnetic import MagneticModel

STEP_NS = 2_000_000
REST_S = 8.0
EARTH = Earth(Home())
ATMOSPHERE = Atmosphere(Day())
FIELD = MagneticModel(Home().date)


def field_at(lat_deg: float, lon_deg: float, alt_m: float) -> tuple[float, float, float]:
    return FIELD.field_T(lat_deg, lon_deg, alt_m)


def figure_eight(t: Vec) -> tuple[Vec, Vec]:
    """Position (n, 3) and yaw (n): at rest for a while, then up and round, with up to 5 m/s2, turning once in 25 s."""
    u = np.maximum(t - REST_S, 0.0)
    s = np.minimum(u / 6.0, 1.0)
    ramp = s**4 * (35 - 84 * s + 70 * s**2 - 20 * s**3)
    w = 0.3
    pos = np.stack([15 * np.sin(w * u), 10 * np.sin(2 * w * u), 6 - 2 * np.cos(0.7 * w * u)], axis=-1)
    return ramp[..., None] * pos, 0.7 + ramp * 0.25 * u


def rest(t: Vec) -> tuple[Vec, Vec]:
    return np.zeros((*t.shape, 3)), np.full(t.shape, -2.0)


Motion = Callable[[Vec], tuple[Vec, Vec]]


@functools.cache
def states(motion: Motion, duration_s: float) -> list[RigidState]:
    """One each STEP_NS: a multirotor's, whose thrust points where it accelerates."""
    t, h = np.arange(round(duration_s * NS / STEP_NS) + 1) * (STEP_NS / NS), 1e-3

    def accel(t: Vec) -> Vec:
        a: Vec = (motion(t + h)[0] - 2 * motion(t)[0] + motion(t - h)[0]) / h**2
        return a

    def attitude(t: Vec) -> Vec:
        z = accel(t) + np.array([0.0, 0.0, 9.8066])
        z /= np.linalg.norm(z, axis=-1, keepdims=True)
        yaw = motion(t)[1]
        y = np.cross(z, np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1))
        y /= np.linalg.norm(y, axis=-1, keepdims=True)
        return np.stack([np.cross(y, z), y, z], axis=-1)

    pos, R = motion(t)[0], attitude(t)
    vel = (motion(t + h)[0] - motion(t - h)[0]) / (2 * h)
    turn = np.swapaxes(attitude(t - h), -1, -2) @ attitude(t + h)
    rate = np.stack([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], -1)
    rate /= 4 * h
    w = np.sqrt(np.maximum(1 + R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2], 1e-12)) / 2
    x, y = (R[:, 2, 1] - R[:, 1, 2]) / (4 * w), (R[:, 0, 2] - R[:, 2, 0]) / (4 * w)
    quat = np.stack([w, x, y, (R[:, 1, 0] - R[:, 0, 1]) / (4 * w)], -1)
    quat /= np.linalg.norm(quat, axis=-1, keepdims=True)
    rows: Any = zip(pos.tolist(), quat.tolist(), vel.tolist(), rate.tolist(), accel(t).tolist(), strict=True)
    return [RigidState(k * STEP_NS, *(tuple(part) for part in row)) for k, row in enumerate(rows)]


@functools.cache
def samples(
    sensors: str | SensorSet, motion: Motion, duration_s: float, seed: int = 1, faults: tuple[PlannedFault, ...] = ()
) -> list[tuple[RigidState, Place, list[Sample]]]:
    """What arrives when, beside the truth."""
    suite = FailingSuite(preset(sensors) if isinstance(sensors, str) else sensors, Streams(seed), faults)
    heard = []
    for state in states(motion, duration_s):
        if state.t_ns < suite.next_ns:
            continue
        place = EARTH.place(state.pos_W)
        air = ATMOSPHERE.air(place.alt_m, (0.0, 0.0, 0.0))
        current_A = 15.0 if state.t_ns > REST_S * NS else 0.0
        heard.append((state, place, suite.sample(state, air, place, motor_current_A=current_A)))
    return heard


def feed(nav: Navigation, sample: Sample) -> None:
    if isinstance(sample, ImuSample):
        nav.imu(sample.t_ns, sample.rate_B, sample.accel_B)
    elif isinstance(sample, MagnetometerSample):
        nav.magnetometer(sample.t_ns, sample.field_B_T)
    elif isinstance(sample, BarometerSample):
        nav.barometer(sample.t_ns, sample.pressure_altitude_m)
    elif isinstance(sample, GnssSample):
        s = sample
        nav.gnss(s.t_ns, s.lat_deg, s.lon_deg, s.alt_m, s.vel_W, s.eph_m, s.epv_m, s.fix)


@dataclass
class Flight:
    nav: Navigation
    t_s: list[float] = field(default_factory=list)
    estimates: list[NavEstimate] = field(default_factory=list)
    attitude_error_rad: list[float] = field(default_factory=list)
    yaw_error_rad: list[float] = field(default_factory=list)
    pos_error_m: list[tuple[float, float, float]] = field(default_factory=list)
    vel_error_m_s: list[tuple[float, float, float]] = field(default_factory=list)

    def part(self, values: list[Any], start_s: float, end_s: float = math.inf) -> Vec:
        t = np.array(self.t_s)
        chosen: Vec = np.array(values)[(t >= start_s) & (t < end_s)]
        return chosen

    def rms(self, values: list[Any], start_s: float, end_s: float = math.inf) -> float:
        chosen = self.part(values, start_s, end_s)
        return float(np.sqrt(np.mean(np.sum(np.atleast_2d(chosen.T) ** 2, axis=0))))


def navigation(config: NavigationConfig | None = None) -> Navigation:
    return Navigation(config or NavigationConfig(), Evaluator, field_at)


def fly(
    heard: list[tuple[RigidState, Place, list[Sample]]],
    nav: Navigation | None = None,
    change: Callable[[Sample], Sample | None] = lambda sample: sample,
    each: Callable[[Navigation], None] = lambda nav: None,
) -> Flight:
    """`change` may alter a sample or swallow it; errors are noted every 20 ms."""
    flight = Flight(nav or navigation())
    nav = flight.nav
    for state, place, arrived in heard:
        for sample in arrived:
            changed = change(sample)
            if changed is not None:
                feed(nav, changed)
                each(nav)
        estimate = nav.estimate
        if state.t_ns % 20_000_000 == 0 and estimate is not None and nav.origin is not None:
            _note(flight, state, place, estimate)
    return flight


def _note(flight: Flight, state: RigidState, place: Place, estimate: NavEstimate) -> None:
    nav = flight.nav
    flight.t_s.append(state.t_ns / NS)
    flight.estimates.append(estimate)
    # R_estimated R_true^T as a quaternion: the rotation in the world between the two.
    a, b = np.array(estimate.quat_WB), np.array(state.quat_WB)
    w = abs(float(a @ b))
    turned = -a[0] * b[1:] + b[0] * a[1:] - np.cross(a[1:], b[1:])
    flight.attitude_error_rad.append(2 * math.atan2(float(np.linalg.norm(turned)), w))
    flight.yaw_error_rad.append(2 * math.atan2(abs(turned[2]), w))
    true = nav.local(place.lat_deg, place.lon_deg, place.alt_m)
    flight.pos_error_m.append(tuple(np.subtract(estimate.pos_W, true).tolist()))
    flight.vel_error_m_s.append(tuple(np.subtract(estimate.vel_W, state.vel_W).tolist()))
