"""The stream table: every stream once, with its fields, units, rate and whether it is logged.

Topics, log channels, the log hash and the documentation are derived from it. A record is a row of float64;
its first field is always the simulated time `t_s`.
"""

from __future__ import annotations

from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.stream import ACCEL, EVENT, FAULT, FIELD, GYRO, QUATERNION, RATES, VELOCITY, WIND, Stream
from aeroloop.core.stream import fields as _fields
from aeroloop.core.wing_streams import WING_STREAMS

_POSE = (
    ("x_m", "m", "position east"),
    ("y_m", "m", "position north"),
    ("z_m", "m", "position up"),
    ("roll_rad", "rad", "roll, ZYX"),
    ("pitch_rad", "rad", "pitch, ZYX"),
    ("yaw_rad", "rad", "yaw, ZYX"),
    ("tilt_right_rad", "rad", "tilt of the right rotor pod"),
    ("tilt_left_rad", "rad", "tilt of the left rotor pod"),
    ("vx_m_s", "m/s", "velocity east"),
    ("vy_m_s", "m/s", "velocity north"),
    ("vz_m_s", "m/s", "velocity up"),
)
_TILT_RATES = (
    ("tilt_right_rate_rad_s", "rad/s", "tilt rate of the right pod"),
    ("tilt_left_rate_rad_s", "rad/s", "tilt rate of the left pod"),
)
_ACTUATORS = (
    ("thrust_right_N", "N", "thrust of the right rotor"),
    ("thrust_left_N", "N", "thrust of the left rotor"),
    ("torque_right_Nm", "N m", "tilt torque on the right pod"),
    ("torque_left_Nm", "N m", "tilt torque on the left pod"),
)
_COUNTERS = (
    ("frames_in", "-", "valid frames received"),
    ("frames_out", "-", "frames sent"),
    ("bytes_in", "B", "bytes received"),
    ("bytes_out", "B", "bytes sent"),
    ("bad_checksums", "-", "frames whose checksum did not match"),
    ("malformed", "-", "frames too short, too long, badly escaped or of no known message"),
    ("lost", "-", "messages that were due and never came"),
    ("duplicates", "-", "second messages for one cycle, ignored"),
    ("late", "-", "messages that came after their cycle had ended, ignored"),
    ("implausible", "-", "messages that passed the checksum and failed the plausibility check"),
)

_MAVLINK_COUNTERS = (
    ("frames_in", "-", "valid frames received"),
    ("frames_out", "-", "frames sent"),
    ("bytes_in", "B", "bytes received"),
    ("bytes_out", "B", "bytes sent"),
    ("bad_checksums", "-", "frames whose checksum did not match"),
    ("skipped_bytes", "B", "bytes that belonged to no frame"),
    ("unknown", "-", "frames of messages that the dialect lacks"),
    ("other_system", "-", "good frames, but not from the system listened to"),
    ("lost", "-", "gaps in the sender's numbering"),
)

