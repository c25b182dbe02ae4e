"""Requests to an autopilot for higher message rates (MAV_CMD_SET_MESSAGE_INTERVAL), where a message is too rare for the
log."""

from __future__ import annotations

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink import Message

WANTED_HZ = {
    dialect.MAVLINK_MSG_ID_ATTITUDE_QUATERNION: 50.0,
    dialect.MAVLINK_MSG_ID_LOCAL_POSITION_NED: 50.0,
    dialect.MAVLINK_MSG_ID_GLOBAL_POSITION_INT: 10.0,
    dialect.MAVLINK_MSG_ID_ATTITUDE_TARGET: 50.0,
    dialect.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED: 50.0,
    dialect.MAVLINK_MSG_ID_HEARTBEAT: 5.0,
    dialect.MAVLINK_MSG_ID_EXTENDED_SYS_STATE: 5.0,
    dialect.MAVLINK_MSG_ID_BATTERY_STATUS: 1.0,
}
ENOUGH = 0.4
"""Relative to the requested rate: an autopilot may round intervals."""
LOOK_NS = 3 * NS
MOST_TRIES = 3
COMPONENT = 1


class MessageRequests:
    """Counts the messages of one autopilot, and requests missing ones a few times."""

    def __init__(self, system: int) -> None:
        self._system = system
        self._counts = dict.fromkeys(WANTED_HZ, 0)
        self._tries = dict.fromkeys(WANTED_HZ, 0)
        self._since_ns: int | None = None

    def count(self, msg_id: int, t_ns: int) -> None:
        if self._since_ns is None:
            self._since_ns = t_ns
        if msg_id in self._counts:
            self._counts[msg_id] += 1

    def step(self, t_ns: int) -> list[Message]:
        if self._since_ns is None or t_ns - self._since_ns < LOOK_NS:
            return []
        lasted_s = (t_ns - self._since_ns) / NS
        lacking = [
            msg_id
            for msg_id, hz in WANTED_HZ.items()
            if self._counts[msg_id] < ENOUGH * hz * lasted_s and self._tries[msg_id] < MOST_TRIES
        ]
        self._since_ns, self._counts = t_ns, dict.fromkeys(WANTED_HZ, 0)
        for msg_id in lacking:
            self._tries[msg_id] += 1
        return [self._request(msg_id) for msg_id in lacking]

    def _request(self, msg_id: int) -> Message:
        command, interval_us = dialect.MAV_CMD_SET_MESSAGE_INTERVAL, 1e6 / WANTED_HZ[msg_id]
        return dialect.MAVLink_command_long_message(
            self._system, COMPONENT, command, 0, float(msg_id), interval_us, 0.0, 0.0, 0.0, 0.0, 0.0
        )
