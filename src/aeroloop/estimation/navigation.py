"""Where am I: the navigation of an autopilot from its sensors alone.

    imu ─▶ propagate, every sample ─▶ covariance, every 10 ms ─▶ estimate
                 ▲ corrections: magnetometer (yaw), barometer (height), fixes (position, velocity, height; late)

It begins with a standstill (`alignment.py`) and then has an attitude; the first good fix makes the origin. The
barometer leads the height, and fixes pull its offset slowly. When fixes end, the position is reckoned on for a while
and then no longer good; the next fix sets it anew. Without fixes the speed is taken to be small, which keeps the
attitude upright. North is magnetic until the first fix says where we are.

What it does with bad input (each is counted in `counts`):
- numbers that are not finite, or that no sensor gives: the sample is ignored (`..._absurd`);
- a time again or a time before the last one of the same sensor: ignored (`..._repeated`, `..._backwards`); a clock that
  starts anew needs a new Navigation;
- a gap in the IMU: bridged by what came before and after, with less trust; over one longer than `gap_max_s` the state
  is held, and the position is lost until the next fix (`imu_gap`);
- a fix that is older than the history, or far ahead of the IMU: ignored (`gnss_late`, `gnss_early`);
- fixes that are all the same from a receiver that jittered at first: it hangs, so they are none (`gnss_stuck`);
- a filter that is not finite any more: it starts anew at the next standstill (`diverged`).
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

import casadi as ca
import numpy as np

from aeroloop.core import geodesy
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import NS, NavEstimate, Origin
from aeroloop.estimation import ekf, sound
from aeroloop.estimation.alignment import NORTH_RAD, Alignment, Standstill
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.gate import Gate, Stuck
from aeroloop.estimation.history import History, Moment

EARLY_NS = NS
"""A fix may be ahead of the IMU by less than this, and then waits for it."""
UNAIDED_PERIOD_NS = NS // 10
FREE = 1e8
"""A variance that says nothing."""
LOST_M = 100.0
"""How far off the height may be that is counted anew from an origin of long ago."""
TURN_M_S = 3.0
"""A change of velocity that fixes cannot agree with unless the heading is right."""


class Evaluatorlike(Protocol):
    """Fill `inputs`, call, read `outputs`; columns only."""

    inputs: list[Vec]
    outputs: list[Vec]

    def __call__(self) -> None: ...


class Navigation:
    def __init__(
        self,
        config: NavigationConfig,
        runner: Callable[[ca.Function], Evaluatorlike],
        field_at: Callable[[float, float, float], Vec3],
    ) -> None:
        """`runner` makes functions run, interpreted or compiled; `field_at` is the earth's field in tesla, east north
        up, at a latitude and longitude in degrees and an altitude in m."""
        self._config, self._field_at = config, field_at
        noise = ekf.Noise(
            config.gyro_noise, config.accel_noise, config.gyro_bias_walk, config.accel_bias_walk, config.baro_walk
        )
        self._propagate = runner(ekf.propagate(config.gravity_m_s2))
        self._predict = runner(ekf.predict(noise, config.gravity_m_s2))
        self._heading = runner(ekf.correct_heading())
        self._height = runner(ekf.correct_height())
        self._position = runner(ekf.correct_position())
        self._velocity = runner(ekf.correct_velocity())
        # The state and the covariance live where those who need them most often read them.
        self._x, self._p = self._propagate.inputs[0], self._predict.inputs[1]
        self._period_ns = round(config.covariance_period_s * NS)
        self._gap_ns, self._gap_max_ns = round(config.gap_s * NS), round(config.gap_max_s * NS)
        self._reckoning_ns, self._height_ns = round(config.dead_reckoning_s * NS), round(config.height_lost_s * NS)
        self._history = History(math.ceil(config.history_s * NS / self._period_ns) + 1)
        self.origin: Origin | None = None
        self.counts: Counter[str] = Counter()
        self.heard_ns: dict[str, int] = {}
        """When each sensor's last sound sample was taken: imu, magnetometer, barometer, gnss; fix for a good one."""
        self._azimuth, self._strength_T = NORTH_RAD, 0.0  # of the field, as far as known
        self._eph_m = self._epv_m = 0.0  # of the last fix that was used
        self._stuck = Stuck()
        self._begin()

    def _begin(self) -> None:
        config = self._config
        self._standstill: Standstill | None = Standstill(config)
        self._gates = {
            "magnetometer": Gate(config.heading_gate, config.heading_reset_s),
            "barometer": Gate(config.gate, config.baro_reset_s),
            "position": Gate(config.gate, config.gnss_reset_s),
            "velocity": Gate(config.gate, config.gnss_reset_s),
            "height": Gate(config.gate, config.gnss_reset_s),
        }
        self._t_ns = self._aligned_ns = self._covariance_ns = self._unaided_ns = 0
        self._felt = (0.0, 0.0, 0.0)  # v_I when the covariance was last moved on
        self._fixed_ns: int | None = None  # the last time that a fix held our position
        self._offset_known = False
        self._refused_vel: tuple[float, float] | None = None  # when the magnetometer was first refused
        self._vouched = False
        self._waiting: deque[tuple[int, Vec3, Vec3, float, float]] = deque(maxlen=8)
        self._estimate: NavEstimate | None = None
        self._history.clear()

    # What comes out.

    @property
    def aligned(self) -> bool:
        return self._standstill is None

    @property
    def estimate(self) -> NavEstimate | None:
        """As of the last IMU sample; None before the standstill that it begins with."""
        if self._standstill is not None:
            return None
        if self._estimate is None:
            self._estimate = self._estimated()
        return self._estimate

    @property
    def innovation_ratio(self) -> dict[str, float]:
        """Of each measurement's last surprise to the greatest believed, squared; above 1 it was refused."""
        return {name: gate.ratio for name, gate in self._gates.items()}

    @property
    def accepted_ns(self) -> dict[str, int]:
        """When each measurement was last believed; without those that never were."""
        return {name: gate.accepted_ns for name, gate in self._gates.items() if gate.accepted_ns is not None}

    @property
    def gyro_bias_B(self) -> Vec3:
        x, y, z = self._x[ekf.GYRO_BIAS].tolist()
        return x, y, z

    @property
    def accel_bias_B(self) -> Vec3:
        x, y, z = self._x[ekf.ACCEL_BIAS].tolist()
        return x, y, z

    @property
    def covariance(self) -> Vec:
        """Of the errors: attitude (in W), velocity, position, biases of gyroscope and accelerometer, barometer."""
        return ekf.unpacked(self._p)

    def local(self, lat_deg: float, lon_deg: float, alt_m: float) -> Vec3:
        """Needs an origin."""
        return geodesy.local(self._placed(), lat_deg, lon_deg, alt_m)

    def geodetic(self, pos_W: Vec3) -> tuple[float, float, float]:
        """Needs an origin."""
        return geodesy.geodetic(self._placed(), pos_W)

    def _placed(self) -> Origin:
        if self.origin is None:
            raise ValueError("navigation: there is no origin before the first good fix")
        return self.origin

    def _estimated(self) -> NavEstimate:
        config, t_ns = self._config, self._t_ns
        x = self._x.tolist()
        tilt2, yaw2, pos2, height2 = self._variances()
        tilt_std, yaw_std = math.sqrt(tilt2), math.sqrt(yaw2)
        # Fixes are wrong together for minutes, and averaging does not help against that.
        pos_std, height_std = math.sqrt(pos2 + self._eph_m**2), math.sqrt(height2 + self._epv_m**2)
        attitude_ok = tilt_std <= config.tilt_std_max_rad
        return NavEstimate(
            t_ns,
            (x[7], x[8], x[9]),
            (x[4], x[5], x[6]),
            (x[0], x[1], x[2], x[3]),
            (x[23] - x[10], x[24] - x[11], x[25] - x[12]),
            tilt_std,
            yaw_std,
            pos_std,
            height_std,
            attitude_ok,
            attitude_ok and height_std <= config.height_std_max_m and self._height_aided(),
            attitude_ok and self._aided() and pos_std <= config.pos_std_max_m and yaw_std <= config.yaw_std_max_rad,
        )

    def _variances(self) -> tuple[float, float, float, float]:
        """Tilt, yaw, horizontal position, height."""
        v = self._p[ekf.DIAGONAL].tolist()
        return v[0] + v[1], v[2], v[6] + v[7], v[8]

    def _aided(self) -> bool:
        return self._fixed_ns is not None and self._t_ns - self._fixed_ns <= self._reckoning_ns

    def _height_aided(self) -> bool:
        gates, t_ns = self._gates, self._t_ns
        return gates["barometer"].recent(t_ns, self._height_ns) or gates["height"].recent(t_ns, self._height_ns)

    # What goes in.

    def imu(self, t_ns: int, rate_B: Vec3, accel_B: Vec3) -> None:
        """Gyroscope in rad/s and accelerometer (specific force) in m/s2."""
        if not sound.imu(rate_B, accel_B):
            self.counts["imu_absurd"] += 1
            return
        if not self._timely("imu", t_ns):
            return
        dt_ns, self._t_ns = t_ns - self._t_ns, t_ns
        if self._standstill is not None:
            if dt_ns > self._gap_ns and self._standstill.begun:
                self.counts["imu_gap"] += 1
                self._standstill = Standstill(self._config)
            aligned = self._standstill.imu(t_ns, rate_B, accel_B)
            if aligned is not None:
                self._start(aligned, rate_B, accel_B)
            return
        held_ns = dt_ns if dt_ns > self._gap_max_ns else 0
        if dt_ns > self._gap_ns:
            self._cross_gap(dt_ns)
        self._propagate.inputs[1][:] = ((dt_ns - held_ns) / NS, *rate_B, *accel_B)
        self._propagate()
        self._x[:] = self._propagate.outputs[0]
        self._estimate = None
        if t_ns - self._covariance_ns >= self._period_ns:
            self._move_on((t_ns - self._covariance_ns - held_ns) / NS)
        while self._waiting and self._waiting[0][0] <= t_ns and self._standstill is None:
            self._fix(*self._waiting.popleft())

    def magnetometer(self, t_ns: int, field_B_T: Vec3) -> None:
        strength_T = math.hypot(*field_B_T)
        if not sound.field(strength_T):
            self.counts["magnetometer_absurd"] += 1
            return
        if not self._timely("magnetometer", t_ns):
            return
        if self._standstill is not None:
            self._standstill.magnetometer(field_B_T)
            return
        gate, config = self._gates["magnetometer"], self._config
        if self._strength_T:
            off = abs(strength_T / self._strength_T - 1.0) / config.field_tolerance
            if off > 1.0:
                # Not the earth's field, so however long it lasts the heading is not set by it.
                gate.ratio, gate.refused_since_ns = off**2, None
                return
        self._heading.inputs[2][:] = (*field_B_T, self._azimuth, config.heading_std_rad**2)
        if self._correct(self._heading, "magnetometer"):
            self._refused_vel, self._vouched = None, False
            return
        vouched = self._heading_is_vouched_for()
        if gate.overdue(self._t_ns) and not vouched:
            self._turn(float(self._heading.outputs[2][1]), config.heading_std_rad**2)
            gate.accept(self._t_ns)
            self.counts["heading_reset"] += 1

    def barometer(self, t_ns: int, altitude_m: float) -> None:
        """Pressure altitude."""
        if not sound.altitude(altitude_m):
            self.counts["barometer_absurd"] += 1
            return
        if not self._timely("barometer", t_ns):
            return
        if self._standstill is not None:
            self._standstill.barometer(altitude_m)
            return
        gate, variance = self._gates["barometer"], self._config.baro_std_m**2
        self._height.inputs[2][:] = (altitude_m, variance, 1.0)
        self._height.inputs[3][:] = 0.0
        if not self._offset_known:
            self._set_offset(altitude_m)
        elif not self._correct(self._height, "barometer") and gate.overdue(self._t_ns):
            self.counts["barometer_reset"] += 1
            if self._gates["height"].recent(self._t_ns, self._reckoning_ns):
                self._set_offset(altitude_m)
            else:
                self._x[9] = altitude_m - self._x[ekf.BARO]
                self._forget({8: variance, 5: 1.0})
                gate.accept(self._t_ns)

    def gnss(
        self,
        t_ns: int,
        lat_deg: float,
        lon_deg: float,
        alt_m: float,
        vel_W: Vec3,
        eph_m: float,
        epv_m: float,
        fix: bool,
    ) -> None:
        """A report measured at `t_ns`, which may be a while ago."""
        if not sound.fix(lat_deg, lon_deg, alt_m, vel_W, eph_m, epv_m):
            self.counts["gnss_absurd"] += 1
            return
        if t_ns - self._t_ns >= EARLY_NS and self._t_ns:
            self.counts["gnss_early"] += 1
            return
        if not self._timely("gnss", t_ns):
            return
        config = self._config
        if not fix or eph_m > config.gnss_eph_max_m or epv_m > config.gnss_epv_max_m:
            self.counts["gnss_no_fix"] += 1
            return
        if self._stuck.again((lat_deg, lon_deg, alt_m, *vel_W)):
            self.counts["gnss_stuck"] += 1
            return
        self.heard_ns["fix"] = t_ns
        if self._standstill is not None or t_ns < self._aligned_ns:
            return
        eph_m, epv_m = max(eph_m, config.gnss_eph_floor_m), max(epv_m, config.gnss_epv_floor_m)
        report = (t_ns, (lat_deg, lon_deg, alt_m), vel_W, eph_m, epv_m)
        if t_ns > self._t_ns:
            self._waiting.append(report)
        else:
            self._fix(*report)

    def _timely(self, sensor: str, t_ns: int) -> bool:
        last_ns = self.heard_ns.get(sensor)
        if last_ns is not None and t_ns <= last_ns:
            self.counts[f"{sensor}_repeated" if t_ns == last_ns else f"{sensor}_backwards"] += 1
            return False
        self.heard_ns[sensor] = t_ns
        return True

    # How the filter moves.

    def _start(self, aligned: Alignment, rate_B: Vec3, accel_B: Vec3) -> None:
        config, x = self._config, self._x
        x[:] = 0.0
        x[ekf.QUAT] = aligned.quat_WB
        self._turn(self._azimuth - NORTH_RAD, None)
        x[ekf.GYRO_BIAS] = aligned.gyro_bias_B
        x[ekf.LAST_RATE] = rate_B
        x[ekf.LAST_FORCE] = (0.0, 0.0, config.gravity_m_s2)
        spread = np.zeros(ekf.ERRORS)
        spread[ekf.D_ANGLE] = (0.005, 0.005, config.heading_std_rad if aligned.heading else math.pi)
        spread[ekf.D_VEL] = spread[ekf.D_POS] = 0.1
        spread[ekf.D_GYRO] = math.hypot(config.gyro_noise / math.sqrt(aligned.duration_s), 10 * config.gyro_bias_walk)
        spread[ekf.D_BARO] = config.baro_std_m
        # Whatever bias the accelerometer has, we have levelled by it: R b = dtheta x g.
        tilted = np.zeros((ekf.ERRORS, 3))
        R = np.array(ekf.rotation(ca.DM(x[ekf.QUAT])))
        tilted[0], tilted[1] = -R[1] / config.gravity_m_s2, R[0] / config.gravity_m_s2
        tilted[ekf.D_ACCEL] = np.eye(3)
        self._p[:] = ekf.packed(np.diag(spread**2) + config.accel_bias_std**2 * tilted @ tilted.T)
        if self.origin is not None:
            self._loosen_height(LOST_M)
        self._offset_known = aligned.baro_m is not None
        if aligned.baro_m is not None:
            x[ekf.BARO] = aligned.baro_m
            self._gates["barometer"].accept(self._t_ns)
        self._standstill, self._estimate = None, None
        self._aligned_ns = self._covariance_ns = self._unaided_ns = self._t_ns
        self._felt = (0.0, 0.0, 0.0)
        self._remember()

    def _move_on(self, dt_s: float) -> None:
        """The covariance, to now."""
        x = self._x
        vx, vy, vz = x[ekf.VEL_I].tolist()
        ux, uy, uz = self._felt
        self._predict.inputs[0][:] = x
        self._predict.inputs[2][:] = (dt_s, vx - ux, vy - uy, vz - uz)
        self._predict()
        self._p[:] = self._predict.outputs[0]
        self._felt, self._covariance_ns = (vx, vy, vz), self._t_ns
        if not math.isfinite(float(x.sum() + self._p.sum())):
            self.counts["diverged"] += 1
            self._begin()
            return
        self._remember()
        if not self._aided() and self._t_ns - self._unaided_ns >= UNAIDED_PERIOD_NS:
            self._unaided_ns = self._t_ns
            slow = self._config.unaided_vel_std_m_s**2
            self._velocity.inputs[2][:] = (0.0, 0.0, 0.0, slow, slow, FREE if self._height_aided() else slow)
            self._velocity.inputs[3][:] = 0.0
            self._correct(self._velocity, None)

    def _remember(self) -> None:
        self._history.append(self._now())

    def _cross_gap(self, dt_ns: int) -> None:
        self.counts["imu_gap"] += 1
        config, unseen_s = self._config, min(dt_ns, self._gap_max_ns) / NS
        P = ekf.unpacked(self._p)
        for block, std in (
            (ekf.D_ANGLE, config.gap_rate_rad_s * unseen_s),
            (ekf.D_VEL, config.gap_accel_m_s2 * unseen_s),
            (ekf.D_POS, config.gap_accel_m_s2 * unseen_s**2 / 2),
        ):
            P[block, block] += std**2 * np.eye(3)
        self._p[:] = ekf.packed(P)
        if dt_ns > self._gap_max_ns:
            self._fixed_ns = None
            self._history.clear()

    def _correct(self, correction: Evaluatorlike, name: str | None) -> bool:
        """With a measurement that has been filled in; without a name it is not judged."""
        correction.inputs[0][:] = self._x
        correction.inputs[1][:] = self._p
        correction()
        if name is not None and not self._gates[name].passes(self._t_ns, float(correction.outputs[2][0])):
            return False
        self._x[:] = correction.outputs[0]
        self._p[:] = correction.outputs[1]
        self._estimate = None
        return True

    def _now(self) -> Moment:
        return (self._t_ns, *self._x[17:23].tolist())

    def _fix(self, t_ns: int, place: Vec3, vel_W: Vec3, eph_m: float, epv_m: float) -> None:
        late = self._history.since(t_ns, self._now())
        if late is None:
            self.counts["gnss_late"] += 1
            return
        position, velocity, height = (self._gates[name] for name in ("position", "velocity", "height"))
        if self.origin is None:
            self._set_origin(place, late, epv_m)
        self._eph_m, self._epv_m = eph_m, epv_m
        pos_W = self.local(*place)
        if not self._aided():
            self._set_position(pos_W, vel_W, late, eph_m)
        vel_variance = self._config.gnss_vel_std_m_s**2
        self._position.inputs[2][:] = (pos_W[0], pos_W[1], eph_m**2)
        self._velocity.inputs[2][:] = (*vel_W, *(vel_variance,) * 3)
        self._height.inputs[2][:] = (pos_W[2], epv_m**2, 0.0)
        for correction in (self._position, self._velocity, self._height):
            correction.inputs[3][:] = late
        if self._correct(self._position, "position"):
            self._fixed_ns = self._t_ns
        self._correct(self._velocity, "velocity")
        if position.overdue(self._t_ns) or velocity.overdue(self._t_ns):
            self._set_position(pos_W, vel_W, late, eph_m)
        if not self._correct(self._height, "height") and height.overdue(self._t_ns):
            self.counts["height_reset"] += 1
            off_m = float(self._height.outputs[2][1])
            self._x[9] += off_m
            self._x[ekf.BARO] -= off_m
            self._loosen_height(epv_m)
            height.accept(self._t_ns)

    # Beginning anew, in part.

    def _set_origin(self, place: Vec3, late: tuple[float, ...], epv_m: float) -> None:
        """The height that the barometer has counted so far goes on."""
        lat_deg, lon_deg, alt_m = place
        tau_s, vz_then = late[0], float(self._x[6]) - late[3]
        self.origin = Origin(lat_deg, lon_deg, alt_m - (float(self._x[9]) - tau_s * vz_then - late[6]))
        self._loosen_height(epv_m)
        field_W = self._field_at(lat_deg, lon_deg, alt_m)
        azimuth = math.atan2(field_W[1], field_W[0])
        self._turn(azimuth - self._azimuth, None)
        self._azimuth, self._strength_T = azimuth, math.hypot(*field_W)

    def _set_position(self, pos_W: Vec3, vel_W: Vec3, late: tuple[float, ...], eph_m: float) -> None:
        if self._gates["position"].accepted_ns is not None:
            self.counts["position_reset"] += 1
        tau_s = late[0]
        for i in range(2):
            self._x[7 + i] = pos_W[i] + tau_s * vel_W[i] + late[4 + i]
            self._x[4 + i] = vel_W[i] + late[1 + i]
        vel_variance = self._config.gnss_vel_std_m_s**2
        self._forget({3: vel_variance, 4: vel_variance, 6: eph_m**2, 7: eph_m**2})
        self._gates["position"].accept(self._t_ns)
        self._gates["velocity"].accept(self._t_ns)
        self._fixed_ns = self._t_ns

    def _set_offset(self, altitude_m: float) -> None:
        """Of the barometer: our height stays."""
        self._x[ekf.BARO] = altitude_m - self._x[9]
        self._forget({ekf.D_BARO: self._config.baro_std_m**2 + self._variances()[3]})
        self._offset_known = True
        self._gates["barometer"].accept(self._t_ns)

    def _loosen_height(self, std_m: float) -> None:
        """Height and offset of the barometer together are as sure as before, but not where they part."""
        P = ekf.unpacked(self._p)
        P[8, 8] += std_m**2
        P[15, 15] += std_m**2
        P[8, 15] -= std_m**2
        P[15, 8] -= std_m**2
        self._p[:] = ekf.packed(P)
        self._estimate = None

    def _turn(self, yaw_rad: float, variance: float | None) -> None:
        """About the vertical."""
        w, x, y, z = self._x[ekf.QUAT].tolist()
        c, s = math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
        self._x[ekf.QUAT] = (c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w)
        self._estimate = None
        if variance is not None:
            self._forget({2: variance})

    def _heading_is_vouched_for(self) -> bool:
        """Whether, since the magnetometer disagrees, fixes agreed with us through a change of velocity."""
        vx, vy = self._x[4:6].tolist()
        if self._refused_vel is None:
            self._refused_vel = (vx, vy)
        agrees = self._aided() and self._gates["velocity"].ratio <= 1.0
        moved = math.hypot(vx - self._refused_vel[0], vy - self._refused_vel[1]) > TURN_M_S
        self._vouched = agrees and (self._vouched or moved)
        return self._vouched

    def _forget(self, variances: dict[int, float]) -> None:
        """Errors by their index that are now unlike all others, and as large as this."""
        P = ekf.unpacked(self._p)
        for i, variance in variances.items():
            P[i, :] = P[:, i] = 0.0
            P[i, i] = variance
        self._p[:] = ekf.packed(P)
        self._estimate = None
