"""Telemetry of an external autopilot over MAVLink, as rows of the streams that the virtual Pixhawk writes.

    ATTITUDE_QUATERNION, ATTITUDE, ODOMETRY, LOCAL_POSITION_NED, GLOBAL_POSITION_INT        estimate
    ATTITUDE_TARGET, POSITION_TARGET_LOCAL_NED                                              setpoint
    HEARTBEAT, EXTENDED_SYS_STATE, SYS_STATUS, BATTERY_STATUS, MISSION_CURRENT              autopilot_state, board_event
    STATUSTEXT                                                                              status_text

Frames and time in, rows out; no I/O. The origin of an autopilot's local frame is its first known position: the pair of
its local and its global position gives that in the plant's frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from time import monotonic_ns
from typing import NamedTuple

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk import px4_modes
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Landed
from aeroloop.core.frames import (
    Quat,
    Vec3,
    euler_from_quat,
    quat_from_euler,
    quat_ned_frd_from_enu_flu,
    rotation_rows,
)
from aeroloop.core.frames import ned_from_enu as enu_from_ned
from aeroloop.core.signals import NS, Event
from aeroloop.core.stream import Publish
from aeroloop.core.text_rows import numbers_of
from aeroloop.exchanges.signal_counts import SignalCounts
from aeroloop.ground.commands.texts import Texts
from aeroloop.protocols.flight_modes import Firmware, common_name, firmware
from aeroloop.protocols.mavlink import Frame, Message
from aeroloop.world.earth import Earth

_M = dialect
STATE_PERIOD_NS = NS // 10
COUNTERS_PERIOD_NS = NS
FRESH_NS = NS // 2
"""A position or a setpoint that is older is not used."""
SETTLED_M = 0.05
"""Smaller changes of the origin of the local frame are due to the resolution of the global position."""
UNKNOWN_MODE = 0.0
"""Instead of a number in FlightMode, for a mode that the virtual Pixhawk does not have."""
TOLD = {_M.MAVLINK_MSG_ID_ATTITUDE: "attitude", _M.MAVLINK_MSG_ID_GLOBAL_POSITION_INT: "position"}
_LANDED = {number.value: number for number in Landed}
_ATTITUDE_SOURCES = (
    _M.MAVLINK_MSG_ID_ATTITUDE_QUATERNION,
    _M.MAVLINK_MSG_ID_ODOMETRY,
    _M.MAVLINK_MSG_ID_ATTITUDE,
)
"""In order of preference: of several messages with the same content, one is logged."""
_NAN3: Vec3 = (math.nan,) * 3
Clock = Callable[[int, int], int]
"""From the autopilot's stamp and the simulated time of arrival to simulated time, all in ns."""


class Motion(NamedTuple):
    t_ns: int
    pos_W: Vec3
    vel_W: Vec3

    def at(self, t_ns: int) -> Vec3:
        dt_s = (t_ns - self.t_ns) / NS
        return tuple(p + v * dt_s for p, v in zip(self.pos_W, self.vel_W, strict=True))  # type: ignore[return-value]


class State(NamedTuple):
    """Of `autopilot_state`."""

    mode: float = UNKNOWN_MODE
    armed: float = 0.0
    landed: float = float(Landed.UNKNOWN)
    failsafe: float = float(Failsafe.NONE)
    battery: float = math.nan
    mission_current: float = 0.0


