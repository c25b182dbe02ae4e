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
    """Streams of another family; a name that is taken keeps its meaning."""
    for stream in streams:
        BY_NAME.setdefault(stream.name, stream)
