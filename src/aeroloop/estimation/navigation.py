"""Navigation filter of an autopilot: position, velocity and attitude from its sensors alone.

    imu ─▶ propagate, every sample ─▶ covariance, every 10 ms ─▶ estimate
                 ▲ corrections: magnetometer (yaw), barometer (height), fixes (position, velocity, height; late)

It begins at standstill (`alignment.py`), which gives the attitude; the first good fix sets the origin. An aircraft that
starts in the air gets its initial motion instead (`begin_in_air`). The barometer determines the height, and fixes
slowly correct its offset. Without fixes, dead reckoning keeps the position valid for a while; the next fix resets it.
Without fixes the speed is assumed to be small, which keeps the attitude level. North is magnetic until the first fix
gives the position.

Treatment of bad input (each case is counted in `counts`):
- numbers that are not finite, or that no sensor can produce: the sample is ignored (`..._absurd`);
- a time equal to or before the last one of the same sensor: ignored (`..._repeated`, `..._backwards`); a clock that
  restarts needs a new Navigation;
- a gap in the IMU: bridged by the samples before and after, with more variance; over one longer than `gap_max_s` the
  state is held, and the position is lost until the next fix (`imu_gap`);
- a fix that is older than the history, or far ahead of the IMU: ignored (`gnss_late`, `gnss_early`);
- equal fixes from a receiver that had noise at first: it is stuck, so they are ignored (`gnss_stuck`);
- a filter state that is not finite: it restarts at the next standstill (`diverged`).
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable

from aeroloop.core import geodesy
from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.signals import NS, NavEstimate, Origin, new_tuple
from aeroloop.estimation import ekf, validity
from aeroloop.estimation.alignment import NORTH_RAD, Alignment, RestDetector
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.error_state import ErrorState, Evaluatorlike, Runner
from aeroloop.estimation.gate import Gate, Stuck
from aeroloop.estimation.history import History, Moment

EARLY_NS = NS
"""A fix may be ahead of the IMU by less than this, and then waits for it."""
UNAIDED_PERIOD_NS = NS // 10
FREE = 1e8
"""A variance that carries no information."""
LOST_M = 100.0
"""Possible error of the height that is counted from an old origin."""
SHORT_S = 0.01
"""A short standstill says little of the gyroscope's bias: assumed for an aircraft that starts in the air."""
TURN_M_S = 3.0
"""A change of velocity that agrees with fixes only if the heading is right."""


