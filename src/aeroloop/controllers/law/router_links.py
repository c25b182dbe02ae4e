"""The telemetry of our boards on the flight's router, if the scenario has a ground station."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.controllers import routing
from aeroloop.controllers.law.telemetry_messages import SCHEDULED_MESSAGES
from aeroloop.controllers.routing import ROUTER, RoutedTables
from aeroloop.core.scenario import Aircraft, Scenario
from aeroloop.core.tables import Role
from aeroloop.router.config import EndpointConfig, RouterConfig, SetRate

TELEMETRY = Role("telemetry", "aeroloop.controllers.law.telemetry_process", vital=False)
"""If it ends, ground stations receive nothing, and the flight continues."""
VEHICLE = "vehicle-0"


def roles(scenario: Scenario[Aircraft, RoutedTables]) -> tuple[Role, ...]:
    return (TELEMETRY, ROUTER) if scenario.controller.routed(scenario) else ()


def settings(scenario: Scenario[Aircraft, RoutedTables], folder: Path) -> dict[str, Any]:
    """The router's part of the launch settings."""
    return routing.settings(router_config(scenario, folder), folder, 1)


def router_config(scenario: Scenario[Aircraft, RoutedTables], folder: Path) -> RouterConfig | None:
    """None if there is nothing to route."""
    if not scenario.controller.routed(scenario):
        return None
    vehicle = EndpointConfig(VEHICLE, routing.private_ends(folder, 0)[1], role="vehicle")
    rates = [
        SetRate(VEHICLE, scheduled.msg_id, scheduled.rate_Hz) for scheduled in SCHEDULED_MESSAGES if scheduled.rate_Hz
    ]
    return routing.composed(scenario.name, scenario.controller.router, folder, [vehicle], rates=rates)
