"""Log rows of one virtual Pixhawk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple
from time import monotonic_ns

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Severity
from aeroloop.controllers.pixhawk.virtual_pixhawk import VirtualPixhawk
from aeroloop.core.frames import Vec3
from aeroloop.core.parameter_numbers import by_number
from aeroloop.core.signals import NS, Event
from aeroloop.core.stream import Publish
from aeroloop.core.text_rows import numbers_of
from aeroloop.exchanges.signal_counts import SignalCounts
from aeroloop.ground.mavlink_pilot import MavlinkPilot
from aeroloop.world.earth import Earth

NAV_PERIOD_NS = NS // 50
STATE_PERIOD_NS = NS // 10
COUNTERS_PERIOD_NS = NS
TOLD = {
    "attitude": dialect.MAVLINK_MSG_ID_ATTITUDE,
    "position": dialect.MAVLINK_MSG_ID_GLOBAL_POSITION_INT,
    "heartbeat": dialect.MAVLINK_MSG_ID_HEARTBEAT,
}
"""Telemetry whose rate is measured at the pilot, by its name in LINK_SIGNALS."""
_NOTHING = (math.nan,) * 10


class PixhawkLog:
    def __init__(
        self,
        vehicle: int,
        pixhawk: VirtualPixhawk,
        earth: Earth,
        imu_hz: float,
        gnss_hz: float,
        publish: Mapping[str, Publish],
        remark: Callable[[str], None],
    ) -> None:
        """`remark` is for messages to the user after the flight."""
        self._remark = remark
        self._vehicle, self._earth, self._publish = vehicle, earth, publish
        self._nav_ns = self._state_ns = self._told_ns = 0
        rates = {name: pixhawk.telemetry_hz(message) for name, message in TOLD.items()}
        sensors = {"IMU": imu_hz, **({"GNSS": gnss_hz} if gnss_hz else {})}
        self._counts = SignalCounts({**sensors, **rates}, publish["telemetry_count"])
        self._imu = self._counts["IMU"]
        self._heard = dict.fromkeys(TOLD, 0)
        self.follow(pixhawk)

    def follow(self, pixhawk: VirtualPixhawk) -> None:
        """One that has just started; the rows go on."""
        self._pixhawk = pixhawk
        self._offset_W: Vec3 | None = None  # of the estimate's origin in the plant's frame
        self._doing: tuple[bool, FlightMode, Failsafe, int] | None = None
        self._fixes = self._not_finite = self._dead_rotor = self._bad_targets = 0
        self._gate_alarms = pixhawk.navigation.gate_alarms
        self._parameters = pixhawk.parameters
        self._numbers = {name: number for number, name in enumerate(by_number(self._parameters.names))}
        self._values = {name: self._parameters.get(name) for name in self._numbers}
        self._parameters.watch(self._note_parameter)
        pixhawk.services.on_text = self._note_text

    def note(self, t_ns: int, samples: int) -> None:
        """After every step, with its samples."""
        pixhawk = self._pixhawk
        if samples:
            self._imu.crossed(monotonic_ns(), samples)
        if self._fixes != pixhawk.fixes:
            self._fixes = pixhawk.fixes
            self._counts["GNSS"].crossed(monotonic_ns())
        if pixhawk.decided_ns != t_ns:
            return
        if pixhawk.logic.doing != self._doing:
            self._note_changes(t_ns)
        if pixhawk.law_not_finite != self._not_finite:
            self._not_finite = pixhawk.law_not_finite
            self._log_event(t_ns, Event.LAW_NOT_FINITE, self._not_finite)
        if (alarms := pixhawk.navigation.gate_alarms) != self._gate_alarms:
            self._note_estimator(t_ns, alarms)
        if pixhawk.dead_rotor != self._dead_rotor:
            self._dead_rotor = pixhawk.dead_rotor
            self._log_event(t_ns, Event.ROTOR_LOST, self._dead_rotor)
        if t_ns >= self._nav_ns:
            self._nav_ns += NAV_PERIOD_NS
            self._note_navigation(t_ns)
        if t_ns >= self._state_ns:
            self._state_ns += STATE_PERIOD_NS
            self._note_state(t_ns)
        if t_ns >= self._told_ns:
            self._told_ns += COUNTERS_PERIOD_NS
            self._publish_counts(t_ns)

    def note_pilot(self, t_ns: int, pilot: MavlinkPilot) -> None:
        """Messages received by the pilot, and commands that the pilot gave up."""
        for name, message in TOLD.items():
            while self._heard[name] < pilot.received.get(message, 0):
                self._heard[name] += 1
                self._counts[name].crossed(monotonic_ns())
        for given_up in pilot.given_up:
            self._log_event(t_ns, Event.COMMAND_REFUSED, given_up.number)
            command = f"command {given_up.number} ({given_up.pilot_command.do})"
            at = f"at {t_ns / NS:.1f} s"
            self._remark(f"vehicle {self._vehicle}: the pilot aborted {command} {at}: {given_up.reason}")
        pilot.given_up.clear()
        pilot.done_so_far.clear()  # the autopilot's reaction is logged

    def _note_parameter(self, name: str) -> None:
        old, new = self._values[name], self._parameters.get(name)
        self._values[name] = new
        if new != old:
            row = self._numbers[name], old, new
            self._publish["parameter_change"](self._pixhawk.t_ns / NS, *row)

    def _note_text(self, t_ns: int, severity: Severity, text: str) -> None:
        self._publish["status_text"](t_ns / NS, severity, *numbers_of(text))

    def close(self) -> None:
        self._publish_counts(self._pixhawk.t_ns)

    def _publish_counts(self, t_ns: int) -> None:
        self._counts.publish(t_ns)
        if self._bad_targets != self._pixhawk.services.bad_landing_targets:  # once for all since the last time
            self._bad_targets = self._pixhawk.services.bad_landing_targets
            self._log_event(t_ns, Event.LANDING_TARGETS_REFUSED, self._bad_targets)
        self._publish["board_link"](t_ns / NS, *astuple(self._pixhawk.counters))

    def _note_navigation(self, t_ns: int) -> None:
        logic = self._pixhawk.logic
        estimate, origin = logic.estimate, logic.origin
        if estimate is None or origin is None:
            return
        if self._offset_W is None:
            self._offset_W = self._earth.pos_W(origin.lat_deg, origin.lon_deg, origin.alt_m)
        x, y, z = self._offset_W
        east, north, up = estimate.pos_W
        stds = estimate.tilt_std_rad, estimate.yaw_std_rad, estimate.pos_std_m, estimate.height_std_m
        row = (x + east, y + north, z + up, *estimate.vel_W, *estimate.quat_WB, *stds)
        self._publish["estimate"](t_ns / NS, *row)
        setpoint, attitude = logic.setpoint, self._pixhawk.attitude
        if setpoint is None or attitude is None:
            self._publish["setpoint"](t_ns / NS, *_NOTHING)
            return
        east, north, up = setpoint.pos_W
        level = (x + east, y + north) if setpoint.hold_xy else (math.nan, math.nan)
        height = z + up if setpoint.hold_z else math.nan
        self._publish["setpoint"](t_ns / NS, *level, height, *setpoint.vel_W, *attitude)

    def _note_estimator(self, t_ns: int, alarms: tuple[int, ...]) -> None:
        for gate, (count, before) in enumerate(zip(alarms, self._gate_alarms, strict=True)):
            if count != before and "estimator" in self._publish:
                self._publish["estimator"](t_ns / NS, gate, count)
        self._gate_alarms = alarms

    def _note_state(self, t_ns: int) -> None:
        self._publish["autopilot_state"](t_ns / NS, *self._pixhawk.logic.state)

    def _note_changes(self, t_ns: int) -> None:
        before, self._doing = self._doing, self._pixhawk.logic.doing
        if before is None:
            return
        was_armed, old_mode, old_failsafe, reached_before = before
        armed, mode, failsafe, reached = self._doing
        if armed != was_armed:
            self._log_event(t_ns, Event.ARMED if armed else Event.DISARMED, 0.0)
        if mode != old_mode:
            self._log_event(t_ns, Event.MODE_CHANGED, mode)
        if failsafe != old_failsafe:
            self._log_event(t_ns, Event.FAILSAFE, failsafe)
        if reached != reached_before and reached >= 0:
            self._log_event(t_ns, Event.WAYPOINT_REACHED, reached)

    def _log_event(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["board_event"](t_ns / NS, event, value)
