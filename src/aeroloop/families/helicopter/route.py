"""Routes for helicopters: setpoints of their board."""

from __future__ import annotations

import math
from typing import Any

from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.ground.route_offer import DrawnRoute, RouteOffer, space_of
from aeroloop.planning.route_limits import Limits

LIMITS = Limits(speed_m_s=4.0, climb_m_s=2.0, sink_m_s=1.5, accel_m_s2=1.0, vertical_accel_m_s2=1.0)
"""Within them it stays within 0.8 m of a route with bends (tests/families/test_routes_flown.py)."""
CLEARANCE_M = 2.0
BEFORE_S, AFTER_S = 2.0, 4.0


def changes(_scenario: HelicopterScenario, route: DrawnRoute, file: str) -> dict[str, Any]:
    return {
        "reference": {"path": "route", "evaluate_from_s": BEFORE_S, "route": route.trajectory(file, BEFORE_S)},
        "world.start_offset_m": None,
        "duration_s": float(math.ceil(BEFORE_S + route.timed.duration_s + AFTER_S)),
        "checks": [{"metric": "horizontal_max_m", "below": 1.5}, {"metric": "saturated_steps", "equals": 0.0}],
    }


ROUTE = RouteOffer[HelicopterScenario](
    limits=lambda _scenario: LIMITS,
    space=lambda scenario: space_of(scenario, CLEARANCE_M),
    changes=changes,
    cruise_m_s=lambda _scenario: 3.0,
    height_m=lambda _scenario: 10.0,
    extent_m=25.0,
    takes="setpoints of its board",
)
