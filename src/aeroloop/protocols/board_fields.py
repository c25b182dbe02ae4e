"""The values of the tilt-rotor's messages, which are also columns of its streams."""

from __future__ import annotations

from aeroloop.core.common_streams import FRAME_COUNTERS
from aeroloop.core.stream import VELOCITY, XYZ

POSE = (
    *XYZ,
    ("roll_rad", "rad", "roll, ZYX"),
    ("pitch_rad", "rad", "pitch, ZYX"),
    ("yaw_rad", "rad", "yaw, ZYX"),
    ("tilt_right_rad", "rad", "tilt of the right rotor pod"),
    ("tilt_left_rad", "rad", "tilt of the left rotor pod"),
    *VELOCITY,
)
TILT_RATES = (
    ("tilt_right_rate_rad_s", "rad/s", "tilt rate of the right pod"),
    ("tilt_left_rate_rad_s", "rad/s", "tilt rate of the left pod"),
)
SENSORS = (
    *POSE,
    ("roll_rate_rad_s", "rad/s", "derivative of roll"),
    ("pitch_rate_rad_s", "rad/s", "derivative of pitch"),
    ("yaw_rate_rad_s", "rad/s", "derivative of yaw"),
    *TILT_RATES,
)
ACTUATORS = (
    ("thrust_right_N", "N", "thrust of the right rotor"),
    ("thrust_left_N", "N", "thrust of the left rotor"),
    ("torque_right_Nm", "N m", "tilt torque on the right pod"),
    ("torque_left_Nm", "N m", "tilt torque on the left pod"),
)
REFERENCE = (
    *XYZ,
    ("yaw_rad", "rad", "heading"),
    *VELOCITY,
    ("yaw_rate_rad_s", "rad/s", "heading rate"),
)
COUNTERS = (
    *FRAME_COUNTERS,
    ("malformed", "-", "frames too short, too long, badly escaped or with an unknown message"),
    ("lost", "-", "messages that were due and lost"),
    ("duplicates", "-", "second messages for one cycle, ignored"),
    ("late", "-", "messages that arrived after the end of their cycle, ignored"),
    ("implausible", "-", "messages that passed the checksum but failed the plausibility check"),
)
COUNTER_NAMES: tuple[str, ...] = tuple(name for name, _, _ in COUNTERS)
