"""The streams of a flight: those of its family's row, in the order of the log's hash.

Topics, log channels, the log hash and the documentation are derived from these. A record is a row of float64.
"""

from __future__ import annotations

from dataclasses import replace

from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.common_streams import CHANGE
from aeroloop.core.companion_streams import LANDING_STREAMS, SLAM_STREAMS
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan, parts_of, prefix
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import Stream
from aeroloop.core.tables import Family, family, part

Streams = tuple[Stream, ...]
WRITTEN_BY_ALL = frozenset({"event", "fault", "pace"})
"""Streams of every vehicle (`sim.rows`)."""


def streams_of(scenario: Scenario) -> Streams:
    """A router has its own streams, whatever aircraft flies."""
    streams = _checked(scenario.family)
    if scenario.flown_by.streams:
        streams = (*streams, *part(scenario.flown_by.streams))
    if scenario.flown_by.tells:
        streams = tuple(replace(s, producer="plant") if s.producer == "board" else s for s in streams)
    if scenario.flown_by.external:
        streams = tuple(replace(s, simulated=False) if s.producer == "board" else s for s in streams)
    streams = scenario.controller.with_own_streams(streams)
    if scenario.controller.routed(scenario):
        streams = (*streams, *(stream for stream in ROUTER_STREAMS if stream not in streams))
    if scenario.family.changes:
        streams = (*streams, CHANGE)
    if scenario.log.balance:
        streams = (*streams, part(scenario.family.balance))
    if scenario.cameras:
        streams = (*streams, *CAMERA_STREAMS)
    if scenario.landing is not None and scenario.watched_camera is not None:
        streams = (*streams, *LANDING_STREAMS)
    if scenario.slam is not None:
        streams = (*streams, *SLAM_STREAMS)
    return streams


def streams_of_kind(kind: str) -> Streams:
    return _checked(family(kind))


def _checked(row: Family) -> Streams:
    streams: Streams = part(row.streams)
    if not isinstance(streams, tuple) or not all(isinstance(stream, Stream) for stream in streams):
        raise ConfigError(f"{row.streams}: expected a tuple of core.stream.Stream, not {streams!r:.60}")
    names = [stream.name for stream in streams]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{row.streams}: expected each stream once, but {twice} is listed {names.count(twice)} times")
    missing = WRITTEN_BY_ALL - {stream.name for stream in streams}
    if missing:
        raise ConfigError(f"{row.streams}: expected the common streams {', '.join(sorted(missing))} too")
    return streams


def channels(plan: Plan) -> Streams:
    """The streams by their names in the log: those of each part of a fleet begin with its name."""
    return tuple(
        replace(stream, name=f"{prefix(plan, part)}{stream.name}")
        for part in parts_of(plan)
        for stream in streams_of(part)
    )


def named(scenario: Scenario) -> dict[str, Stream]:
    return {stream.name: stream for stream in streams_of(scenario)}


def logged(streams: Streams) -> Streams:
    """The streams that the recorder writes."""
    return tuple(stream for stream in streams if stream.logged)


def writes(process: str, streams: Streams, loop: str) -> Streams:
    """The streams that a process writes on a rung."""
    outside = loop in ("pil", "hil")
    own = tuple(s for s in streams if s.producer == process and not (outside and s.reported))
    told = tuple(s for s in streams if s.reported) if outside and process == "plant" else ()
    return own + told
