"""Pilot stick input over MAVLink: MANUAL_CONTROL and RC_CHANNELS_OVERRIDE."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.types import Sticks
from aeroloop.protocols.mavlink import Message

_MIDDLE_US, _HALF_US = 1500, 500
_SHORTEST_US, _LONGEST_US = 800, 2200


def from_manual_control(message: Message) -> Sticks | None:
    """-1000..1000, thrust 0..1000; None if an axis is out of range, which also marks a missing one."""
    pitch, roll, thrust, yaw = message.x, message.y, message.z, message.r
    if not (max(abs(pitch), abs(roll), abs(yaw)) <= 1000 and 0 <= thrust <= 1000):
        return None
    return Sticks(roll / 1000, pitch / 1000, yaw / 1000, thrust / 1000)


def from_rc_override(message: Message) -> Sticks | None:
    """Channels 1 to 4 in PX4's order: roll, pitch (high is forward), thrust, yaw. None if one of them is missing."""
    pulses_us = message.chan1_raw, message.chan2_raw, message.chan3_raw, message.chan4_raw
    if not all(_SHORTEST_US <= pulse <= _LONGEST_US for pulse in pulses_us):
        return None
    roll, pitch, thrust, yaw = (max(-1.0, min(1.0, (pulse - _MIDDLE_US) / _HALF_US)) for pulse in pulses_us)
    return Sticks(roll, pitch, yaw, (thrust + 1) / 2)
