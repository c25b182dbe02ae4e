"""What is logged of a helicopter: the columns of its log, its charts and its report."""

from __future__ import annotations

from dataclasses import replace

from aeroloop.core.common_streams import common
from aeroloop.core.sensor_streams import ESTIMATE, GROUND, SENSOR_STREAMS
from aeroloop.core.stream import BATCH, QUATERNION, RATES, VELOCITY, XYZ, Column, Stream
from aeroloop.protocols.board_fields import COUNTERS
from aeroloop.protocols.values import CPU_COLUMNS

LOG_HZ = 250.0
CYCLE_HZ = 100.0
YAW: Column = ("yaw_rad", "rad", "heading, from east to north")
PITCHES: tuple[Column, ...] = (
    ("collective_rad", "rad", "collective pitch of the main rotor"),
    ("lateral_rad", "rad", "lateral cyclic pitch; positive tilts the disc to the right"),
    ("longitudinal_rad", "rad", "longitudinal cyclic pitch; positive tilts the disc forward"),
    ("tail_rad", "rad", "pitch of the tail rotor; positive against the main rotor's torque"),
)
ROTOR_SPEED: Column = ("rotor_rad_s", "rad/s", "speed of the main rotor")
_ESTIMATE = common("estimate", *ESTIMATE, rate_hz=50.0, meaning="state estimate from the sensors, for the board")
STREAMS: tuple[Stream, ...] = (
    common("truth", rate_hz=LOG_HZ, batch=BATCH),
    common("setpoint", *VELOCITY, YAW, rate_hz=LOG_HZ, batch=BATCH),
    common(
        "effort",
        *PITCHES,
        ("power_W", "W", "power of the engine"),
        ROTOR_SPEED,
        ("thrust_N", "N", "thrust of the main rotor"),
        ("tail_thrust_N", "N", "thrust of the tail rotor against the main rotor's torque"),
        ("flap_x_rad", "rad", "tilt of the main rotor's disc about forward; positive: to the right"),
        ("flap_y_rad", "rad", "tilt of the main rotor's disc about left; positive: forward"),
        ("inflow_m_s", "m/s", "induced velocity of the main rotor, downwards"),
        ("tail_inflow_m_s", "m/s", "induced velocity of the tail rotor"),
        ("saturated", "-", "1 while a limit reduces the command"),
        rate_hz=LOG_HZ,
        batch=BATCH,
    ),
    common("air", GROUND, rate_hz=50.0, meaning="air and ground at the aircraft's position"),
    common(
        "sensors",
        *XYZ,
        *VELOCITY,
        *QUATERNION,
        *RATES,
        ROTOR_SPEED,
        ("setpoint_x_m", "m", "setpoint east"),
        ("setpoint_y_m", "m", "setpoint north"),
        ("setpoint_z_m", "m", "setpoint up"),
        ("setpoint_vx_m_s", "m/s", "its velocity east"),
        ("setpoint_vy_m_s", "m/s", "its velocity north"),
        ("setpoint_vz_m_s", "m/s", "its velocity up"),
        ("setpoint_ax_m_s2", "m/s2", "its acceleration east"),
        ("setpoint_ay_m_s2", "m/s2", "its acceleration north"),
        ("setpoint_yaw_rad", "rad", "its heading"),
        ("setpoint_yaw_rate_rad_s", "rad/s", "its turn rate"),
        rate_hz=CYCLE_HZ,
        meaning="measured values and setpoint, as sent to the board",
    ),
    common("command", *PITCHES, ("throttle", "-", "share of the engine's largest power"), rate_hz=CYCLE_HZ),
    common("event"),
    common("board_event"),
    common("fault"),
    common("pace"),
    common("link", *COUNTERS),
    common("cpu", *CPU_COLUMNS, rate_hz=1.0),
    common("task"),
    *(replace(stream, optional=True) for stream in (*SENSOR_STREAMS, _ESTIMATE)),
)