BOARD_STREAMS: tuple[Stream, ...] = (
    Stream(
        "truth",
        "plant",
        250.0,
        True,
        True,
        "state of the aircraft in the world",
        _fields(
            *_POSE,
            ("rate_x_rad_s", "rad/s", "body rate about forward"),
            ("rate_y_rad_s", "rad/s", "body rate about left"),
            ("rate_z_rad_s", "rad/s", "body rate about up"),
            *_TILT_RATES,
            ("qw", "-", "attitude quaternion"),
            ("qx", "-", "attitude quaternion"),
            ("qy", "-", "attitude quaternion"),
            ("qz", "-", "attitude quaternion"),
        ),
    ),
    Stream(
        "effort",
        "plant",
        250.0,
        True,
        True,
        "what the actuators deliver",
        _fields(*_ACTUATORS, ("saturated", "-", "1 while a limit cuts the command")),
    ),
    Stream(
        "sensors",
        "plant",
        1 / 0.012,
        True,
        True,
        "the answer to a sensor request, as sent",
        _fields(
            *_POSE,
            ("roll_rate_rad_s", "rad/s", "derivative of roll"),
            ("pitch_rate_rad_s", "rad/s", "derivative of pitch"),
            ("yaw_rate_rad_s", "rad/s", "derivative of yaw"),
            *_TILT_RATES,
        ),
    ),
    Stream(
        "command",
        "plant",
        1 / 0.012,
        True,
        True,
        "actuator message accepted from the board",
        _fields(*_ACTUATORS),
    ),
    Stream(
        "reference",
        "ground",
        1 / 0.012,
        True,
        True,
        "reference sent to the board",
        _fields(
            ("x_m", "m", "position east"),
            ("y_m", "m", "position north"),
            ("z_m", "m", "position up"),
            ("yaw_rad", "rad", "heading"),
            ("vx_m_s", "m/s", "velocity east"),
            ("vy_m_s", "m/s", "velocity north"),
            ("vz_m_s", "m/s", "velocity up"),
            ("yaw_rate_rad_s", "rad/s", "heading rate"),
        ),
    ),
    Stream("plant_event", "plant", 0.0, True, True, "what happened at the plant", _fields(*EVENT)),
    Stream("plant_fault", "plant", 0.0, True, True, "a fault that was switched in flight", _fields(*FAULT)),
    Stream("board_event", "board", 0.0, True, True, "what happened on the board", _fields(*EVENT)),
    Stream("clock", "plant", 1 / 0.012, False, False, "the simulation clock, for ground and onlookers", _fields()),
    Stream(
        "cycle",
        "plant",
        1 / 0.012,
        False,
        True,
        "wall-clock timing of one sensor request at the plant",
        _fields(
            ("period_s", "s", "wall time since the previous request"),
            ("answer_latency_s", "s", "wall time from reading the request to having sent the answer"),
        ),
    ),
    Stream(
        "pace",
        "plant",
        250.0,
        False,
        True,
        "how well the plant keeps time",
        _fields(
            ("lateness_s", "s", "wall time from a step's deadline to its start; 0 in lockstep"),
            ("missed", "-", "deadlines missed so far"),
        ),
    ),
    Stream(
        "board_cycle",
        "board",
        1 / 0.012,
        False,
        True,
        "timing of one cycle at the board's process",
        _fields(
            ("round_trip_s", "s", "wall time from sending the request to having the answer"),
            ("law_s", "s", "wall time in the control law; on the emulated board: in the emulator"),
            ("busy_s", "s", "instruction-count time of the emulated board's work; 0 on the host"),
            (
                "timer_lateness_s",
                "s",
                "wall time from the timer's deadline to the cycle's start; 0 in lockstep",
            ),
            ("mode", "-", "number of the mode in signals.Mode"),
        ),
    ),
    Stream(
        "plant_link",
        "plant",
        1.0,
        False,
        True,
        "counters of the board link at the plant",
        _fields(*_COUNTERS),
    ),
    Stream(
        "board_link",
        "board",
        1.0,
        False,
        True,
        "counters of the board link at the board",
        _fields(*_COUNTERS),
    ),
    Stream(
        "reference_link",
        "board",
        1.0,
        False,
        True,
        "counters of the reference link at the board",
        _fields(*_COUNTERS),
    ),
    Stream(
        "board_cpu",
        "plant",
        1.0,
        True,
        True,
        "run-time statistics of a board with our firmware; on the emulated board times are instruction-count times",
        _fields(
            ("use_pct", "%", "processor time in tasks since the sample before"),
            ("switches_per_s", "1/s", "context switches; a task that preempts another costs two"),
            ("stack_used_B", "B", "most stack ever in use"),
            ("stack_size_B", "B", "stack there is"),
            ("overruns", "-", "cycles since the start whose work took longer than the period"),
            ("worst_cycle_s", "s", "longest work of one cycle since the start"),
            ("uptime_s", "s", "time since the board started"),
        ),
    ),
    Stream(
        "board_task",
        "plant",
        0.0,
        True,
        True,
        "run-time statistics of one task of a board with our firmware, one row a task and sample",
        _fields(
            ("task", "-", "number of the task in signals.TASKS"),
            ("exec_s", "s", "execution time per control period, mean since the sample before"),
            ("share_pct", "%", "its part of the execution time of all tasks"),
            ("worst_s", "s", "longest single run since the start"),
            ("runs", "-", "runs since the sample before"),
        ),
    ),
)

