"""The streams of each family, by name."""

from __future__ import annotations

from aeroloop.core.streams import streams_of_kind

TILTROTOR, MULTIROTOR, FIXED_WING = (
    {stream.name: stream for stream in streams_of_kind(kind)} for kind in ("tiltrotor", "quadrotor", "fixedwing")
)