class Reported:
    """The reports of one aircraft."""

    def __init__(self, earth: Earth, clock: Clock, publish: Mapping[str, Publish]) -> None:
        self._earth, self._clock, self._publish = earth, clock, publish
        self.frames = 0
        self.t_ns = 0  # the newest time reported
        self.state: State | None = None  # None until received
        self._texts = Texts()
        self._counts = SignalCounts(dict.fromkeys((*TOLD.values(), "heartbeat"), 0.0), publish["telemetry_count"])
        self._local: Motion | None = None
        self._global: Motion | None = None
        self._offset_W: Vec3 | None = None
        self._heard: dict[int, int] = {}  # source of attitude -> time
        self._path: tuple[int, Vec3, Vec3] | None = None  # time, position and velocity of the setpoint
        self._path_alone = True  # no attitude setpoint is reported
        self._battery_told = False
        self._reached_item = -1
        self._rows_ns: dict[str, int] = {}
        self._state_ns = self._counted_ns = 0
        self._readers: dict[int, Callable[[Message, int], None]] = {
            _M.MAVLINK_MSG_ID_HEARTBEAT: self._heartbeat,
            _M.MAVLINK_MSG_ID_EXTENDED_SYS_STATE: self._extended,
            _M.MAVLINK_MSG_ID_SYS_STATUS: self._sys_status,
            _M.MAVLINK_MSG_ID_BATTERY_STATUS: self._battery,
            _M.MAVLINK_MSG_ID_MISSION_CURRENT: self._mission,
            _M.MAVLINK_MSG_ID_MISSION_ITEM_REACHED: self._reached,
            _M.MAVLINK_MSG_ID_LOCAL_POSITION_NED: self._local_position,
            _M.MAVLINK_MSG_ID_GLOBAL_POSITION_INT: self._global_position,
            _M.MAVLINK_MSG_ID_ATTITUDE_QUATERNION: self._attitude_quaternion,
            _M.MAVLINK_MSG_ID_ATTITUDE: self._attitude,
            _M.MAVLINK_MSG_ID_ODOMETRY: self._odometry,
            _M.MAVLINK_MSG_ID_ATTITUDE_TARGET: self._attitude_target,
            _M.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED: self._position_target,
        }

    def take(self, frame: Frame, now_ns: int) -> None:
        """A frame of this autopilot that arrived at `now_ns`."""
        self.frames += 1
        if frame.msg_id == _M.MAVLINK_MSG_ID_STATUSTEXT:
            for text in self._texts.handle(frame, max(self.t_ns, 0)):
                self._text(text.t_ns, text.severity, text.words)
            return
        reader = self._readers.get(frame.msg_id)
        if reader is None:
            return
        try:
            message = frame.message()
        except _M.MAVError:
            return
        t_ns = self._stamped(message, now_ns)
        if (name := TOLD.get(frame.msg_id)) is not None:
            self._counts[name].crossed(monotonic_ns())
        reader(message, t_ns)
        if self.state is not None and t_ns >= self._state_ns:
            self._state_ns = t_ns + STATE_PERIOD_NS
            self._send("autopilot_state", t_ns, *self.state)
        if t_ns >= self._counted_ns:
            self._counted_ns = t_ns + COUNTERS_PERIOD_NS
            self._counts.publish(t_ns)

    def step(self) -> None:
        """Texts whose missing chunks are no longer expected."""
        for text in self._texts.step(self.t_ns):
            self._text(text.t_ns, text.severity, text.words)

    def close(self) -> None:
        if self.frames:
            self._counts.publish(self.t_ns)

    def note(self, t_ns: int, event: Event, value: float) -> None:
        """An action of the pilot or the autopilot; messages without a stamp may appear slightly older than the last
        event."""
        self._send("board_event", max(t_ns, self._rows_ns.get("board_event", 0)), event, value)

    def _stamped(self, message: Message, now_ns: int) -> int:
        """Messages without a stamp get the newest time of one with a stamp."""
        stamp_ms, stamp_us = getattr(message, "time_boot_ms", None), getattr(message, "time_usec", None)
        if stamp_ms is not None:
            stamp_ns = stamp_ms * 1_000_000
        elif stamp_us is not None:
            stamp_ns = stamp_us * 1000
        else:
            return self.t_ns or now_ns
        t_ns = max(0, self._clock(stamp_ns, now_ns))
        self.t_ns = max(self.t_ns, t_ns)
        return t_ns

    def _send(self, stream: str, t_ns: int, *values: float) -> None:
        """Rows of a stream are in order of time: a datagram may overtake another."""
        if t_ns >= self._rows_ns.get(stream, 0):
            self._rows_ns[stream] = t_ns
            self._publish[stream](t_ns / NS, *values)

    # State.

    def _heartbeat(self, m: Message, t_ns: int) -> None:
        self._counts["heartbeat"].crossed(monotonic_ns())
        mode = _mode(m)
        failsafe = m.system_status in (_M.MAV_STATE_CRITICAL, _M.MAV_STATE_EMERGENCY)
        self._change(
            t_ns,
            mode=UNKNOWN_MODE if mode is None else float(mode),
            armed=float(bool(m.base_mode & _M.MAV_MODE_FLAG_SAFETY_ARMED)),
            failsafe=float(Failsafe.UNSPECIFIED if failsafe else Failsafe.NONE),
        )

    def _change(self, t_ns: int, **values: float) -> None:
        if self.state is None and "mode" not in values:
            return  # before its first heartbeat
        before = self.state
        self.state = now = (before or State())._replace(**values)
        if before is None or before == now:
            return
        self._state_ns = t_ns  # a row at once
        if now.armed != before.armed:
            self.note(t_ns, Event.ARMED if now.armed else Event.DISARMED, 0.0)
        if now.mode != before.mode:
            self.note(t_ns, Event.MODE_CHANGED, now.mode)
        if now.failsafe != before.failsafe:
            self.note(t_ns, Event.FAILSAFE, now.failsafe)

    def _extended(self, m: Message, t_ns: int) -> None:
        self._change(t_ns, landed=float(_LANDED.get(m.landed_state, Landed.UNKNOWN)))

    def _sys_status(self, m: Message, t_ns: int) -> None:
        if not self._battery_told and m.battery_remaining >= 0:  # BATTERY_STATUS reports each battery
            self._change(t_ns, battery=m.battery_remaining / 100)

    def _battery(self, m: Message, t_ns: int) -> None:
        if m.id == 0 and m.battery_remaining >= 0:
            self._battery_told = True
            self._change(t_ns, battery=m.battery_remaining / 100)

    def _mission(self, m: Message, t_ns: int) -> None:
        self._change(t_ns, mission_current=float(m.seq))

    def _reached(self, m: Message, t_ns: int) -> None:
        """PX4 repeats it a few times."""
        if m.seq != self._reached_item:
            self._reached_item = m.seq
            self.note(t_ns, Event.WAYPOINT_REACHED, m.seq)

    def _text(self, t_ns: int, severity: int, words: str) -> None:
        self._send("status_text", max(t_ns, self._rows_ns.get("status_text", 0)), severity, *numbers_of(words))

    # Estimate.

    def _local_position(self, m: Message, t_ns: int) -> None:
        self._take_local(t_ns, enu_from_ned((m.x, m.y, m.z)), enu_from_ned((m.vx, m.vy, m.vz)))

    def _take_local(self, t_ns: int, pos_W: Vec3, vel_W: Vec3) -> None:
        if _finite(pos_W) and _finite(vel_W):
            self._local = Motion(t_ns, pos_W, vel_W)

    def _global_position(self, m: Message, t_ns: int) -> None:
        if m.lat == m.lon == 0:  # ArduPilot before it knows its place
            return
        pos_W = self._earth.pos_W(m.lat / 1e7, m.lon / 1e7, m.alt / 1000)
        self._global = Motion(t_ns, pos_W, enu_from_ned((m.vx / 100, m.vy / 100, m.vz / 100)))
        local = self._local
        if local is None or abs(t_ns - local.t_ns) > FRESH_NS:
            return
        here = self._global.at(local.t_ns)
        offset_W = (here[0] - local.pos_W[0], here[1] - local.pos_W[1], here[2] - local.pos_W[2])
        if self._offset_W is None or math.dist(offset_W, self._offset_W) > SETTLED_M:
            self._offset_W = offset_W

    def _attitude_quaternion(self, m: Message, t_ns: int) -> None:
        self._take_attitude(_ATTITUDE_SOURCES[0], t_ns, (m.q1, m.q2, m.q3, m.q4))

    def _attitude(self, m: Message, t_ns: int) -> None:
        if _finite((m.roll, m.pitch, m.yaw)):
            self._take_attitude(_ATTITUDE_SOURCES[2], t_ns, quat_from_euler(m.roll, m.pitch, m.yaw))

    def _odometry(self, m: Message, t_ns: int) -> None:
        """Its velocity is in body axes; another source of the position has the same quality, so that this is used only
        without one."""
        quat: Quat = (m.q[0], m.q[1], m.q[2], m.q[3])
        if m.frame_id == _M.MAV_FRAME_LOCAL_NED and _unit(quat):
            vel = (m.vx, m.vy, m.vz)
            if m.child_frame_id == _M.MAV_FRAME_BODY_FRD:
                vel = tuple(sum(r * v for r, v in zip(row, vel, strict=True)) for row in rotation_rows(quat))
            if self._local is None or t_ns - self._local.t_ns > FRESH_NS:
                self._take_local(t_ns, enu_from_ned((m.x, m.y, m.z)), enu_from_ned(vel))
        self._take_attitude(_ATTITUDE_SOURCES[1], t_ns, quat)

    def _take_attitude(self, source: int, t_ns: int, quat: Quat) -> None:
        if not _unit(quat):
            return
        self._heard[source] = t_ns
        better = _ATTITUDE_SOURCES[: _ATTITUDE_SOURCES.index(source)]
        if any(t_ns - self._heard.get(other, -NS) < FRESH_NS for other in better):
            return
        place = self._placed(t_ns)
        if place is None:
            return
        quat_WB = quat_ned_frd_from_enu_flu(quat)  # its own inverse
        self._send("estimate", t_ns, *place.at(t_ns), *place.vel_W, *quat_WB, *(math.nan,) * 4)

    def _placed(self, t_ns: int) -> Motion | None:
        """In the plant's frame."""
        local, known = self._local, self._global
        if local is not None and self._offset_W is not None and abs(t_ns - local.t_ns) < FRESH_NS:
            return local._replace(pos_W=_sum(local.pos_W, self._offset_W))
        return known if known is not None and abs(t_ns - known.t_ns) < FRESH_NS else None

    # Setpoint.

    def _position_target(self, m: Message, t_ns: int) -> None:
        names = ("x", "y", "z", "vx", "vy", "vz")
        given = [math.nan if m.type_mask & 1 << bit else getattr(m, name) for bit, name in enumerate(names)]
        pos, vel = enu_from_ned((given[0], given[1], given[2])), enu_from_ned((given[3], given[4], given[5]))
        self._path = (t_ns, _NAN3 if self._offset_W is None else _sum(pos, self._offset_W), vel)
        if self._path_alone:
            self._want(t_ns, (math.nan,) * 4)

    def _attitude_target(self, m: Message, t_ns: int) -> None:
        quat: Quat = (m.q[0], m.q[1], m.q[2], m.q[3])
        if not _unit(quat):
            return
        self._path_alone = False
        self._want(t_ns, (*euler_from_quat(quat_ned_frd_from_enu_flu(quat)), m.thrust))

    def _want(self, t_ns: int, attitude: tuple[float, ...]) -> None:
        """Not logged while it is disarmed: the values are outdated then."""
        if self.state is None or not self.state.armed:
            self._send("setpoint", t_ns, *(math.nan,) * 10)
            return
        path = self._path if self._path is not None and t_ns - self._path[0] < FRESH_NS else None
        pos, vel = (_NAN3, _NAN3) if path is None else path[1:]
        self._send("setpoint", t_ns, *pos, *vel, *attitude)


def _mode(heartbeat: Message) -> FlightMode | None:
    """The one of the virtual Pixhawk's modes that is like it; None where there is none."""
    of, number = firmware(heartbeat.autopilot, heartbeat.type), heartbeat.custom_mode
    if of is Firmware.PX4:
        return px4_modes.from_custom_mode(number)
    return FlightMode.__members__.get(common_name(of, number).upper())


def _finite(values: tuple[float, ...]) -> bool:
    return all(map(math.isfinite, values))


def _unit(quat: Quat) -> bool:
    return _finite(quat) and abs(math.hypot(*quat) - 1.0) < 0.1


def _sum(a: Vec3, b: Vec3) -> Vec3:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]
