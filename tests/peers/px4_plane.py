"""A PX4 for planes that judges its simulator as `px4_peer.py` does, and flies by what it measures alone.

Nothing of the bench is used here. The pilot knows HIL_SENSOR and HIL_GPS: attitude from gyro, accelerometer, GNSS
acceleration and magnetometer, airspeed from differential pressure, height from the barometer. It takes off, climbs and
loiters about the place of its launch. Body FRD, world NED; positive controls roll right, pitch up, yaw right.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from peers.px4_peer import Command, Expected, Px4Peer

GRAVITY = 9.80665
EARTH_M = 6.371e6
PLANE = Expected(airspeed_Hz=50.0)
CRUISE_M_S = 20.0
LOITER_M = 130.0
CLIMB_RAD = math.radians(12.0)
FLYING_M_S = 12.0
STILL_AIR_M_S = 5.0
"""Most that airspeed and GNSS speed differ in still air, with their noise and the receiver's delay."""
AT_REST_HPA = 0.5


class PlanePilot:
    """Samples in, controls out: aileron, elevator, rudder, throttle."""

    def __init__(self, climb_m: float = 80.0) -> None:
        self.climb_m = climb_m
        self.taking_off = False  # whether the motor may run
        self.airspeed_m_s = 0.0
        self.height_m = 0.0  # above the launch
        self.place_m = np.zeros(2)  # north and east of it
        self.ground_vel_N = np.zeros(3)
        self.lat_deg = self.lon_deg = self.alt_m = math.nan
        self._R = np.eye(3)  # NED from FRD
        self.rate = np.zeros(3)
        self._accel_N = np.zeros(3)
        self._force = np.array([0.0, 0.0, -GRAVITY])
        self._aligned = self._turns = 0
        self._pressures_hPa: list[float] = []
        self._density = 1.2
        self._origin: tuple[float, float] | None = None
        self._fix_us = 0
        self._up = self._throttle = 0.0  # integrals
        self._loitering = False

    # What it measures

    def imu(self, accel: Any, rate: Any, dt_s: float) -> None:
        accel, self.rate = np.array(accel), np.array(rate)
        if not self.taking_off:  # at rest: tilt is what the accelerometer says
            self._aligned += 1
            self._force += (accel - self._force) / min(self._aligned, 250)
            self._align()
            return
        # Of the specific force that this attitude would feel, the measured one shows the error.
        felt = self._R.T @ (self._accel_N - np.array([0.0, 0.0, GRAVITY]))
        self._force += 0.02 * (accel - self._force)
        wrong = np.cross(self._force, felt) / GRAVITY**2
        turn = (self.rate + 0.15 * wrong) * dt_s
        x, y, z = turn
        self._R = self._R @ (np.eye(3) + np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]))
        self._turns += 1
        if self._turns % 25 == 0:
            q, r = np.linalg.qr(self._R)
            self._R = q * np.sign(np.diag(r))

    def _align(self, yaw: float | None = None) -> None:
        fx, fy, fz = self._force
        roll, pitch = math.atan2(-fy, -fz), math.atan2(fx, math.hypot(fy, fz))
        yaw = self.yaw if yaw is None else yaw
        cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
        self._R = np.array(
            [
                [cp * cy, sr * sp * cy - cr * sy, cr * sp * cy + sr * sy],
                [cp * sy, sr * sp * sy + cr * cy, cr * sp * sy - sr * cy],
                [-sp, sr * cp, cr * cp],
            ]
        )

    def field(self, field_G: Any) -> None:
        north, east, _ = self._R @ np.array(field_G)
        off = -math.atan2(east, north)  # declination is left out: a loiter does not care
        if not self.taking_off:
            self._align(self.yaw + 0.2 * off)
            return
        c, s = math.cos(0.01 * off), math.sin(0.01 * off)
        self._R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ self._R

    def air(self, pressure_hPa: float, celsius: float) -> None:
        self._density = 100.0 * pressure_hPa / (287.05 * (celsius + 273.15))
        if not self.taking_off:
            self._pressures_hPa = [*self._pressures_hPa[-99:], pressure_hPa]
        ground = sum(self._pressures_hPa) / len(self._pressures_hPa)
        height_m = (celsius + 273.15) * 287.05 / GRAVITY * math.log(ground / pressure_hPa)
        self.height_m += 0.3 * (height_m - self.height_m)

    def pitot(self, pressure_hPa: float) -> None:
        airspeed_m_s = math.sqrt(max(0.0, 2.0 * 100.0 * pressure_hPa / self._density))
        self.airspeed_m_s += 0.2 * (airspeed_m_s - self.airspeed_m_s)

    def fix(self, g: Any) -> None:
        vel_N = np.array([g.vn, g.ve, g.vd]) / 100.0
        dt_s = (g.time_usec - self._fix_us) / 1e6
        if self._fix_us and dt_s > 0.0:
            self._accel_N += 0.5 * ((vel_N - self.ground_vel_N) / dt_s - self._accel_N)
        self._fix_us, self.ground_vel_N = g.time_usec, vel_N
        self.lat_deg, self.lon_deg, self.alt_m = g.lat / 1e7, g.lon / 1e7, g.alt / 1e3
        if self._origin is None or not self.taking_off:
            self._origin = self.lat_deg, self.lon_deg
        north = math.radians(self.lat_deg - self._origin[0]) * EARTH_M
        east = math.radians(self.lon_deg - self._origin[1]) * EARTH_M * math.cos(math.radians(self.lat_deg))
        self.place_m = np.array([north, east])

    def age_s(self, t_us: int) -> float:
        """Since the newest fix was measured."""
        return (t_us - self._fix_us) / 1e6

    @property
    def ready(self) -> bool:
        return self._origin is not None and self._aligned > 500

    @property
    def roll(self) -> float:
        return math.atan2(self._R[2, 1], self._R[2, 2])

    @property
    def pitch(self) -> float:
        return -math.asin(max(-1.0, min(1.0, self._R[2, 0])))

    @property
    def yaw(self) -> float:
        return math.atan2(self._R[1, 0], self._R[0, 0])

    # What it does

    def controls(self, dt_s: float) -> tuple[float, float, float, float]:
        if not self.taking_off:
            return 0.0, 0.0, 0.0, 0.0
        if self.height_m > self.climb_m - 10.0:
            self._loitering = True
        flying = self.airspeed_m_s > FLYING_M_S
        roll = self._bank() if self.height_m > 25.0 else 0.0
        pitch, throttle = CLIMB_RAD, 1.0
        if self._loitering:
            slow = CRUISE_M_S - self.airspeed_m_s
            self._throttle = _within(self._throttle + 0.02 * slow * dt_s, 0.3)
            throttle = max(0.0, min(1.0, 0.58 + 0.08 * slow + self._throttle))
            low = self.climb_m - self.height_m
            pitch = math.radians(6.0) + _within(0.012 * low + 0.03 * self.ground_vel_N[2], math.radians(10.0))
        if flying:
            self._up = _within(self._up + 0.5 * (pitch - self.pitch) * dt_s, 0.4)
        p, q, _ = self.rate
        aileron = 0.6 * (roll - self.roll) - 0.08 * p
        elevator = 1.2 * (pitch - self.pitch) - 0.25 * q + self._up + 0.15 * abs(math.tan(self.roll))
        return _within(aileron, 1.0), _within(elevator, 1.0), 0.0, throttle

    def _bank(self) -> float:
        """Clockwise about the launch: the course that leads onto the circle."""
        north, east = self.place_m
        away_m, bearing = math.hypot(north, east), math.atan2(east, north)
        course = bearing + math.pi / 2 + _within(math.atan((away_m - LOITER_M) / 60.0), 1.2)
        vn, ve, _ = self.ground_vel_N
        off = (course - math.atan2(ve, vn) + math.pi) % math.tau - math.pi
        speed = max(10.0, math.hypot(vn, ve))
        return _within(1.2 * off + math.atan(speed**2 / (GRAVITY * max(LOITER_M, away_m))), math.radians(32.0))


