"""A known manoeuvre of a multirotor, sampled as a board gets it by pose packets, without randomness.

The attitude follows from the path by flatness: thrust along -z of the body balances gravity, acceleration and a linear
drag. Axes are north, east, down and forward, right, down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.core.geodesy import radii_m
from aeroloop.sensors.reconstruction import POSE, POSE_SIZE, place

DRAG_1_S = 0.25
TRUTH_HZ, SECONDS, LEFT_OUT_S = 2000, 30.0, 2.0
SET_BITS = 540
FIELD_NED_T = np.array([28e-6, -3e-6, 46e-6])
LAT_RAD, HEIGHT_M = math.radians(40.0), 50.0
TAKEOFF = np.array([LAT_RAD, HEIGHT_M, 101_325.0, 288.15, *FIELD_NED_T, GRAVITY_M_S2])
GRAVITY = np.array([0.0, 0.0, GRAVITY_M_S2])
FLIP = np.array([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Manoeuvre:
    """The motion at some times."""

    t_s: Vec

    @cached_property
    def pos(self) -> Vec:
        t, sin = self.t_s, np.sin
        return np.stack(
            [
                4 * sin(1.2 * t) + 0.05 * sin(6 * t),
                4 * sin(0.9 * t + 0.7) + 0.05 * sin(5 * t + 1),
                -10 - 1.5 * sin(0.7 * t),
            ],
            axis=1,
        )

    @cached_property
    def vel(self) -> Vec:
        t, cos = self.t_s, np.cos
        return np.stack(
            [
                4.8 * cos(1.2 * t) + 0.3 * cos(6 * t),
                3.6 * cos(0.9 * t + 0.7) + 0.25 * cos(5 * t + 1),
                -1.05 * cos(0.7 * t),
            ],
            axis=1,
        )

    @cached_property
    def accel(self) -> Vec:
        t, sin = self.t_s, np.sin
        return np.stack(
            [
                -5.76 * sin(1.2 * t) - 1.8 * sin(6 * t),
                -3.24 * sin(0.9 * t + 0.7) - 1.25 * sin(5 * t + 1),
                0.735 * sin(0.7 * t),
            ],
            axis=1,
        )

    @cached_property
    def dcm(self) -> Vec:
        """(n, 3, 3) To the body."""
        yaw = 0.8 * np.sin(0.5 * self.t_s)
        down = _unit(GRAVITY - self.accel - DRAG_1_S * self.vel)
        right = _unit(np.cross(down, np.stack([np.cos(yaw), np.sin(yaw), 0 * yaw], axis=1)))
        return np.stack([np.cross(right, down), right, down], axis=1)

    @cached_property
    def rates(self) -> Vec:
        h = 1e-4
        change = (Manoeuvre(self.t_s + h).dcm - Manoeuvre(self.t_s - h).dcm) / (2 * h)
        skew = -np.einsum("nij,nkj->nik", change, self.dcm)
        return np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)

    @cached_property
    def force(self) -> Vec:
        return np.einsum("nij,nj->ni", self.dcm, self.accel - GRAVITY)

    @cached_property
    def field(self) -> Vec:
        return self.dcm @ FIELD_NED_T

    @cached_property
    def attitude(self) -> Vec:
        R = self.dcm
        return np.stack(
            [np.arctan2(R[:, 1, 2], R[:, 2, 2]), -np.arcsin(R[:, 0, 2]), np.arctan2(R[:, 0, 1], R[:, 0, 0])], axis=1
        )

    @property
    def pos_W(self) -> Vec:
        return np.stack([self.pos[:, 1], self.pos[:, 0], -self.pos[:, 2]], axis=1)


def _unit(rows: Vec) -> Vec:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def single(values: Vec) -> Vec:
    return values.astype(np.float32).astype(np.float64)


def counts(motion: Manoeuvre) -> Vec:
    """Positions as type 2 carries them, from the take-off place."""
    prime_m, meridian_m = radii_m(LAT_RAD)
    east_m, north_m = (prime_m + HEIGHT_M) * math.cos(LAT_RAD), meridian_m + HEIGHT_M
    per_m = np.array([np.degrees(1 / east_m) * 1e7, np.degrees(1 / north_m) * 1e7, 1e3])
    return np.asarray(np.round(motion.pos_W * per_m))


def poses(motion: Manoeuvre, pos_W: Vec | None = None) -> Vec:
    """(n, 15) What the packets carry, positions by their counts unless others are given."""
    made = np.zeros((len(motion.t_s), POSE_SIZE))
    if pos_W is None:
        pos_W = np.array(place()(counts(motion).T, TAKEOFF)).T
    values = {"attitude": motion.attitude, "rates": motion.rates, "velocity": motion.vel, "force": motion.force}
    for name, value in values.items():
        made[:, POSE[name]] = single(value)
    made[:, POSE["pos_W"]] = pos_W
    return made


def rebuild(function: ca.Function, sets: Vec, step_s: float) -> Vec:
    """(n, size) Samples of one class of sensor, set by set."""
    call = Evaluator(function)
    pose, step, takeoff, memory = call.inputs
    sample, memory_next = call.outputs
    step[:], takeoff[:] = step_s, TAKEOFF
    samples = np.empty((len(sets), len(sample)))
    for i, row in enumerate(sets):
        pose[:] = row
        call.run()
        samples[i] = sample
        memory[:] = memory_next
    return samples


@dataclass(frozen=True)
class Held:
    """Which set a board holds at each time of the truth: the last that has arrived completely."""

    rate_hz: float
    baud: int

    @cached_property
    def sets(self) -> Manoeuvre:
        return Manoeuvre(np.arange(0, SECONDS, 1 / self.rate_hz))

    def error(self, samples: Vec, truth: Vec) -> float:
        """RMS over all axes."""
        t_s = np.arange(0, SECONDS, 1 / TRUTH_HZ)
        kept = t_s >= LEFT_OUT_S
        arrived = self.sets.t_s + SET_BITS / self.baud
        at = np.searchsorted(arrived, t_s[kept] + 1e-9, side="right") - 1
        return float(np.sqrt(np.mean((samples[at] - truth[kept]) ** 2)))
