"""The processes that PX4 needs of ours: none but the router's, where ground stations are connected."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.launch import routers
from aeroloop.core.tables import Role
from aeroloop.families.multirotor.scenario import QuadrotorScenario


def roles(scenario: QuadrotorScenario) -> tuple[Role, ...]:
    return routers(scenario)
