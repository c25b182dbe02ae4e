"""The navigation filter as one CasADi function, for a board: samples and memory in, motion and memory out.

The filter of `ekf.py`, in a form suited to single precision:

- It begins at standstill: means over `align_s` give attitude and biases; motion restarts it.
- Positions are metres from home, which the plant's receiver defines; the first fix sets them, by a large first
  variance.
- Inertial integrals are reset whenever the covariance is propagated, so they stay small. A late fix is compared with
  the state of its time by the present acceleration, which is enough for a tenth of a second.
- A measurement whose innovation exceeds its gate is rejected, until it has been rejected for its reset time.

Parts that are not needed in a period are not computed: each is a branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from aeroloop.estimation import ekf
from aeroloop.estimation.config import NavigationConfig

IMU, MAGNETOMETER, BAROMETER, GNSS = 6, 3, 1, 9
"""Sizes of the samples: rate_B, accel_B; field_B in T; pressure altitude in m; age in s, pos_W, vel_W, eph, epv."""
SENSORS = (IMU, MAGNETOMETER, BAROMETER, GNSS)
GATES = ("magnetometer", "barometer", "position", "velocity", "height")
BELIEVED = 13 + 4
"""pos_W, vel_W, quat_WB, rate_B; then the standard deviations of tilt, yaw, position and height."""
FIRST_POS_STD_M, FIRST_VEL_STD_M_S, FIRST_HEIGHT_STD_M, FIRST_TILT_STD_RAD = 10.0, 0.1, 0.1, 0.005

_SUMS = IMU + MAGNETOMETER + BAROMETER
X = slice(0, ekf.STATES)
P = slice(X.stop, X.stop + ekf.TRIANGLE)
REFUSED = slice(P.stop, P.stop + len(GATES))  # time for which each has been rejected, in s
SUMS = slice(REFUSED.stop, REFUSED.stop + _SUMS)
COUNTS = slice(SUMS.stop, SUMS.stop + 3)  # samples of IMU, magnetometer and barometer in the sums
READY, SINCE, EPH, EPV = range(COUNTS.stop, COUNTS.stop + 4)  # 1 once aligned; covariance's age in s; last fix's
MEMORY = EPV + 1

_DIAGONAL = [int(i) for i in ekf.DIAGONAL]


@dataclass(frozen=True)
class Field:
    """The earth's magnetic field at home."""

    azimuth_rad: float  # from east to the left, as yaw is
    strength_T: float


def navigator(config: NavigationConfig, field: Field, period_s: float, start_m: float = 0.0) -> ca.Function:
    """(imu, magnetometer, barometer, gnss, fresh (4,), memory) -> (believed, ready, memory).

    `start_m`: height over home at which it is aligned.
    """
    samples = [ca.MX.sym(name, size) for name, size in zip(("imu", "mag", "baro", "gnss"), SENSORS, strict=True)]
    fresh, memory = ca.MX.sym("fresh", len(SENSORS)), ca.MX.sym("memory", MEMORY)
    ready = memory[READY]
    either = ca.Function.if_else(
        "nav_step", _flying(config, field, period_s), _aligning(config, field, period_s, start_m)
    )
    after = either(ready > 0.5, *samples, fresh, memory)
    believed = _believed()(after)
    return ca.Function("navigator", [*samples, fresh, memory], [believed, after[READY], after])


def _symbols() -> list[Any]:
    samples = [ca.SX.sym(f"sample{i}", size) for i, size in enumerate(SENSORS)]
    return [*samples, ca.SX.sym("fresh", len(SENSORS)), ca.SX.sym("memory", MEMORY)]


def _aligning(config: NavigationConfig, field: Field, period_s: float, start_m: float) -> ca.Function:
    """Sums of samples at rest, and at the end of the window the resulting state."""
    inputs = _symbols()
    imu, magnetometer, barometer, _, fresh, memory = inputs
    sums = memory[SUMS] + ca.vertcat(fresh[0] * imu, fresh[1] * magnetometer, fresh[2] * barometer)
    counts = memory[COUNTS] + fresh[:3]
    divisors = ca.fmax(counts, 1)
    means = Means(sums[0:3] / divisors[0], sums[3:6] / divisors[0], sums[6:9] / divisors[1], sums[9] / divisors[2])
    rate, accel = means.rate_B, means.accel_B
    full = counts[0] >= round(config.align_s / period_s)
    still = ca.logic_and(
        ca.norm_2(rate) < config.still_rate_rad_s,
        ca.fabs(ca.norm_2(accel) - config.gravity_m_s2) < config.still_accel_m_s2,
    )
    begun = ca.logic_and(full, ca.logic_and(still, ca.logic_and(counts[1] > 0, counts[2] > 0)))
    x, p = first(config, field, means, start_m)
    kept = ca.if_else(full, 0, 1)
    after = ca.vertcat(
        begun * x, begun * p, ca.SX.zeros(len(GATES)), kept * sums, kept * counts, begun, 0, memory[EPH], memory[EPV]
    )
    return ca.Function("nav_align", inputs, [ca.densify(after)])