_VEHICLE = ("vehicle", "-", "which of the flight's aircraft, from 0")
_XYZ = (("x_m", "m", "position east"), ("y_m", "m", "position north"), ("z_m", "m", "position up"))
MOST_ROTORS = 8
"""Columns of the motor stream; a rotor that is not there has NaN."""


def _flown(name: str, producer: str, rate_hz: float, meaning: str, *rows: tuple[str, str, str]) -> Stream:
    """A simulated stream of flights with autopilots."""
    return Stream(name, producer, rate_hz, True, True, meaning, _fields(_VEHICLE, *rows), "quadrotor")


def _measured(name: str, producer: str, rate_hz: float, meaning: str, *rows: tuple[str, str, str]) -> Stream:
    """A stream of flights with autopilots that depends on the machine."""
    return Stream(name, producer, rate_hz, False, True, meaning, _fields(_VEHICLE, *rows), "quadrotor")


AUTOPILOT_STREAMS: tuple[Stream, ...] = (
    _flown(
        "rigid_truth",
        "plant",
        250.0,
        "state of a rigid aircraft in the world",
        *_XYZ,
        *VELOCITY,
        *QUATERNION,
        *RATES,
    ),
    _flown(
        "motors",
        "plant",
        250.0,
        "what the autopilot commands, and how fast the rotors turn",
        *((f"command_{i}", "-", f"command to motor {i}, 0 to 1") for i in range(1, MOST_ROTORS + 1)),
        *((f"speed_{i}_rad_s", "rad/s", f"speed of rotor {i}") for i in range(1, MOST_ROTORS + 1)),
    ),
    _flown(
        "air",
        "plant",
        50.0,
        "the air and the ground where the aircraft is",
        *WIND,
        ("density_kg_m3", "kg/m3", "density"),
        ("ground_m", "m", "height of the ground below it, above home's"),
    ),
    _flown(
        "imu",
        "plant",
        250.0,
        "a sample of the IMU, as sent",
        *ACCEL,
        *GYRO,
    ),
    _flown(
        "magnetometer",
        "plant",
        50.0,
        "a sample of the magnetometer, as sent",
        *FIELD,
    ),
    _flown(
        "barometer",
        "plant",
        50.0,
        "a sample of the barometer, as sent",
        ("pressure_Pa", "Pa", "static pressure"),
        ("altitude_m", "m", "pressure altitude"),
        ("temperature_K", "K", "temperature"),
    ),
    _flown(
        "gnss",
        "plant",
        5.0,
        "a fix of the satellite receiver, as sent",
        ("measured_s", "s", "simulated time at which it was measured"),
        ("lat_deg", "deg", "latitude"),
        ("lon_deg", "deg", "longitude"),
        ("alt_m", "m", "height above mean sea level"),
        *VELOCITY,
        ("fix", "-", "1 with a fix"),
    ),
    _flown("airspeed", "plant", 50.0, "a sample of the pitot tube, as sent", ("pressure_Pa", "Pa", "dynamic pressure")),
    _flown("rangefinder", "plant", 50.0, "a sample of the range finder, as sent", ("distance_m", "m", "to the ground")),
    _flown("flight_event", "plant", 0.0, "what happened at the plant", *EVENT),
    _flown("flight_fault", "plant", 0.0, "a fault that was switched in flight", *FAULT),
    _flown(
        "nav_estimate",
        "board",
        50.0,
        "where the virtual Pixhawk believes that it is, in the plant's frame",
        *_XYZ,
        *VELOCITY,
        *QUATERNION,
        ("tilt_std_rad", "rad", "how sure it is of roll and pitch"),
        ("yaw_std_rad", "rad", "how sure it is of yaw"),
        ("pos_std_m", "m", "how sure it is of its place"),
        ("height_std_m", "m", "how sure it is of its height"),
    ),
    _flown(
        "nav_setpoint",
        "board",
        50.0,
        "what the virtual Pixhawk wants, in the plant's frame; NaN where it wants nothing",
        *_XYZ,
        *VELOCITY,
        ("roll_rad", "rad", "roll asked of the attitude loop"),
        ("pitch_rad", "rad", "pitch asked of the attitude loop"),
        ("yaw_rad", "rad", "yaw asked of the attitude loop"),
        ("thrust_ratio", "-", "collective thrust, 0 to 1"),
    ),
    _flown(
        "autopilot_state",
        "board",
        10.0,
        "what the virtual Pixhawk is doing",
        ("mode", "-", "number of the mode in boards.pixhawk.seam.FlightMode"),
        ("armed", "-", "1 while the motors may turn"),
        ("landed", "-", "number in boards.pixhawk.seam.Landed"),
        ("failsafe", "-", "number in boards.pixhawk.seam.Failsafe"),
        ("battery", "-", "charge left, 0 to 1"),
        ("mission_current", "-", "item of the mission that is flown"),
    ),
    _flown("autopilot_event", "board", 0.0, "what happened on the virtual Pixhawk", *EVENT),
    _flown(
        "parameter_change",
        "board",
        0.0,
        "a parameter of the virtual Pixhawk that was changed in flight",
        ("parameter", "-", "its number among the names of docs/parameters.md in alphabetical order"),
        ("old", "-", "value before"),
        ("new", "-", "value now"),
    ),
    _measured(
        "signal_count",
        "plant",
        1.0,
        "how often a signal crossed the link so far",
        ("signal", "-", "number of the signal in signals.LINK_SIGNALS"),
        ("set_hz", "Hz", "the rate that it should have; 0 when it comes as it comes"),
        ("count", "-", "messages or samples so far"),
        ("wall_s", "s", "wall time of the newest one since the first"),
    ),
    _measured(
        "telemetry_count",
        "board",
        1.0,
        "how often the virtual Pixhawk sent or took a signal so far",
        ("signal", "-", "number of the signal in signals.LINK_SIGNALS"),
        ("set_hz", "Hz", "the rate that it should have; 0 when it comes as it comes"),
        ("count", "-", "messages or samples so far"),
        ("wall_s", "s", "wall time of the newest one since the first"),
    ),
    _measured(
        "hil_pace",
        "plant",
        50.0,
        "how well the plant keeps time",
        ("lateness_s", "s", "largest wall time from a step's deadline to its start since the row before"),
        ("missed", "-", "deadlines missed so far"),
    ),
    _measured("hil_link", "plant", 1.0, "counters of a MAVLink HIL link at the plant", *_MAVLINK_COUNTERS),
    _measured(
        "pixhawk_link", "board", 1.0, "counters of a MAVLink HIL link at the virtual Pixhawk", *_MAVLINK_COUNTERS
    ),
)

