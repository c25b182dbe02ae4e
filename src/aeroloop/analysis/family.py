"""The interface of a family's analysis; `families/` implement it, and the defaults are generic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, TypeVar

from aeroloop.analysis import camera_metrics, collisions, generic, imu_metrics, landing_metrics
from aeroloop.analysis.track import Track
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Task
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import OURS, in_one_sentence, made, part
from aeroloop.recording.log import Log

S = TypeVar("S", bound=Scenario)


@dataclass(frozen=True)
class Analysis(Generic[S]):
    metrics: Callable[[Log, S], dict[str, float]] = generic.metrics
    # Metrics that fail a flight when they are not 0, unless its scenario has a check of them.
    never: tuple[str, ...] = (
        "diverged",
        "overruns",
        "board_restarts",
    )
    details: Callable[[Log, S], dict[str, Any]] = generic.details  # its own part of summary.json
    events: Callable[[Log], list[dict[str, Any]]] = generic.events  # in any order
    tracks: Callable[[Log], list[Track]] = generic.tracks  # of every aircraft
    command_caption: str = "Commands that the plant accepted."
    tasks: tuple[Task, ...] = ()  # of its board's firmware, if its controller's row names none
    noticing: tuple[int, ...] = ()  # events besides the usual ones that say that it noticed a fault
    acting: tuple[int, ...] = ()  # the same of its reactions
    event_values: Mapping[str, type[IntEnum]] = field(default_factory=dict)  # of events whose value has a name


GENERIC = Analysis[Scenario]()


def analysis_of(scenario: Scenario) -> Analysis[Any]:
    reference = scenario.family.analysis
    analysis: Analysis[Any] = part(reference) if reference else GENERIC
    if not isinstance(analysis, Analysis):
        raise ConfigError(f"{reference}: expected an analysis.family.Analysis, not {type(analysis).__name__}")
    return analysis


def metric_names(scenario: Scenario) -> tuple[str, ...]:
    """Everything that a check of the scenario may name."""
    return tuple(metrics_of(scenario, Log.empty(streams_of(scenario))))


def metrics_of(scenario: Scenario, log: Log) -> dict[str, float]:
    """The numbers of its family, of its controller, of its cameras and IMU, and of its landing."""
    analysis, own = analysis_of(scenario), scenario.flown_by.metrics
    with own_code(scenario):
        numbers = analysis.metrics(log, scenario)
    seen = camera_metrics.metrics(scenario, log) | landing_metrics.metrics(scenario, log)
    seen |= imu_metrics.metrics(scenario, log)
    if scenario.slam is not None:
        from aeroloop.analysis import slam_metrics  # needs scipy, which takes time to load

        seen |= slam_metrics.metrics(scenario, log)
    return {**numbers, **(made(own, scenario, log) if own else {}), **seen, **collisions.metrics(log)}


def own_code(scenario: Scenario) -> AbstractContextManager[None]:
    """Exceptions of the family's analysis become one sentence."""
    return in_one_sentence(scenario.family.analysis or OURS)
