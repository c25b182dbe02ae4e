"""A flight without a controller: no tables, no process, no link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.core.scenario import ControllerTables, Scenario
from aeroloop.core.tables import Role
from aeroloop.exchanges.unattended import Unattended
from aeroloop.flight.exchange_context import ExchangeContext, Inlined
from aeroloop.sim.exchange import Exchange


class NoTables(ControllerTables, frozen=True):
    """It has no keys."""


def roles(scenario: Scenario) -> tuple[Role, ...]:
    return ()


def launch(scenario: Scenario, folder: Path) -> dict[str, Any]:
    return {}


def exchange(context: ExchangeContext) -> Exchange:
    return Unattended(context.vehicle)


def inline(context: ExchangeContext) -> Inlined:
    return Inlined(exchange(context), lambda: None)
