"""A PX4 that judges its simulator: bytes in, answers and complaints out; no I/O and no clock of its own.

It is written from what PX4 does and rejects (docs/px4-hil.md), with pymavlink alone, so that it shares no code with
what it judges. In SITL it connects, answers nothing for the first HIL_SENSORs, then answers in lockstep. In HITL it
streams actuators by the time it is given. What it checks: order, clock, units, field masks, rates, stale data, and
whether the sensors tell of one flight (one_flight.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from peers.one_flight import OneFlight, Vec, norm

GROUPS = {
    "accelerometer": 0x7,
    "gyro": 0x38,
    "magnetometer": 0x1C0,
    "barometer": 0x1A00,
    "differential pressure": 0x400,
}
FASTEST_ANSWER_US = 4000
RATE_WINDOW_US = 2_000_000
UNDER_WAY = 25
"""Samples that may be on their way already when the first answer goes out, since the simulator runs free until then."""
GNSS_HOLD_US = 3_000_000
"""HIL_GPS may be held back this long."""
STALE_AFTER = 50
"""Equal samples in a row."""
NOISY = {"accelerometer", "gyro", "magnetometer", "barometer"}
"""Sensors whose data is never constant; a GNSS receiver at rest may well repeat itself."""

Command = tuple[bool, Sequence[float]]  # armed, controls


@dataclass(frozen=True)
class Expected:
    """Rates that the simulator was configured for, in Hz; airspeed 0 means none."""

    sensor_Hz: float = 250.0
    magnetometer_Hz: float = 50.0
    barometer_Hz: float = 50.0
    gnss_Hz: float = 10.0
    airspeed_Hz: float = 0.0


def disarmed(_t_us: int) -> Command:
    return False, ()


def armed_from(t_us: int, throttle: float = 0.6) -> Callable[[int], Command]:
    """Arms at a time and gives four motors a constant throttle."""
    return lambda now_us: (now_us >= t_us, (throttle,) * 4)


@dataclass
class _Seen:
    """How a group of values behaves over time."""

    last: tuple[float, ...] = ()
    equal: int = 0
    count: int = 0
    window: int = 0


class Px4Peer:
    """`connect`, then `receive` whatever came; `complaints` tells everything that was wrong so far."""

    KIND = mavlink.MAV_TYPE_QUADROTOR

    def __init__(
        self,
        *,
        hitl: bool = False,
        expected: Expected | None = None,
        command: Callable[[int], Command] = disarmed,
        silent_samples: int = 17,
        first_answer_late: bool = False,
        hold_answer_of_sample: int | None = None,
        home_deg: tuple[float, float] | None = None,
        year: float = 2026.0,
        system: int = 1,
    ) -> None:
        self.complaints: list[str] = []
        self.samples = 0
        self.fixes = 0
        self.answers = 0
        self.time_usec = 0
        self.armed = False
        self.holding = False
        self._hitl = hitl
        self._expected = expected or Expected()
        self._command = command
        self._silent = silent_samples
        self._first_late = first_answer_late  # the very first names the sample before
        self._before_us = 0
        self._hold_at = hold_answer_of_sample
        self._held = b""
        self._said: set[str] = set()
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True
        self._out = mavlink.MAVLink(None, srcSystem=system, srcComponent=1)
        self._sequence: int | None = None
        self._first_us = 0
        self._period_us = 1e6 / self._expected.sensor_Hz
        self._since_answer_us: int | None = None
        self._answered_in_chunk = False
        self._ever_armed = False
        self._seen = {name: _Seen() for name in (*GROUPS, "GNSS")}
        self._rates_from_us = 0
        self._fix_us: int | None = None
        self._flight = OneFlight(self._complain, home_deg, year)
        self._heartbeat_us: int | None = None
        self._next_actuators_us: int | None = None

    # What PX4 sends

    def connect(self) -> bytes:
        """SITL: the one wish and the one heartbeat with which PX4 begins."""
        interval = mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
        params = (mavlink.MAVLINK_MSG_ID_HIL_STATE_QUATERNION, 5000, 0, 0, 0, 0, 0)
        wish = mavlink.MAVLink_command_long_message(0, 0, interval, 0, *params)
        beat = mavlink.MAVLink_heartbeat_message(self.KIND, mavlink.MAV_AUTOPILOT_PX4, 1, 0, 3, 3)
        return self._pack(wish) + self._pack(beat)

    def receive(self, chunk: bytes, now_us: int | None = None) -> bytes:
        """What PX4 answers to these bytes; `now_us` is the time of their arrival, which only HITL cares about."""
        answers = b""
        self._answered_in_chunk = False
        for message in self._parser.parse_buffer(chunk) or ():
            answers += self._judge(message, now_us)
        if self._hitl and now_us is not None:
            answers += self._stream(now_us)
        return answers

    def release(self) -> bytes:
        """The answer held back, once the simulator has been seen to wait for it."""
        self.holding, held, self._held = False, self._held, b""
        return held

    def finish(self) -> list[str]:
        """The verdict at the end of a flight: all complaints, empty if PX4 is satisfied."""
        if self.samples == 0:
            self._complain("silence", "No HIL_SENSOR ever came.")
        elif self.time_usec - self._first_us > GNSS_HOLD_US + RATE_WINDOW_US and self.fixes == 0:
            self._complain("silence", "No HIL_GPS ever came.")
        return self.complaints

    def _pack(self, message: Any) -> bytes:
        wire: bytes = message.pack(self._out)
        self._out.seq = (self._out.seq + 1) & 0xFF
        return wire

    def _actuators(self, t_us: int, flags: int) -> bytes:
        self.armed, controls = self._command(t_us)
        self._ever_armed = self._ever_armed or self.armed
        shown = [*controls, *[0.0] * 16][:16] if self.armed else [0.0] * 16
        self.answers += 1
        return self._pack(mavlink.MAVLink_hil_actuator_controls_message(t_us, shown, 129 if self.armed else 1, flags))

    def _stream(self, now_us: int) -> bytes:
        """HITL: 200 Hz, whatever comes in."""
        out = b""
        if self._next_actuators_us is None:
            self._next_actuators_us = now_us
        while self._next_actuators_us <= now_us:
            out += self._actuators(self._next_actuators_us, 0)
            self._next_actuators_us += 5000
        return out

    # Judging

    def _complain(self, kind: str, words: str) -> None:
        """Each kind once: the first is the cause, the thousandth only its echo."""
        if kind not in self._said:
            self._said.add(kind)
            self.complaints.append(f"{self.time_usec / 1e6:.3f} s: {words}")

    def _judge(self, message: Any, now_us: int | None) -> bytes:
        name = message.get_type()
        if name == "BAD_DATA":
            self._complain("frame", f"Bytes that are no MAVLink frame: {message.reason}.")
            return b""
        number = message.get_seq()
        if self._sequence is not None and number != (self._sequence + 1) & 0xFF:
            self._complain("sequence", f"Frame number {number} follows {self._sequence}: frames are missing.")
        self._sequence = number
        if name == "HIL_SENSOR":
            return self._judge_sensor(message, now_us)
        if name == "HIL_GPS":
            self._judge_gps(message, now_us)
        elif name == "HIL_STATE_QUATERNION" and self._hitl:
            self._complain("truth", "HIL_STATE_QUATERNION in HITL overwrites attitude and position.")
        elif name == "HEARTBEAT":
            self._heartbeat_us = now_us
        return b""

    def _judge_sensor(self, s: Any, now_us: int | None) -> bytes:
        if self.holding:
            self._complain("order", "HIL_SENSOR came before the one before was answered: the simulator does not wait.")
        t_us = now_us if self._hitl and now_us is not None else s.time_usec
        dt_us = self._judge_clock(t_us, s.time_usec)
        self.samples += 1
        if s.id != 0:
            self._complain("id", f"HIL_SENSOR has id {s.id}, not 0: it does not drive PX4's clock.")
        updated = self._judge_mask(s.fields_updated)
        accel, rate = (s.xacc, s.yacc, s.zacc), (s.xgyro, s.ygyro, s.zgyro)
        if {"accelerometer", "gyro"} <= updated:
            self._judge_imu(accel, rate, t_us, dt_us)
        if "magnetometer" in updated:
            self._judge_field((s.xmag, s.ymag, s.zmag), t_us)
        if "barometer" in updated:
            self._judge_air(s.abs_pressure, s.pressure_alt, s.temperature)
        if "differential pressure" in updated:
            self._note("differential pressure", (s.diff_pressure,))
            if not abs(s.diff_pressure) < 100:
                self._complain("units", f"diff_pressure {s.diff_pressure:g} is not hPa.")
        self._judge_rates(t_us)
        if self._hitl:
            self._judge_heartbeat(t_us)
            return b""
        return self._lockstep(t_us)

    def _lockstep(self, t_us: int) -> bytes:
        if self.samples <= self._silent:
            return b""
        if self._since_answer_us is not None:
            # Rounding of periods like 1/300 s must not cost an answer.
            if t_us - self._since_answer_us < FASTEST_ANSWER_US - 2:
                return b""
            if self._answered_in_chunk and self.answers > UNDER_WAY:
                self._complain(
                    "order", "Two HIL_SENSOR at once, before the first was answered: the simulator does not wait."
                )
        self._since_answer_us = t_us
        self._answered_in_chunk = True
        answer = self._actuators(self._before_us if self._first_late and not self.answers else t_us, 1)
        if self._hold_at is not None and self.samples >= self._hold_at:
            self._hold_at, self.holding, self._held = None, True, answer
            return b""
        return answer

    def _judge_clock(self, t_us: int, time_usec: int) -> int:
        if self.samples == 0:
            self._first_us = self._rates_from_us = self.time_usec = t_us
            if not self._hitl and not 0 < time_usec <= 1_000_000:
                self._complain("clock", f"time_usec starts at {time_usec}, not near zero.")
            return 0
        step = t_us - self.time_usec
        self._before_us = self.time_usec
        if step <= 0:
            self._complain("clock", f"time_usec went back or stood still: {self.time_usec}, then {t_us}.")
            return 0
        if step > 2.5 * self._period_us and not self._hitl:
            self._complain("clock", f"time_usec jumped by {step} us; a sample is due every {self._period_us:.0f} us.")
        self.time_usec = t_us
        return step

    def _judge_mask(self, mask: int) -> set[str]:
        updated = set()
        for name, bits in GROUPS.items():
            if mask & bits == bits:
                updated.add(name)
            elif mask & bits:
                self._complain("mask", f"fields_updated {mask:#x} has only part of the {name}'s bits {bits:#x}.")
        if mask & ~0x1FFF:
            self._complain("mask", f"fields_updated {mask:#x} has bits that mean nothing here.")
        if not {"accelerometer", "gyro"} <= updated:
            self._complain("mask", f"fields_updated {mask:#x}: accelerometer and gyro must be new in every HIL_SENSOR.")
        return updated

    def _note(self, name: str, values: tuple[float, ...]) -> None:
        seen = self._seen[name]
        seen.count += 1
        seen.window += 1
        seen.equal = seen.equal + 1 if values == seen.last else 0
        seen.last = values
        if seen.equal >= STALE_AFTER and name in NOISY:
            self._complain(f"stale {name}", f"The {name} gives constant data: PX4 calls it stale.")
        if not all(map(math.isfinite, values)):
            self._complain(f"finite {name}", f"The {name} gives values that are not finite: {values}.")

    def _judge_rates(self, t_us: int) -> None:
        span_us = t_us - self._rates_from_us
        if span_us == 0:
            # The first sample opens the window; those after it are counted.
            for seen in self._seen.values():
                seen.window = 0
        if span_us < RATE_WINDOW_US:
            return
        want = self._expected
        table = {
            "accelerometer": want.sensor_Hz,
            "gyro": want.sensor_Hz,
            "magnetometer": want.magnetometer_Hz,
            "barometer": want.barometer_Hz,
            "differential pressure": want.airspeed_Hz,
            "GNSS": want.gnss_Hz,
        }
        for name, rate_Hz in table.items():
            due, seen = rate_Hz * span_us / 1e6, self._seen[name]
            held_back = name == "GNSS" and self._rates_from_us - self._first_us < GNSS_HOLD_US
            few, many = due * 0.95 - 1.5, due * 1.05 + 1.5
            if seen.window > many or (seen.window < few and not held_back):
                self._complain(
                    f"rate {name}",
                    f"The {name} came at {seen.window * 1e6 / span_us:.1f} Hz instead of {rate_Hz:g} Hz.",
                )
            seen.window = 0
        self._rates_from_us = t_us

    def _judge_heartbeat(self, t_us: int) -> None:
        last = self._first_us if self._heartbeat_us is None else self._heartbeat_us
        if t_us - last > 2_500_000:
            self._complain("heartbeat", "No HEARTBEAT for 2.5 s: one a second is due.")

    def _judge_imu(self, accel: Vec, rate: Vec, t_us: int, dt_us: int) -> None:
        self._note("accelerometer", accel)
        self._note("gyro", rate)
        if norm(accel) > 300:
            self._complain("units", f"The accelerometer gives {norm(accel):.0f}: not m/s2.")
        if norm(rate) > 60:
            self._complain("units", f"The gyro gives {norm(rate):.0f}: not rad/s.")
        self._flight.imu(t_us, dt_us, accel, rate, at_rest=not self._ever_armed)

    def _judge_field(self, field_G: Vec, t_us: int) -> None:
        self._note("magnetometer", field_G)
        if 0.15 <= norm(field_G) <= 0.8:
            self._flight.field(t_us, field_G)
        else:
            self._complain("units", f"The magnetometer's norm is {norm(field_G):.3g}: not gauss (tesla?).")

    def _judge_air(self, pressure_hPa: float, altitude_m: float, temperature_C: float) -> None:
        self._note("barometer", (pressure_hPa, altitude_m, temperature_C))
        if not 200 <= pressure_hPa <= 1100:
            self._complain("units", f"abs_pressure {pressure_hPa:g} is not hPa (Pa?).")
            return
        if not -60 <= temperature_C <= 70:
            self._complain("units", f"temperature {temperature_C:g} is not degrees C (kelvin?).")
        self._flight.air(pressure_hPa, altitude_m)

    def _judge_gps(self, g: Any, now_us: int | None) -> None:
        if self.samples == 0:
            self._complain("order", "HIL_GPS came before the first HIL_SENSOR.")
            return
        t_us = now_us if self._hitl and now_us is not None else g.time_usec
        if self._fix_us is not None and t_us <= self._fix_us:
            self._complain("GNSS clock", f"HIL_GPS time_usec went back or stood still: {self._fix_us}, then {t_us}.")
            return
        self._fix_us = t_us
        if not -1_000_000 <= t_us - self.time_usec <= 20_000:
            self._complain("GNSS clock", f"HIL_GPS is of {t_us} us, PX4's clock says {self.time_usec} us.")
        self.fixes += 1
        self._note("GNSS", (g.lat, g.lon, g.alt, g.vn, g.ve, g.vd))
        self._judge_fix(g)
        if abs(g.lat) <= 900_000_000 and abs(g.lon) <= 1_800_000_000:
            vel_N = g.vn / 100, g.ve / 100, g.vd / 100
            self._flight.fix(t_us, vel_N, g.lat / 1e7, g.lon / 1e7, g.alt / 1e3, at_rest=not self._ever_armed)

    def _judge_fix(self, g: Any) -> None:
        if g.fix_type != 3 or g.satellites_visible < 6:
            self._complain("fix", f"fix_type {g.fix_type} with {g.satellites_visible} satellites is no 3D fix.")
        if not (0 < g.eph <= 500 and 0 < g.epv <= 500):
            self._complain("units", f"eph {g.eph}, epv {g.epv} are not the centimetres of a good fix.")
        if abs(g.lat) > 900_000_000 or abs(g.lon) > 1_800_000_000:
            self._complain("GNSS scale", f"lat {g.lat}, lon {g.lon} are not degE7.")
        if abs(g.lat) <= 90 and abs(g.lon) <= 180:
            self._complain("GNSS scale", f"lat {g.lat}, lon {g.lon} look like degrees, not degE7.")
        speed = math.hypot(g.vn, g.ve)
        if abs(g.vel - speed) > 20:
            self._complain("GNSS speed", f"vel is {g.vel} cm/s, but vn and ve make {speed:.0f}.")
        if g.cog != 65535 and g.cog >= 36000:
            self._complain("units", f"cog {g.cog} is not centidegrees.")
        elif g.cog != 65535 and speed > 200:
            off = (g.cog / 100 - math.degrees(math.atan2(g.ve, g.vn)) + 180) % 360 - 180
            if abs(off) > 20:
                self._complain("GNSS course", f"cog is {g.cog / 100:.0f} deg, {off:.0f} deg from vn and ve.")
