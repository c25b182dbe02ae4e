"""The streams of a fixed wing's flights with an external autopilot."""

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
from aeroloop.core.stream import Stream
from aeroloop.families.fixedwing import streams as own

_OWN = {stream.name: stream for stream in own.STREAMS}

STREAMS: tuple[Stream, ...] = (
    *(_OWN[name] for name in ("truth", "air", "effort")),
    common(
        "command",
        *own.SURFACES,
        rate_hz=50.0,
        meaning="surfaces and throttle that the autopilot's channels command",
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
