"""The streams of a helicopter's flights with an external autopilot."""

from __future__ import annotations

from aeroloop.core.autopilot_streams import with_external_autopilot
from aeroloop.core.common_streams import common
from aeroloop.core.stream import BATCH, Stream
from aeroloop.families.helicopter import streams as own

STREAMS: tuple[Stream, ...] = with_external_autopilot(
    own.STREAMS,
    common(
        "command",
        *own.PITCHES,
        ("rotor_speed", "-", "setpoint of the governor, over the airframe's rotor speed"),
        rate_hz=own.LOG_HZ,
        batch=BATCH,
        meaning="pitches and rotor speed that the autopilot's channels command",
    ),
)
