"""Routes for multirotors: the path of a board with our law, or the mission of an autopilot."""

from __future__ import annotations

import math
from typing import Any

from aeroloop.control.flight_gains import GAINS
from aeroloop.controllers.pixhawk.parameters import TABLE
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.ground import route_missions
from aeroloop.ground.flight_plan import BELOW_M, BLEND_SPEED, STOP_S, FlightPlan
from aeroloop.ground.missions import Item
from aeroloop.ground.route_offer import DrawnRoute, RouteOffer, joining_s, space_of
from aeroloop.planning.route_limits import Limits
from aeroloop.world.earth import Earth

CLEARANCE_M = 0.5
VERTICAL_ACCEL_M_S2 = 2.0
"""Of the law's board: a fifth of gravity, far from the least thrust."""
AFTER_S = 3.0
LAW = {gain.name: gain.default for gain in GAINS}
AUTOPILOT = {row.name: row.default for row in TABLE}


def law_limits(_scenario: QuadrotorScenario) -> Limits:
    """Of the cascade, which are compiled into the board's code."""
    return _limits(LAW)


def mission_limits(scenario: QuadrotorScenario) -> Limits:
    """Of the autopilot, with the parameters of the scenario."""
    return _limits(_parameters(scenario))


def _parameters(scenario: QuadrotorScenario) -> dict[str, float]:
    return {**AUTOPILOT, **(value_at(scenario, "autopilot.parameters") or {})}


def _limits(parameters: dict[str, float]) -> Limits:
    return Limits(
        speed_m_s=parameters["MPC_XY_VEL_MAX"],
        climb_m_s=parameters["MPC_Z_VEL_MAX_UP"],
        sink_m_s=parameters["MPC_Z_VEL_MAX_DN"],
        accel_m_s2=parameters["MPC_ACC_HOR"],
        vertical_accel_m_s2=VERTICAL_ACCEL_M_S2,
    )


def start_W(scenario: QuadrotorScenario) -> Vec3:
    """On the ground."""
    x_m, y_m = scenario.aircraft.start_m(0)
    return x_m, y_m, space_of(scenario, 0.0).ground_m(x_m, y_m)


def path_changes(scenario: Scenario[Any, Any], route: DrawnRoute, file: str) -> dict[str, Any]:
    """Take-off, climb, way to the first point, the route, landing: as `ground.flight_plan.planned` flies them."""
    plan: FlightPlan = scenario.controller.ground
    (x, y, z), first_W = start_W(scenario), route.points[0].pos_W
    climb_s = max(1.0, BLEND_SPEED * abs(first_W[2] - z) / plan.climb_m_s)
    before_s = joining_s(math.dist((x, y), first_W[:2]))
    land_s = math.ceil(plan.takeoff_s + climb_s + before_s + route.timed.duration_s + AFTER_S)
    down_s = STOP_S + (route.points[-1].pos_W[2] - z + BELOW_M) / plan.descent_m_s
    return {
        "ground.trajectory": route.trajectory(file, before_s),
        "ground.land_s": float(land_s),
        "duration_s": float(math.ceil(land_s + down_s + AFTER_S)),
        "checks": [{"metric": "pos_rms_m", "below": 1.0}, {"metric": "landed_at_end", "equals": 1.0}],
    }


def mission_changes(scenario: QuadrotorScenario, route: DrawnRoute, _file: str) -> dict[str, Any]:
    return {
        **route_missions.changes(route, start_W(scenario), _parameters(scenario)["RTL_RETURN_ALT"]),
        "landing": None,
    }


def mission(scenario: QuadrotorScenario, route: DrawnRoute) -> tuple[tuple[Item, ...], Vec3]:
    return route_missions.items(route, Earth(scenario.aircraft.home), start_W(scenario))


PATH = RouteOffer[QuadrotorScenario](
    limits=law_limits,
    space=lambda scenario: space_of(scenario, CLEARANCE_M),
    changes=path_changes,
    start_W=start_W,
    cruise_m_s=lambda _scenario: 3.0,
    height_m=lambda _scenario: 4.0,
    extent_m=25.0,
    takes="setpoints of the flight plan",
)
MISSION = RouteOffer[QuadrotorScenario](
    limits=mission_limits,
    space=lambda scenario: space_of(scenario, CLEARANCE_M),
    changes=mission_changes,
    start_W=start_W,
    cruise_m_s=lambda _scenario: AUTOPILOT["MPC_XY_CRUISE"],
    height_m=lambda _scenario: 10.0,
    extent_m=40.0,
    mission=mission,
    headings=("fixed",),
    takes="a MAVLink mission",
)