STREAMS = BOARD_STREAMS + AUTOPILOT_STREAMS + ROUTER_STREAMS + WING_STREAMS

TOLD_BY_BOARD = ("board_event", "board_link", "reference_link", "board_cpu", "board_task")
"""What a board with firmware of its own tells over its link, so that the plant writes it."""


def logged(family: str) -> tuple[Stream, ...]:
    """What the recorder of a flight writes down."""
    families = {family, "router"} if family == "quadrotor" else {family}
    return tuple(s for s in STREAMS if s.logged and s.family in families)


def writes(process: str, family: str, loop: str) -> tuple[Stream, ...]:
    """The streams that a process of a flight writes on a rung."""
    if family != "tiltrotor" or loop not in ("pil", "hil"):
        return tuple(s for s in STREAMS if s.producer == process and s.family == family)
    told = tuple(s for s in STREAMS if s.name in TOLD_BY_BOARD)
    own = tuple(s for s in STREAMS if s.producer == process and s.family == family and s not in told)
    return own + told if process == "plant" else own


BY_NAME: dict[str, Stream] = {s.name: s for s in STREAMS}
COUNTER_NAMES: tuple[str, ...] = tuple(name for name, _, _ in _COUNTERS)
MAVLINK_COUNTER_NAMES: tuple[str, ...] = tuple(name for name, _, _ in _MAVLINK_COUNTERS)
