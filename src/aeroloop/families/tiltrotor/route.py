"""Routes for the tilt-rotor: references that its base station sends."""

from __future__ import annotations

import math
from typing import Any

from aeroloop.core.angles import wrap_pi
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground.route_offer import DrawnRoute, RouteOffer, space_of
from aeroloop.planning.route_limits import Limits

LIMITS = Limits(speed_m_s=2.0, climb_m_s=1.0, sink_m_s=1.0, accel_m_s2=1.0, vertical_accel_m_s2=1.0)
"""Within them the published gain stays within 0.5 m of a closed route with bends, and within 15 degrees of roll; at
twice the acceleration and speed it does not (tests/families/test_routes_flown.py)."""
CLEARANCE_M = 0.3
BEFORE_S, AFTER_S = 1.0, 4.0
"""Rest at both ends."""


def changes(scenario: TiltrotorScenario, route: DrawnRoute, file: str) -> dict[str, Any]:
    heading: dict[str, Any] = {}
    if route.heading == "along":
        # The gain is designed at yaw 0; this law turns the errors into the heading's frame first.
        heading = {"control.law": "dlqr-heading", "world.start_yaw_rad": _first_yaw_rad(route)}
    return {
        "ground.source": "base-station",
        "ground.trajectory": route.trajectory(file, BEFORE_S),
        "world.start_pos_W": None,
        "world.start": None,
        **heading,
        "duration_s": float(math.ceil(BEFORE_S + route.timed.duration_s + AFTER_S)),
        "checks": [{"metric": "pos_max_m", "below": 1.0}, {"metric": "saturated_steps", "equals": 0.0}],
    }


def _first_yaw_rad(route: DrawnRoute) -> float:
    return round(wrap_pi(float(route.timed.yaw_rad[0])), 6)


ROUTE = RouteOffer[TiltrotorScenario](
    limits=lambda _scenario: LIMITS,
    space=lambda scenario: space_of(scenario, CLEARANCE_M),
    changes=changes,
    takes="references of the base station",
)
