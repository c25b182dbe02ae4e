"""What the exported module uses of PX4: topics, their fields and types, as in PX4's `msg` folder.

One table for the module's README, for the stand-in headers that the tests compile it with, and for the comparison with
a checkout of PX4.
"""

from __future__ import annotations

from typing import NamedTuple

PX4_VERSION = "v1.15.4"
"""The version of PX4 for which the table is written; it has not been compared with a checkout of it."""


class Topic(NamedTuple):
    name: str
    use: str  # "in", "out" or both
    fields: tuple[tuple[str, str], ...]  # name, type
    constants: tuple[tuple[str, int], ...] = ()

    @property
    def message(self) -> str:
        """Name of its file in PX4's `msg`, without the ending."""
        return "".join(word.capitalize() for word in self.name.split("_"))


STAMP = ("timestamp", "uint64")
SAMPLED = ("timestamp_sample", "uint64")


def _all(kind: str, *names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, kind) for name in names)


TOPICS = (
    Topic("vehicle_angular_velocity", "in", (STAMP, SAMPLED, ("xyz", "float32[3]"))),
    Topic("vehicle_attitude", "in", (STAMP, ("q", "float32[4]"))),
    Topic(
        "vehicle_local_position",
        "in",
        (
            STAMP,
            *_all("bool", "xy_valid", "z_valid", "v_xy_valid", "v_z_valid"),
            *_all("float32", "x", "y", "z", "vx", "vy", "vz"),
            ("delta_vxy", "float32[2]"),
            ("vxy_reset_counter", "uint8"),
            ("delta_vz", "float32"),
            ("vz_reset_counter", "uint8"),
        ),
    ),
    Topic(
        "trajectory_setpoint",
        "in",
        (STAMP, *_all("float32[3]", "position", "velocity", "acceleration"), *_all("float32", "yaw", "yawspeed")),
    ),
    Topic(
        "vehicle_control_mode",
        "in",
        (
            STAMP,
            *_all(
                "bool",
                "flag_armed",
                "flag_control_manual_enabled",
                "flag_control_attitude_enabled",
                "flag_control_acceleration_enabled",
                "flag_control_velocity_enabled",
                "flag_control_position_enabled",
                "flag_control_altitude_enabled",
                "flag_control_climb_rate_enabled",
            ),
        ),
    ),
    Topic("vehicle_land_detected", "in", (STAMP, ("ground_contact", "bool"))),
    Topic(
        "takeoff_status",
        "in",
        (STAMP, ("takeoff_state", "uint8")),
        (("TAKEOFF_STATE_RAMPUP", 4), ("TAKEOFF_STATE_FLIGHT", 5)),
    ),
    Topic("manual_control_setpoint", "in", (STAMP, *_all("float32", "roll", "pitch", "yaw", "throttle"))),
    Topic("parameter_update", "in", (STAMP,)),
    Topic("actuator_motors", "out", (STAMP, SAMPLED, ("control", "float32[12]")), (("NUM_CONTROLS", 12),)),
    Topic("vehicle_thrust_setpoint", "out", (STAMP, SAMPLED, ("xyz", "float32[3]"))),
    Topic(
        "debug_array",
        "out",
        (STAMP, ("id", "uint16"), ("name", "char[10]"), ("data", "float32[58]")),
        (("ARRAY_SIZE", 58),),
    ),
)
LOGGED = 58
"""Values of a `debug_array`."""
