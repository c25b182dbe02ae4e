"""The streams of a fixed wing's flights with an external autopilot."""

from __future__ import annotations

from aeroloop.core.autopilot_streams import with_external_autopilot
from aeroloop.core.common_streams import common
from aeroloop.core.stream import Stream
from aeroloop.families.fixedwing import streams as own

STREAMS: tuple[Stream, ...] = with_external_autopilot(
    own.STREAMS,
    common(
        "command",
        *own.SURFACES,
        rate_hz=50.0,
        meaning="surfaces and throttle that the autopilot's channels command",
    ),
)
