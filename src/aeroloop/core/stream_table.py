"""The streams of every family that is known here, by name, for those who describe or show any of them.

The package's own are known from the beginning; those of a family from outside when one of its flights is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from aeroloop.core.stream import Stream
from aeroloop.core.tables import FAMILIES, family, part

STREAMS: tuple[Stream, ...] = tuple(stream for kind in FAMILIES for stream in part(family(kind).streams))
BY_NAME: dict[str, Stream] = {stream.name: stream for stream in STREAMS}


def learn(streams: Iterable[Stream]) -> None:
    """The streams of the flight that is looked at: families may use one name for different columns."""
    BY_NAME.update((stream.name, stream) for stream in streams)
