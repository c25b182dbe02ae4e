"""The processes that PX4 needs of ours: none but the router's, where ground stations are connected."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.launch import routers
from aeroloop.controllers.pixhawk.tables import AutopilotScenario
from aeroloop.core.tables import Role


def roles(scenario: AutopilotScenario) -> tuple[Role, ...]:
    return routers(scenario)
