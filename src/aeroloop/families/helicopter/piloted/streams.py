"""The streams of a helicopter's flights with an external autopilot."""

from __future__ import annotations

from aeroloop.core.autopilot_streams import (
    AUTOPILOT_STATE,
    BOARD_EVENT,
    ESTIMATE_STREAM,
    LINK,
    SETPOINT_STREAM,
    SIGNAL_COUNT,
    STATUS_TEXT,
    TELEMETRY_COUNT,
)
from aeroloop.core.common_streams import common
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.sensor_streams import SENSOR_STREAMS
from aeroloop.core.stream import BATCH, Stream
from aeroloop.families.helicopter import streams as own

_OWN = {stream.name: stream for stream in own.STREAMS}

STREAMS: tuple[Stream, ...] = (
    *(_OWN[name] for name in ("truth", "air", "effort")),
    common(
        "command",
        *own.PITCHES,
        ("rotor_speed", "-", "setpoint of the governor, over the airframe's rotor speed"),
        rate_hz=own.LOG_HZ,
        batch=BATCH,
        meaning="pitches and rotor speed that the autopilot's channels command",
    ),
    *SENSOR_STREAMS,
    common("event"),
    common("fault"),
    ESTIMATE_STREAM,
    SETPOINT_STREAM,
    AUTOPILOT_STATE,
    BOARD_EVENT,
    STATUS_TEXT,
    SIGNAL_COUNT,
    TELEMETRY_COUNT,
    common("pace"),
    LINK,
    *ROUTER_STREAMS,
)