class Navigation:
    def __init__(
        self,
        config: NavigationConfig,
        runner: Runner,
        field_at: Callable[[float, float, float], Vec3],
    ) -> None:
        """`field_at` is the earth's field in tesla, east north up, at a latitude and longitude in degrees and an
        altitude in m."""
        self._config, self._field_at = config, field_at
        self._filter = ErrorState(config, runner)
        self._period_ns = round(config.covariance_period_s * NS)
        self._gap_ns, self._gap_max_ns = round(config.gap_s * NS), round(config.gap_max_s * NS)
        self._reckoning_ns, self._height_ns = round(config.dead_reckoning_s * NS), round(config.height_lost_s * NS)
        self._history = History(math.ceil(config.history_s * NS / self._period_ns) + 1)
        self.origin: Origin | None = None
        self.counts: Counter[str] = Counter()
        self.heard_ns: dict[str, int] = {}
        """Time of each sensor's last valid sample: imu, magnetometer, barometer, gnss; fix for a good one."""
        self._azimuth, self._strength_T = NORTH_RAD, 0.0  # of the field, as far as known
        self._eph_m = self._epv_m = 0.0  # of the last fix that was used
        self._stuck = Stuck()
        self._begin()

    def _begin(self) -> None:
        config = self._config
        self._standstill: RestDetector | None = RestDetector(config)
        self.aligned = False  # whether the alignment at standstill is done
        self._gates = {
            "magnetometer": Gate(config.heading_gate, config.heading_reset_s),
            "barometer": Gate(config.gate, config.baro_reset_s),
            "position": Gate(config.gate, config.gnss_reset_s),
            "velocity": Gate(config.gate, config.gnss_reset_s),
            "height": Gate(config.gate, config.gnss_reset_s),
        }
        self._t_ns = self._aligned_ns = self._covariance_ns = self._unaided_ns = 0
        self._fixed_ns: int | None = None  # the last time a fix corrected our position
        self._offset_known = False
        self._refused_vel: tuple[float, float] | None = None  # when the magnetometer was first rejected
        self._vouched = False
        self._waiting: deque[tuple[int, Vec3, Vec3, float, float]] = deque(maxlen=8)
        self._estimate: NavEstimate | None = None
        self._estimate_of = -1  # the filter's change counter when it was made
        self._history.clear()

    # Output.

    @property
    def estimate(self) -> NavEstimate | None:
        """At the time of the last IMU sample; None before the first alignment."""
        if self._standstill is not None:
            return None
        if self._estimate_of != self._filter.changes:
            self._estimate, self._estimate_of = self._estimated(), self._filter.changes
        return self._estimate

    @property
    def state(self) -> Vec:
        """As in `ekf.py`, always the same array: for a law that runs with every sample."""
        return self._filter.x

    @property
    def innovation_ratio(self) -> dict[str, float]:
        """Squared ratio of each measurement's last innovation to its gate; above 1 it was rejected."""
        return {name: gate.ratio for name, gate in self._gates.items()}

    @property
    def gate_alarms(self) -> tuple[int, ...]:
        """How often several measurements in a row were rejected, of each gate."""
        return tuple(gate.alarms for gate in self._gates.values())

    @property
    def accepted_ns(self) -> dict[str, int]:
        """Time at which each measurement was last accepted; without those that never were."""
        return {name: gate.accepted_ns for name, gate in self._gates.items() if gate.accepted_ns is not None}

    @property
    def gyro_bias_B(self) -> Vec3:
        x, y, z = self._filter.x[ekf.GYRO_BIAS].tolist()
        return x, y, z

    @property
    def accel_bias_B(self) -> Vec3:
        x, y, z = self._filter.x[ekf.ACCEL_BIAS].tolist()
        return x, y, z

    @property
    def covariance(self) -> Vec:
        """Of the errors: attitude (in W), velocity, position, biases of gyroscope and accelerometer, barometer."""
        return ekf.unpacked(self._filter.p)

    def local(self, lat_deg: float, lon_deg: float, alt_m: float) -> Vec3:
        """Needs an origin."""
        return geodesy.local(self._placed(), lat_deg, lon_deg, alt_m)

    def geodetic(self, pos_W: Vec3) -> tuple[float, float, float]:
        """Needs an origin."""
        return geodesy.geodetic(self._placed(), pos_W)

    def _placed(self) -> Origin:
        if self.origin is None:
            raise ValueError("navigation: no origin before the first good fix")
        return self.origin

    def _estimated(self) -> NavEstimate:
        config, t_ns = self._config, self._t_ns
        x = self._filter.x.tolist()
        tilt2, yaw2, pos2, height2 = self._filter.variances()
        tilt_std, yaw_std = math.sqrt(tilt2), math.sqrt(yaw2)
        # Errors of fixes are correlated over minutes, so averaging does not reduce them.
        pos_std, height_std = math.sqrt(pos2 + self._eph_m**2), math.sqrt(height2 + self._epv_m**2)
        attitude_ok = tilt_std <= config.tilt_std_max_rad
        fields = (
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
        return new_tuple(NavEstimate, fields)

    def _aided(self) -> bool:
        return self._fixed_ns is not None and self._t_ns - self._fixed_ns <= self._reckoning_ns

    def _height_aided(self) -> bool:
        gates, t_ns = self._gates, self._t_ns
        return gates["barometer"].recent(t_ns, self._height_ns) or gates["height"].recent(t_ns, self._height_ns)

    # Input.

    def imu(self, t_ns: int, rate_B: Vec3, accel_B: Vec3) -> None:
        """Gyroscope in rad/s and accelerometer (specific force) in m/s2."""
        if not validity.imu(rate_B, accel_B):
            self.counts["imu_absurd"] += 1
            return
        heard_ns = self.heard_ns
        if t_ns > heard_ns.get("imu", -1):  # as `_timely`, without a call, since it runs with every sample
            heard_ns["imu"] = t_ns
        elif not self._timely("imu", t_ns):
            return
        dt_ns, self._t_ns = t_ns - self._t_ns, t_ns
        if self._standstill is not None:
            if dt_ns > self._gap_ns and self._standstill.begun:
                self.counts["imu_gap"] += 1
                self._standstill = RestDetector(self._config)
            aligned = self._standstill.imu(t_ns, rate_B, accel_B)
            if aligned is not None:
                self._start(aligned, rate_B)
            return
        held_ns = dt_ns if dt_ns > self._gap_max_ns else 0
        if dt_ns > self._gap_ns:
            self._cross_gap(dt_ns)
        self._filter.imu((dt_ns - held_ns) / NS, rate_B, accel_B)
        if t_ns - self._covariance_ns >= self._period_ns:
            self._move_on((t_ns - self._covariance_ns - held_ns) / NS)
        while self._waiting and self._waiting[0][0] <= t_ns and self._standstill is None:
            self._fix(*self._waiting.popleft())

    def magnetometer(self, t_ns: int, field_B_T: Vec3) -> None:
        strength_T = math.hypot(*field_B_T)
        if not validity.field(strength_T):
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
                # Not the earth's field, so it never sets the heading, however long it lasts.
                gate.ratio, gate.refused_since_ns = off**2, None
                return
        self._filter.measure_heading(field_B_T, self._azimuth, config.heading_std_rad**2)
        if self._correct(self._filter.heading, "magnetometer"):
            self._refused_vel, self._vouched = None, False
            return
        vouched = self._heading_is_vouched_for()
        if gate.overdue(self._t_ns) and not vouched:
            self._filter.turn(float(self._filter.heading.outputs[2][1]))
            self._filter.forget({2: config.heading_std_rad**2})
            gate.accept(self._t_ns)
            self.counts["heading_reset"] += 1

    def barometer(self, t_ns: int, altitude_m: float) -> None:
        """Pressure altitude."""
        if not validity.altitude(altitude_m):
            self.counts["barometer_absurd"] += 1
            return
        if not self._timely("barometer", t_ns):
            return
        if self._standstill is not None:
            self._standstill.barometer(altitude_m)
            return
        gate, variance = self._gates["barometer"], self._config.baro_std_m**2
        self._filter.measure_altitude(altitude_m, variance)
        if not self._offset_known:
            self._set_offset(altitude_m)
        elif not self._correct(self._filter.height, "barometer") and gate.overdue(self._t_ns):
            self.counts["barometer_reset"] += 1
            if self._gates["height"].recent(self._t_ns, self._reckoning_ns):
                self._set_offset(altitude_m)
            else:
                self._filter.x[9] = altitude_m - self._filter.x[ekf.BARO]
                self._filter.forget({8: variance, 5: 1.0})
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
        if not validity.fix(lat_deg, lon_deg, alt_m, vel_W, eph_m, epv_m):
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

    # Propagation.

    def _start(self, aligned: Alignment, rate_B: Vec3) -> None:
        self._filter.start(aligned, self._azimuth - NORTH_RAD, rate_B)
        if self.origin is not None:
            self._filter.loosen_height(LOST_M)
        self._offset_known = aligned.baro_m is not None
        if aligned.baro_m is not None:
            self._filter.x[ekf.BARO] = aligned.baro_m
            self._gates["barometer"].accept(self._t_ns)
        self._take_over()

    def _take_over(self) -> None:
        """Use the filter from now on."""
        self._standstill, self.aligned = None, True
        self._aligned_ns = self._covariance_ns = self._unaided_ns = self._t_ns
        self._remember()

    def begin_in_air(self, origin: Origin, pos_W: Vec3, vel_W: Vec3, quat_WB: Quat) -> None:
        """Start with a known motion at time 0, as if it had been aligned and flown here."""
        lat_deg, lon_deg, alt_m = origin.lat_deg, origin.lon_deg, origin.alt_m
        self.origin = origin
        self._azimuth, self._strength_T = _azimuth_and_strength(self._field_at(lat_deg, lon_deg, alt_m))
        self._filter.start(Alignment(quat_WB, (0.0, 0.0, 0.0), SHORT_S, True, None), 0.0, (0.0, 0.0, 0.0))
        self._filter.x[ekf.VEL], self._filter.x[ekf.POS] = vel_W, pos_W
        self._fixed_ns = self._t_ns
        for name in ("position", "velocity", "height"):
            self._gates[name].accept(self._t_ns)
        self._take_over()

    def _move_on(self, dt_s: float) -> None:
        """Propagate the covariance to now."""
        self._filter.move_covariance(dt_s)
        self._covariance_ns = self._t_ns
        if not self._filter.finite:
            self.counts["diverged"] += 1
            self._begin()
            return
        self._remember()
        if not self._aided() and self._t_ns - self._unaided_ns >= UNAIDED_PERIOD_NS:
            self._unaided_ns = self._t_ns
            slow = self._config.unaided_vel_std_m_s**2
            self._filter.velocity.inputs[2][:] = (0.0, 0.0, 0.0, slow, slow, FREE if self._height_aided() else slow)
            self._filter.velocity.inputs[3][:] = 0.0
            self._correct(self._filter.velocity, None)

    def _remember(self) -> None:
        self._history.append(self._now())

    def _cross_gap(self, dt_ns: int) -> None:
        self.counts["imu_gap"] += 1
        config, unseen_s = self._config, min(dt_ns, self._gap_max_ns) / NS
        self._filter.loosen(
            (
                (ekf.D_ANGLE, config.gap_rate_rad_s * unseen_s),
                (ekf.D_VEL, config.gap_accel_m_s2 * unseen_s),
                (ekf.D_POS, config.gap_accel_m_s2 * unseen_s**2 / 2),
            )
        )
        if dt_ns > self._gap_max_ns:
            self._fixed_ns = None
            self._history.clear()

    def _correct(self, correction: Evaluatorlike, name: str | None) -> bool:
        """Apply a measurement that has been filled in; without a name it is not gated."""
        if name is None:
            return self._filter.correct(correction, None)
        gate, t_ns = self._gates[name], self._t_ns
        return self._filter.correct(correction, lambda surprise2: gate.passes(t_ns, surprise2))

    def _now(self) -> Moment:
        return (self._t_ns, *self._filter.x[17:23].tolist())

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
        self._filter.position.inputs[2][:] = (pos_W[0], pos_W[1], eph_m**2)
        self._filter.velocity.inputs[2][:] = (*vel_W, *(vel_variance,) * 3)
        self._filter.height.inputs[2][:] = (pos_W[2], epv_m**2, 0.0)
        for correction in (self._filter.position, self._filter.velocity, self._filter.height):
            correction.inputs[3][:] = late
        if self._correct(self._filter.position, "position"):
            self._fixed_ns = self._t_ns
        self._correct(self._filter.velocity, "velocity")
        if position.overdue(self._t_ns) or velocity.overdue(self._t_ns):
            self._set_position(pos_W, vel_W, late, eph_m)
        if not self._correct(self._filter.height, "height") and height.overdue(self._t_ns):
            self.counts["height_reset"] += 1
            off_m = float(self._filter.height.outputs[2][1])
            self._filter.x[9] += off_m
            self._filter.x[ekf.BARO] -= off_m
            self._filter.loosen_height(epv_m)
            height.accept(self._t_ns)

    # Resets.

    def _set_origin(self, place: Vec3, late: tuple[float, ...], epv_m: float) -> None:
        """Set the origin; the height counted by the barometer continues."""
        lat_deg, lon_deg, alt_m = place
        tau_s, vz_then = late[0], float(self._filter.x[6]) - late[3]
        self.origin = Origin(lat_deg, lon_deg, alt_m - (float(self._filter.x[9]) - tau_s * vz_then - late[6]))
        self._filter.loosen_height(epv_m)
        azimuth, self._strength_T = _azimuth_and_strength(self._field_at(lat_deg, lon_deg, alt_m))
        self._filter.turn(azimuth - self._azimuth)
        self._azimuth = azimuth

    def _set_position(self, pos_W: Vec3, vel_W: Vec3, late: tuple[float, ...], eph_m: float) -> None:
        if self._gates["position"].accepted_ns is not None:
            self.counts["position_reset"] += 1
        tau_s = late[0]
        for i in range(2):
            self._filter.x[7 + i] = pos_W[i] + tau_s * vel_W[i] + late[4 + i]
            self._filter.x[4 + i] = vel_W[i] + late[1 + i]
        vel_variance = self._config.gnss_vel_std_m_s**2
        self._filter.forget({3: vel_variance, 4: vel_variance, 6: eph_m**2, 7: eph_m**2})
        self._gates["position"].accept(self._t_ns)
        self._gates["velocity"].accept(self._t_ns)
        self._fixed_ns = self._t_ns

    def _set_offset(self, altitude_m: float) -> None:
        """Set the offset of the barometer; the height stays."""
        self._filter.x[ekf.BARO] = altitude_m - self._filter.x[9]
        self._filter.forget({ekf.D_BARO: self._config.baro_std_m**2 + self._filter.variances()[3]})
        self._offset_known = True
        self._gates["barometer"].accept(self._t_ns)

    def _heading_is_vouched_for(self) -> bool:
        """Whether, since the magnetometer disagrees, fixes agreed with the filter through a change of velocity."""
        vx, vy = self._filter.x[4:6].tolist()
        if self._refused_vel is None:
            self._refused_vel = (vx, vy)
        agrees = self._aided() and self._gates["velocity"].ratio <= 1.0
        moved = math.hypot(vx - self._refused_vel[0], vy - self._refused_vel[1]) > TURN_M_S
        self._vouched = agrees and (self._vouched or moved)
        return self._vouched


def _azimuth_and_strength(field_W_T: Vec3) -> tuple[float, float]:
    return math.atan2(field_W_T[1], field_W_T[0]), math.hypot(*field_W_T)
