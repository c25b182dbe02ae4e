"""The MAVLink of the tests' ArduPilot: heartbeat, state and texts out at its own times, commands in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pymavlink.dialects.v20 import common as mavlink

from peers.ardupilot_copter import Motion, euler

if TYPE_CHECKING:
    from peers.ardupilot_peer import Craft

M_PER_DEG = 111318.845
"""ArduPilot's scale of latitude: a sphere."""
USUAL_S = {
    mavlink.MAVLINK_MSG_ID_HEARTBEAT: 1.0,
    mavlink.MAVLINK_MSG_ID_ATTITUDE: 0.25,
    mavlink.MAVLINK_MSG_ID_GLOBAL_POSITION_INT: 0.25,
    mavlink.MAVLINK_MSG_ID_SYS_STATUS: 0.5,
}


class Words:
    def __init__(self, system: int, mav_type: int, home: tuple[float, float, float]) -> None:
        self._type, self.home = mav_type, home
        self._out = mavlink.MAVLink(None, srcSystem=system, srcComponent=1)
        self._in = mavlink.MAVLink(None)
        self._in.robust_parsing = True
        self._system = system
        self._said = bytearray()
        self._every_s = dict(USUAL_S)
        self._next_s = dict.fromkeys(USUAL_S, 0.0)
        self._origin: tuple[float, ...] | None = None
        self.texts: list[str] = []

    def said(self) -> bytes:
        said, self._said = bytes(self._said), bytearray()
        return said

    def heard(self, data: bytes) -> list[Any]:
        """Messages to this vehicle."""
        messages = self._in.parse_buffer(data) or []
        return [m for m in messages if getattr(m, "target_system", self._system) in (0, self._system)]

    def local(self, lat_deg: float, lon_deg: float) -> tuple[float, float]:
        """Metres north and east of home."""
        north, east = (lat_deg - self.home[0]) * M_PER_DEG, (lon_deg - self.home[1]) * M_PER_DEG
        return north, east * math.cos(math.radians(self.home[0]))

    def set_interval(self, message: int, interval_us: float) -> None:
        if interval_us > 0:
            self._every_s[message] = interval_us / 1e6
            self._next_s.setdefault(message, 0.0)

    def text(self, severity: int, words: str) -> None:
        self.texts.append(words)
        self._pack(mavlink.MAVLink_statustext_message(severity, words.encode()[:50]))

    def acknowledge(self, command: int, result: int) -> None:
        self._pack(mavlink.MAVLink_command_ack_message(command, result))

    def parameter(self, name: str, value: float) -> None:
        self._pack(mavlink.MAVLink_param_value_message(name.encode(), value, mavlink.MAV_PARAM_TYPE_REAL32, 1, 0))

    def step(self, t_s: float, motion: Motion, craft: Craft, *, ekf: int) -> None:
        """`ekf`: 1 where its estimator has an origin, 2 where it uses GPS."""
        if ekf and self._origin is None:
            self._origin = motion.pos
        due = [message for message, next_s in self._next_s.items() if t_s >= next_s]
        for message in due:
            self._next_s[message] = t_s + self._every_s[message]
            self._tell(message, round(t_s * 1000), motion, craft, ekf)

    def _tell(self, message: int, t_ms: int, motion: Motion, craft: Craft, ekf: int) -> None:
        pos, vel, rate = motion.pos, motion.vel, motion.rate
        known = ekf >= 2
        if message == mavlink.MAVLINK_MSG_ID_HEARTBEAT:
            base = 81 | (128 if craft.armed else 0)
            state = mavlink.MAV_STATE_ACTIVE if craft.armed else mavlink.MAV_STATE_STANDBY
            beat = (self._type, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA, base, craft.mode, state, 3)
            self._pack(mavlink.MAVLink_heartbeat_message(*beat))
        elif message == mavlink.MAVLINK_MSG_ID_ATTITUDE:
            self._pack(mavlink.MAVLink_attitude_message(t_ms, *euler(motion.quat), *rate))
        elif message == mavlink.MAVLINK_MSG_ID_ATTITUDE_QUATERNION:
            self._pack(mavlink.MAVLink_attitude_quaternion_message(t_ms, *motion.quat, *rate))
        elif message == mavlink.MAVLINK_MSG_ID_LOCAL_POSITION_NED and known and self._origin is not None:
            local = [a - b for a, b in zip(pos, self._origin, strict=True)]
            self._pack(mavlink.MAVLink_local_position_ned_message(t_ms, *local, *vel))
        elif message == mavlink.MAVLINK_MSG_ID_GLOBAL_POSITION_INT:
            self._pack(mavlink.MAVLink_global_position_int_message(t_ms, *self._global(pos, vel, known=ekf > 0)))
        elif message == mavlink.MAVLINK_MSG_ID_EXTENDED_SYS_STATE:
            landed = mavlink.MAV_LANDED_STATE_IN_AIR if craft.armed and -pos[2] > 0.3 else 1
            self._pack(mavlink.MAVLink_extended_sys_state_message(0, landed))
        elif message == mavlink.MAVLINK_MSG_ID_SYS_STATUS:
            self._pack(mavlink.MAVLink_sys_status_message(0, 0, 0, 0, 12600, 0, 100, 0, 0, 0, 0, 0, 0))

    def _global(self, pos: tuple[float, ...], vel: tuple[float, ...], *, known: bool) -> tuple[int, ...]:
        """Zeros before it knows its place."""
        if not known:
            return (0, 0, 0, 0, 0, 0, 0, 0)
        north, east, down = pos
        lat = self.home[0] + north / M_PER_DEG
        lon = self.home[1] + east / (M_PER_DEG * math.cos(math.radians(self.home[0])))
        alt_mm, speeds = round((self.home[2] - down) * 1000), [round(100 * axis) for axis in vel]
        return round(lat * 1e7), round(lon * 1e7), alt_mm, round(-down * 1000), *speeds, 0

    def _pack(self, message: Any) -> None:
        self._said += message.pack(self._out)
        self._out.seq = (self._out.seq + 1) & 0xFF
