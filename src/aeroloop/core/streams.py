"""The streams of a flight: those of its family's row, in the order of the log's hash.

Topics, log channels, the log hash and the documentation are derived from them. A record is a row of float64.
"""

from __future__ import annotations

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import Stream
from aeroloop.core.tables import family, part

Streams = tuple[Stream, ...]
WRITTEN_BY_ALL = frozenset({"event", "fault", "pace"})
"""By every vehicle (`sim.rows`)."""


def streams_of(scenario: Scenario) -> Streams:
    return streams_of_kind(scenario.kind)


def streams_of_kind(kind: str) -> Streams:
    row = family(kind)
    streams: Streams = part(row.streams)
    missing = WRITTEN_BY_ALL - {stream.name for stream in streams}
    if missing:
        raise ConfigError(f"{row.streams}: expected the common streams {', '.join(sorted(missing))} too")
    return streams


def named(scenario: Scenario) -> dict[str, Stream]:
    return {stream.name: stream for stream in streams_of(scenario)}


def logged(streams: Streams) -> Streams:
    """What the recorder of a flight writes down."""
    return tuple(stream for stream in streams if stream.logged)


def writes(process: str, streams: Streams, loop: str) -> Streams:
    """Those that a process of a flight writes on a rung."""
    outside = loop in ("pil", "hil")
    own = tuple(s for s in streams if s.producer == process and not (outside and s.told))
    told = tuple(s for s in streams if s.told) if outside and process == "plant" else ()
    return own + told
