"""What the analysis of each family of flights is made of: the one place that knows them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aeroloop.analysis import metrics, tiltrotor_summary
from aeroloop.analysis.quad.flight import tracks as quad_tracks
from aeroloop.analysis.quad.metrics import metrics as quad_metrics
from aeroloop.analysis.quad.summary import details as quad_details
from aeroloop.analysis.quad.summary import events as quad_events
from aeroloop.analysis.track import Track, tiltrotor_tracks
from aeroloop.analysis.wing import summary as wing_summary
from aeroloop.analysis.wing.metrics import metrics as wing_metrics
from aeroloop.core.scenario import Scenario
from aeroloop.core.streams import streams_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log

S = TypeVar("S", bound=Scenario)


@dataclass(frozen=True)
class Kind(Generic[S]):
    metrics: Callable[[Log, S], dict[str, float]]
    never: tuple[str, ...]  # metrics that fail a flight when they are not 0, unless its scenario says otherwise
    details: Callable[[Log, S], dict[str, Any]]  # its own part of summary.json
    events: Callable[[Log], list[dict[str, Any]]]  # in any order
    tracks: Callable[[Log], list[Track]]  # of every aircraft


KINDS: dict[str, Kind[Any]] = {
    "tiltrotor": Kind[TiltrotorScenario](
        metrics.metrics,
        ("diverged", "overruns", "board_restarts"),
        tiltrotor_summary.details,
        tiltrotor_summary.events,
        tiltrotor_tracks,
    ),
    "quadrotor": Kind[QuadrotorScenario](
        quad_metrics,
        ("diverged", "autopilot_restarts", "actuators_refused"),
        quad_details,
        quad_events,
        quad_tracks,
    ),
    "fixedwing": Kind[FixedWingScenario](
        wing_metrics,
        ("diverged", "ground_contacts"),
        wing_summary.details,
        wing_summary.events,
        wing_summary.tracks,
    ),
}


def kind_of(scenario: Scenario) -> Kind[Any]:
    return KINDS[scenario.FAMILY]


def metric_names(scenario: Scenario) -> tuple[str, ...]:
    """Everything that a check of the scenario may name."""
    return tuple(kind_of(scenario).metrics(Log.empty(streams_of(scenario)), scenario))
