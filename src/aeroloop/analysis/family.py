"""What the analysis of a family's flights is made of; `families/` fill it in, and what they leave out is generic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aeroloop.analysis import generic
from aeroloop.analysis.track import Track
from aeroloop.core.scenario import Scenario
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import family, part
from aeroloop.recording.log import Log

S = TypeVar("S", bound=Scenario)
Render = Callable[[S, Log, Mapping[str, Any]], str]


@dataclass(frozen=True)
class Analysis(Generic[S]):
    metrics: Callable[[Log, S], dict[str, float]] = generic.metrics
    never: tuple[str, ...] = (
        "diverged",
    )  # metrics that fail a flight when they are not 0, unless its scenario says so
    details: Callable[[Log, S], dict[str, Any]] = generic.details  # its own part of summary.json
    events: Callable[[Log], list[dict[str, Any]]] = generic.events  # in any order
    tracks: Callable[[Log], list[Track]] = generic.tracks  # of every aircraft
    report: str = "aeroloop.analysis.generic_report:render"  # "module:name" of a Render: drawing is slow to import
    command_caption: str = "Commands that the plant accepted."


GENERIC = Analysis[Scenario]()


def analysis_of(scenario: Scenario) -> Analysis[Any]:
    reference = family(scenario.kind).analysis
    analysis: Analysis[Any] = part(reference) if reference else GENERIC
    return analysis


def metric_names(scenario: Scenario) -> tuple[str, ...]:
    """Everything that a check of the scenario may name."""
    return tuple(analysis_of(scenario).metrics(Log.empty(streams_of(scenario)), scenario))


def render_report(scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> str:
    """The page as text; equal input gives equal text. `summary` is what summary.json holds."""
    render: Render[Any] = part(analysis_of(scenario).report)
    return render(scenario, log, summary)
