"""What the dashboard shows of a helicopter with an external autopilot."""

from __future__ import annotations

from aeroloop.dashboard.family_page import Page
from aeroloop.families.helicopter.page import rotor_rates
from aeroloop.families.helicopter.scenario import HelicopterScenario

PAGE = Page[HelicopterScenario](
    rotor_rates=rotor_rates,
    charts=[
        ["truth.z_m", "estimate.z_m"],
        ["effort.collective_rad", "effort.lateral_rad", "effort.longitudinal_rad", "effort.tail_rad"],
        ["effort.flap_x_rad", "effort.flap_y_rad"],
        ["effort.rotor_rad_s"],
        ["effort.thrust_N", "effort.tail_thrust_N"],
    ],
    home=False,
)
