"""Points for a fixed wing: its goal, or its start and goal; its own board plans the path between them. With an external
autopilot: a mission."""

from __future__ import annotations

import math
from typing import Any

from aeroloop.core.frames import GRAVITY_M_S2, Vec3
from aeroloop.families.fixedwing.scenario import MOST_BANK_RAD, FixedWingScenario, PilotedWingScenario
from aeroloop.ground import route_missions
from aeroloop.ground.missions import Item
from aeroloop.ground.route_offer import DrawnRoute, RouteOffer, space_of
from aeroloop.planning.route import Space
from aeroloop.planning.route_limits import Limits
from aeroloop.world.earth import Earth

CLIMB_M_S = 3.0
VERTICAL_ACCEL_M_S2 = 2.0
EXTENT_M = 4000.0


def limits(scenario: FixedWingScenario | PilotedWingScenario) -> Limits:
    """Its airspeed, and turns with at most 30 degrees of bank."""
    return Limits(
        speed_m_s=scenario.aircraft.mission.airspeed_m_s,
        climb_m_s=CLIMB_M_S,
        sink_m_s=CLIMB_M_S,
        accel_m_s2=GRAVITY_M_S2 * math.tan(MOST_BANK_RAD),
        vertical_accel_m_s2=VERTICAL_ACCEL_M_S2,
    )


def space(scenario: FixedWingScenario | PilotedWingScenario) -> Space:
    aircraft = scenario.aircraft
    return space_of(scenario, aircraft.mission.clearance_m, aircraft.world.reach_m)


def goal_changes(_scenario: FixedWingScenario, route: DrawnRoute, _file: str) -> dict[str, Any]:
    """The last point is the goal, and gives the height of the flight; the first of two is the start."""
    *start, goal = (point.pos_W for point in route.points)
    return {
        "mission.goal_m": list(goal[:2]),
        "mission.start_m": list(start[0][:2]) if start else None,
        "mission.height_m": goal[2],
        "checks": [{"metric": metric, "equals": 0.0} for metric in ("law_not_finite", "board_restarts")],
    }


def catapult_W(scenario: PilotedWingScenario) -> Vec3:
    x_m, y_m = scenario.aircraft.start_m(0)
    return x_m, y_m, space(scenario).ground_m(x_m, y_m)


def mission_changes(scenario: PilotedWingScenario, route: DrawnRoute, _file: str) -> dict[str, Any]:
    return route_missions.changes(route, catapult_W(scenario))


def mission(scenario: PilotedWingScenario, route: DrawnRoute) -> tuple[tuple[Item, ...], Vec3]:
    return route_missions.items(route, Earth(scenario.aircraft.home), catapult_W(scenario))


GOAL = RouteOffer[FixedWingScenario](
    limits=limits,
    space=space,
    changes=goal_changes,
    cruise_m_s=lambda scenario: scenario.aircraft.mission.airspeed_m_s,
    height_m=lambda scenario: scenario.aircraft.mission.height_m,
    over_ground=False,
    extent_m=EXTENT_M,
    counts=(1, 2),
    profiled=False,
    headings=("fixed",),
    takes="a goal, or a start and a goal",
)
MISSION = RouteOffer[PilotedWingScenario](
    limits=limits,
    space=space,
    changes=mission_changes,
    start_W=catapult_W,
    cruise_m_s=lambda scenario: scenario.aircraft.mission.airspeed_m_s,
    height_m=lambda _scenario: 80.0,
    extent_m=EXTENT_M,
    mission=mission,
    headings=("fixed",),
    takes="a MAVLink mission",
)
