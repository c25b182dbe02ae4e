"""The streams of every family in the package, for those who describe or show any of them."""

from __future__ import annotations

from aeroloop.core.stream import Stream
from aeroloop.core.tables import FAMILIES, family, part

STREAMS: tuple[Stream, ...] = tuple(stream for kind in FAMILIES for stream in part(family(kind).streams))
BY_NAME: dict[str, Stream] = {stream.name: stream for stream in STREAMS}