class Px4PlanePeer(Px4Peer):
    """Arms and takes off when it is told (`arm`, `take_off`), once its pilot knows where it is."""

    KIND = mavlink.MAV_TYPE_FIXED_WING

    def __init__(self, *, pilot: PlanePilot | None = None, wind_m_s: float = 0.0, **settings: Any) -> None:
        settings.setdefault("expected", PLANE)
        super().__init__(command=self._fly, **settings)
        self.pilot = pilot or PlanePilot()
        self._wind_m_s = wind_m_s
        self.wants_arming = False
        self._controlled_us = 0
        self._strange_speeds = 0

    def arm(self) -> bool:
        self.wants_arming = self.pilot.ready
        return self.wants_arming

    def take_off(self, climb_m: float | None = None) -> bool:
        self.pilot.climb_m = climb_m or self.pilot.climb_m
        self.pilot.taking_off = self.armed or self.wants_arming
        return self.pilot.taking_off

    def _fly(self, t_us: int) -> Command:
        dt_s, self._controlled_us = (t_us - self._controlled_us) / 1e6, t_us
        return self.wants_arming, self.pilot.controls(dt_s)

    def _judge_sensor(self, s: Any, now_us: int | None) -> bytes:
        mask, pilot = s.fields_updated, self.pilot
        if mask & 0x3F == 0x3F:
            dt_s = (s.time_usec - self.time_usec) / 1e6 if self.samples else 0.0
            pilot.imu((s.xacc, s.yacc, s.zacc), (s.xgyro, s.ygyro, s.zgyro), dt_s)
        if mask & 0x1C0 == 0x1C0:
            pilot.field((s.xmag, s.ymag, s.zmag))
        if mask & 0x1A00 == 0x1A00:
            pilot.air(s.abs_pressure, s.temperature)
        if mask & 0x400:
            pilot.pitot(s.diff_pressure)
            if not self._ever_armed and abs(s.diff_pressure) > AT_REST_HPA + self._wind_hPa():
                self._complain("pitot at rest", f"On the catapult diff_pressure is {s.diff_pressure:.2f} hPa.")
        return super()._judge_sensor(s, now_us)

    def _judge_gps(self, g: Any, now_us: int | None) -> None:
        super()._judge_gps(g, now_us)
        self.pilot.fix(g)
        speed_m_s = math.sqrt(g.vn**2 + g.ve**2 + g.vd**2) / 100.0
        off = abs(speed_m_s - self.pilot.airspeed_m_s)
        strange = speed_m_s > FLYING_M_S and off > STILL_AIR_M_S + self._wind_m_s
        self._strange_speeds = self._strange_speeds + 1 if strange else 0
        if self._strange_speeds > 10:  # longer than a launch
            self._complain(
                "airspeed",
                f"diff_pressure makes {self.pilot.airspeed_m_s:.1f} m/s, but GNSS says {speed_m_s:.1f} m/s.",
            )

    def _wind_hPa(self) -> float:
        return 0.5 * 1.25 * self._wind_m_s**2 / 100.0


def _within(value: float, most: float) -> float:
    return max(-most, min(most, value))
