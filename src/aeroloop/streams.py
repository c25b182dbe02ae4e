"""The stream table: every stream once, with its fields, units, rate and whether it is logged.

Topics, log channels, the log hash and the documentation are derived from it. A record is a row of float64;
its first field is always the simulated time `t_s`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Field:
    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Stream:
    name: str
    producer: str  # the process that writes it; see `writes` for boards that have no process of ours
    rate_hz: float  # nominal; 0 when it comes as it comes
    simulated: bool  # a function of scenario and seed alone, so part of the log hash
    logged: bool
    meaning: str
    fields: tuple[Field, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @cached_property
    def packing(self) -> struct.Struct:
        return struct.Struct(f"<{len(self.fields)}d")

    def json_schema(self) -> dict[str, object]:
        properties = {
            f.name: {"type": ["number", "null"], "description": f"{f.meaning} [{f.unit}]"} for f in self.fields
        }
        return {"title": self.name, "description": self.meaning, "type": "object", "properties": properties}


def _fields(*rows: tuple[str, str, str]) -> tuple[Field, ...]:
    return tuple(Field(*row) for row in (("t_s", "s", "simulated time"), *rows))


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
_EVENT = (
    ("code", "-", "number of the event in signals.Event"),
    ("value", "-", "its value, as signals.Event says"),
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

STREAMS: tuple[Stream, ...] = (
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
    Stream("plant_event", "plant", 0.0, True, True, "what happened at the plant", _fields(*_EVENT)),
    Stream("board_event", "board", 0.0, True, True, "what happened on the board", _fields(*_EVENT)),
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

TOLD_BY_BOARD = ("board_event", "board_link", "reference_link", "board_cpu", "board_task")
"""What a board with firmware of its own tells over its link, so that the plant writes it."""


def writes(process: str, loop: str) -> tuple[Stream, ...]:
    """The streams that a process of a flight writes on a rung."""
    if loop not in ("pil", "hil"):
        return tuple(s for s in STREAMS if s.producer == process)
    told = tuple(s for s in STREAMS if s.name in TOLD_BY_BOARD)
    own = tuple(s for s in STREAMS if s.producer == process and s not in told)
    return own + told if process == "plant" else own


BY_NAME: dict[str, Stream] = {s.name: s for s in STREAMS}
COUNTER_NAMES: tuple[str, ...] = tuple(name for name, _, _ in _COUNTERS)
