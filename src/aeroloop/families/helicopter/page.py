"""What the dashboard shows of a helicopter: its turning rotors, its path, disc, pitches and rotor speed."""

from __future__ import annotations

from aeroloop.core.frames import Vec3
from aeroloop.dashboard.family_page import Page
from aeroloop.dashboard.store import Store
from aeroloop.families.helicopter.reference import corners_W
from aeroloop.families.helicopter.scenario import HelicopterScenario

SHOWN = 1 / 12
"""Displayed rotor speeds are reduced by this factor: at the real speed, 20 to 60 images a second would alias."""
TAIL_SHOWN = 3.0
"""The tail rotor's, over the main rotor's."""


def rotor_rates(store: Store, vehicle: int) -> list[float]:
    speed = (store.latest("effort", vehicle) or {}).get("rotor_rad_s", 0.0)
    return [SHOWN * speed, SHOWN * TAIL_SHOWN * speed]


def plan(scenario: HelicopterScenario, vehicle: int) -> list[Vec3]:
    points = corners_W(scenario.aircraft.reference)
    return points if len(points) > 1 else []


PAGE = Page[HelicopterScenario](
    rotor_rates=rotor_rates,
    charts=[
        ["truth.z_m", "setpoint.z_m"],
        ["effort.collective_rad", "effort.lateral_rad", "effort.longitudinal_rad", "effort.tail_rad"],
        ["effort.flap_x_rad", "effort.flap_y_rad"],
        ["effort.rotor_rad_s"],
        ["effort.thrust_N", "effort.tail_thrust_N"],
    ],
    plan=plan,
    no_commands="this helicopter follows its scenario's path: it takes no commands from this page",
)
