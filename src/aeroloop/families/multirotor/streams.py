"""The streams of flights with autopilots: each row belongs to one vehicle."""

from __future__ import annotations

from dataclasses import replace

from aeroloop.core.autopilot_streams import (
    AUTOPILOT_STATE,
    BOARD_EVENT,
    COUNTERS,
    ESTIMATE_STREAM,
    ESTIMATOR,
    LINK,
    SETPOINT_STREAM,
    SIGNAL_COUNT,
    STATUS_TEXT,
    TELEMETRY_COUNT,
)
from aeroloop.core.common_streams import common
from aeroloop.core.power_streams import power_stream
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.sensor_streams import GROUND, SENSOR_STREAMS
from aeroloop.core.stream import BATCH, REMEMBERED, Column, Stream, fields
from aeroloop.protocols.values import CPU_COLUMNS

MOST_ROTORS = 8
"""Columns of command and effort; those of missing rotors are NaN."""


def _batched(stream: Stream) -> Stream:
    """No process waits for the fast streams."""
    return replace(stream, batch=BATCH) if stream.rate_hz >= BATCH else stream


def _of_rotors(name: str, unit: str, meaning: str) -> tuple[Column, ...]:
    return tuple((name.format(i), unit, meaning.format(i)) for i in range(1, MOST_ROTORS + 1))


def _rotor_stream(name: str, rate_hz: float, meaning: str, *columns: Column) -> Stream:
    return Stream(name, "plant", rate_hz, True, True, meaning, fields(*columns), optional=True)


_ROTOR_STREAMS: tuple[Stream, ...] = (
    _rotor_stream(
        "tachometer",
        500.0,
        "a sample of the tachometers, as delivered",
        *_of_rotors("speed_{}_rad_s", "rad/s", "measured speed of rotor {}"),
    ),
    _rotor_stream(
        "rotor_law",
        500.0,
        "law of the rotor speeds, once in its period",
        *_of_rotors("setpoint_{}_rad_s", "rad/s", "speed setpoint of rotor {}"),
        *_of_rotors("command_{}_rad_s", "rad/s", "speed command of the law to the ESC of rotor {}"),
        *_of_rotors("error_{}_rad_s", "rad/s", "setpoint minus true speed of rotor {}"),
        *_of_rotors("sync_error_{}_rad_s", "rad/s", "error of rotor {} minus the mean error of all"),
        *_of_rotors("surface_{}_rad_s", "rad/s", "distance of rotor {} from the sliding surface"),
    ),
    _rotor_stream(
        "rotor_weights",
        100.0,
        "weights of the networks of the rotor law",
        *_of_rotors("w_p_{}", "-", "weight P of rotor {}"),
        *_of_rotors("w_i_{}", "-", "weight I of rotor {}"),
        *_of_rotors("w_d_{}", "-", "weight D of rotor {}"),
    ),
)
_STREAMS: tuple[Stream, ...] = (
    common("truth", rate_hz=250.0),
    common(
        "command",
        *((f"command_{i}", "-", f"command to motor {i}, 0 to 1") for i in range(1, MOST_ROTORS + 1)),
        rate_hz=250.0,
        meaning="motor commands of the autopilot",
    ),
    common(
        "effort",
        *((f"speed_{i}_rad_s", "rad/s", f"speed of rotor {i}") for i in range(1, MOST_ROTORS + 1)),
        rate_hz=250.0,
        meaning="rotor speeds",
    ),
    common(
        "air",
        GROUND,
        rate_hz=50.0,
        meaning="air and ground at the aircraft's position",
    ),
    *SENSOR_STREAMS,
    common("event"),
    common("fault"),
    ESTIMATE_STREAM,
    SETPOINT_STREAM,
    AUTOPILOT_STATE,
    BOARD_EVENT,
    Stream(
        "parameter_change",
        "board",
        0.0,
        True,
        True,
        "a parameter of the virtual Pixhawk that was changed in flight",
        fields(
            ("parameter", "-", "its number in core.parameter_numbers"),
            ("old", "-", "value before"),
            ("new", "-", "value now"),
        ),
        remembered=REMEMBERED,
        optional=True,
    ),
    STATUS_TEXT,
    ESTIMATOR,
    SIGNAL_COUNT,
    TELEMETRY_COUNT,
    common("pace"),
    LINK,
    common("cpu", *CPU_COLUMNS, rate_hz=1.0, optional=True),
    common("task", optional=True),
    common("board_link", *COUNTERS, producer="board", meaning="counters of a MAVLink HIL link at the virtual Pixhawk"),
    *_ROTOR_STREAMS,
    power_stream(MOST_ROTORS, 250.0),
)
STREAMS: tuple[Stream, ...] = (*map(_batched, _STREAMS), *ROUTER_STREAMS)
