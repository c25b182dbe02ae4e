"""What the analysis of a family's flights is made of; `families/` fill it in, and what they leave out is generic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, TypeVar

from aeroloop.analysis import generic
from aeroloop.analysis.track import Track
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Task
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import family, part
from aeroloop.recording.log import Log

S = TypeVar("S", bound=Scenario)


@dataclass(frozen=True)
class Analysis(Generic[S]):
    metrics: Callable[[Log, S], dict[str, float]] = generic.metrics
    never: tuple[str, ...] = (
        "diverged",
    )  # metrics that fail a flight when they are not 0, unless its scenario says so
    details: Callable[[Log, S], dict[str, Any]] = generic.details  # its own part of summary.json
    events: Callable[[Log], list[dict[str, Any]]] = generic.events  # in any order
    tracks: Callable[[Log], list[Track]] = generic.tracks  # of every aircraft
    command_caption: str = "Commands that the plant accepted."
    tasks: tuple[Task, ...] = ()  # of its board's firmware, by their numbers in the stream `task`
    event_values: Mapping[str, type[IntEnum]] = field(default_factory=dict)  # of events whose value has a name


GENERIC = Analysis[Scenario]()


def analysis_of(scenario: Scenario) -> Analysis[Any]:
    reference = family(scenario.kind).analysis
    analysis: Analysis[Any] = part(reference) if reference else GENERIC
    return analysis


def metric_names(scenario: Scenario) -> tuple[str, ...]:
    """Everything that a check of the scenario may name."""
    return tuple(analysis_of(scenario).metrics(Log.empty(streams_of(scenario)), scenario))
