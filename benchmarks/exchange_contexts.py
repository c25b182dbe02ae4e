"""The context of one controller's exchange, as in the plant process; the benchmark has the other end of its link."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import family, part
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.flight.processes.common import LaunchSettings

Publish = Callable[..., None]


def exchange_context(scenario: Scenario, number: int, publish: Mapping[str, Publish]) -> ExchangeContext:
    """With a new vehicle of the scenario's family."""
    vehicle = part(family(scenario.kind).vehicle)(scenario, number, publish)
    launch = LaunchSettings(scenario=scenario, folder="", log="", supervisor_pid=0, core_draw=0)
    return ExchangeContext(scenario, launch, number, vehicle, publish, {}, lambda words: None)


def discard(*_: float) -> None:
    """A row that is not kept."""


class DiscardedRows(dict[str, Publish]):
    """Takes the rows of every stream, and keeps none."""

    def __missing__(self, stream: str) -> Publish:
        return discard