class Means(NamedTuple):
    """Of the samples at standstill."""

    rate_B: Any
    accel_B: Any
    field_B: Any
    altitude_m: Any  # pressure altitude


def first(config: NavigationConfig, field: Field, means: Means, start_m: float) -> Any:
    """State and covariance after the standstill."""
    rate, accel, field_B, altitude = means
    roll = ca.atan2(accel[1], accel[2])
    pitch = ca.atan2(-accel[0], ca.sqrt(accel[1] ** 2 + accel[2] ** 2))
    across = ca.cos(roll) * field_B[1] - ca.sin(roll) * field_B[2]
    along = ca.cos(pitch) * field_B[0] + ca.sin(pitch) * (ca.sin(roll) * field_B[1] + ca.cos(roll) * field_B[2])
    yaw = field.azimuth_rad - ca.atan2(across, along)
    cr, sr = ca.cos(roll / 2), ca.sin(roll / 2)
    cp, sp = ca.cos(pitch / 2), ca.sin(pitch / 2)
    cy, sy = ca.cos(yaw / 2), ca.sin(yaw / 2)
    quat = ca.vertcat(
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    force = ca.vertcat(0, 0, config.gravity_m_s2)
    zero = ca.SX.zeros(3)
    pos, offset = (ca.vertcat(0, 0, start_m), altitude - start_m) if start_m else (zero, altitude)
    x = ca.vertcat(quat, zero, pos, rate, zero, offset, zero, zero, rate, force)
    spread = np.zeros(ekf.ERRORS)
    spread[ekf.D_ANGLE] = (FIRST_TILT_STD_RAD, FIRST_TILT_STD_RAD, config.heading_std_rad)
    spread[ekf.D_VEL] = FIRST_VEL_STD_M_S
    spread[ekf.D_POS] = (FIRST_POS_STD_M, FIRST_POS_STD_M, FIRST_HEIGHT_STD_M)
    spread[ekf.D_GYRO] = np.hypot(config.gyro_noise / np.sqrt(config.align_s), 10 * config.gyro_bias_walk)
    spread[ekf.D_BARO] = config.baro_std_m
    # The levelling used the accelerometer with its bias: R b = dtheta x g.
    tilted = ca.SX(ekf.ERRORS, 3)
    R = ekf.rotation(quat)
    tilted[0, :], tilted[1, :] = -R[1, :] / config.gravity_m_s2, R[0, :] / config.gravity_m_s2
    tilted[ekf.D_ACCEL, :] = ca.SX.eye(3)
    covariance = ca.SX(ca.diag(ca.DM(spread**2))) + config.accel_bias_std**2 * tilted @ tilted.T
    return x, ekf.triangle(covariance)


def _flying(config: NavigationConfig, field: Field, period_s: float) -> ca.Function:
    """One period: propagate, propagate the covariance when due, then apply the fresh measurements."""
    noise = ekf.Noise(
        config.gyro_noise, config.accel_noise, config.gyro_bias_walk, config.accel_bias_walk, config.baro_walk
    )
    imu, magnetometer, barometer, gnss = samples = [ca.MX.sym(f"sample{i}", size) for i, size in enumerate(SENSORS)]
    fresh, memory = ca.MX.sym("fresh", len(SENSORS)), ca.MX.sym("memory", MEMORY)
    x = ekf.propagate(config.gravity_m_s2)(memory[X], ca.vertcat(period_s, imu))
    since = memory[SINCE] + period_s
    due = since > config.covariance_period_s - period_s / 2
    x, p = _branch(moved_on(noise, config))(due, x, memory[P], since)
    since = ca.if_else(due, 0, since)
    parts = {
        "magnetometer": (fresh[1], magnetometer, correct_by_field(config, field)),
        "barometer": (fresh[2], barometer, correct_by_barometer(config)),
        "gnss": (fresh[3], gnss, correct_by_fix(config)),
    }
    refused = memory[REFUSED] + period_s * (memory[REFUSED] > 0)
    for came, sample, correction in parts.values():
        x, p, refused = _branch(correction)(came > 0.5, x, p, refused, sample)
    eph, epv = (ca.if_else(fresh[3] > 0.5, gnss[7 + i], memory[EPH + i]) for i in range(2))
    after = ca.vertcat(x, p, refused, memory[SUMS], memory[COUNTS], memory[READY], since, eph, epv)
    return ca.Function("nav_fly", [*samples, fresh, memory], [after])


def _branch(function: ca.Function) -> ca.Function:
    """The function where its condition holds; otherwise its first inputs unchanged. C computes only one of them."""
    given = [ca.MX.sym(f"in{i}", function.size1_in(i)) for i in range(function.n_in())]
    keep = ca.Function(f"{function.name()}_keep", given, given[: function.n_out()])
    return ca.Function.if_else(f"{function.name()}_due", function, keep)


def moved_on(noise: ekf.Noise, config: NavigationConfig) -> ca.Function:
    x, p, since = ca.SX.sym("x", ekf.STATES), ca.SX.sym("p", ekf.TRIANGLE), ca.SX.sym("since")
    p_after = ekf.predict(noise, config.gravity_m_s2)(x, p, ca.vertcat(since, x[ekf.VEL_I]))
    emptied = ca.vertcat(x[: ekf.VEL_I.start], ca.SX.zeros(6), x[ekf.POS_I.stop :])
    return ca.Function("nav_move", [x, p, since], [emptied, p_after])


class _Judge:
    """Applies corrections, each behind its gate."""

    def __init__(self, config: NavigationConfig, size: int, name: str) -> None:
        self._config, self._name = config, name
        self.x, self.p = ca.SX.sym("x", ekf.STATES), ca.SX.sym("p", ekf.TRIANGLE)
        self.refused, self.sample = ca.SX.sym("refused", len(GATES)), ca.SX.sym("sample", size)
        self._inputs = [self.x, self.p, self.refused, self.sample]

    def correct(self, gate: str, limit: float, reset_s: float, result: Any, valid: Any = 1) -> None:
        """Use the result if the innovation passes its gate, or has been rejected for too long."""
        x, p, surprise = result
        index = GATES.index(gate)
        waited = self.refused[index]
        usual = surprise[0] <= limit**2
        taken = ca.logic_and(valid, ca.logic_or(usual, waited > reset_s))
        self.x, self.p = ca.if_else(taken, x, self.x), ca.if_else(taken, p, self.p)
        self.refused = ca.SX(self.refused)
        # A small time for the first rejection: from then on the elapsed time is added.
        self.refused[index] = ca.if_else(taken, 0, ca.fmax(waited, 1e-6) * valid)

    def function(self) -> ca.Function:
        return ca.Function(self._name, self._inputs, [self.x, self.p, self.refused])


def correct_by_field(config: NavigationConfig, field: Field) -> ca.Function:
    judge = _Judge(config, MAGNETOMETER, "nav_magnetometer")
    strength = ca.norm_2(judge.sample)
    earths = ca.fabs(strength / field.strength_T - 1) <= config.field_tolerance
    z = ca.vertcat(judge.sample, field.azimuth_rad, config.heading_std_rad**2)
    result = ekf.correct_heading()(judge.x, judge.p, z)
    judge.correct("magnetometer", config.heading_gate, config.heading_reset_s, result, earths)
    return judge.function()


def correct_by_barometer(config: NavigationConfig) -> ca.Function:
    judge = _Judge(config, BAROMETER, "nav_barometer")
    z = ca.vertcat(judge.sample, config.baro_std_m**2, 1)
    result = ekf.correct_height()(judge.x, judge.p, z, ca.SX.zeros(ekf.LATE))
    judge.correct("barometer", config.gate, config.baro_reset_s, result)
    return judge.function()


def correct_by_fix(config: NavigationConfig) -> ca.Function:
    judge = _Judge(config, GNSS, "nav_gnss")
    age, pos, vel = judge.sample[0], judge.sample[1:4], judge.sample[4:7]
    eph, epv = ca.fmax(judge.sample[7], config.gnss_eph_floor_m), ca.fmax(judge.sample[8], config.gnss_epv_floor_m)
    vel_variance = config.gnss_vel_std_m_s**2

    def late() -> Any:
        accel = judge.x[ekf.LAST_FORCE] - ca.vertcat(0, 0, config.gravity_m_s2)
        return ca.vertcat(age, accel * age, accel * age**2 / 2)

    measurements = (
        ("position", ekf.correct_position(), ca.vertcat(pos[0], pos[1], eph**2)),
        ("velocity", ekf.correct_velocity(), ca.vertcat(vel, *(vel_variance,) * 3)),
        ("height", ekf.correct_height(), ca.vertcat(pos[2], epv**2, 0)),
    )
    for gate, correction, z in measurements:
        judge.correct(gate, config.gate, config.gnss_reset_s, correction(judge.x, judge.p, z, late()))
    return judge.function()


def _believed() -> ca.Function:
    memory = ca.SX.sym("memory", MEMORY)
    ready = memory[READY] > 0.5
    p = memory[P]
    level = ca.vertcat(ca.SX.zeros(6), 1, ca.SX.zeros(6))
    variances = ca.vertcat(
        p[_DIAGONAL[0]] + p[_DIAGONAL[1]],
        p[_DIAGONAL[2]],
        p[_DIAGONAL[6]] + p[_DIAGONAL[7]] + memory[EPH] ** 2,
        p[_DIAGONAL[8]] + memory[EPV] ** 2,
    )
    motion = ca.if_else(ready, ekf.motion(memory[X]), level)
    return ca.Function("nav_believed", [memory], [ca.vertcat(motion, ca.sqrt(ca.fmax(variances, 0)))])
