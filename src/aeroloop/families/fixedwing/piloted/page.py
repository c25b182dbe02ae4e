"""What the dashboard shows of a fixed wing with an external autopilot."""

from __future__ import annotations

from aeroloop.dashboard.family_page import Page
from aeroloop.families.fixedwing.page import hinges, rotor_rates
from aeroloop.families.fixedwing.scenario import PilotedWingScenario

PAGE = Page[PilotedWingScenario](
    rotor_rates=rotor_rates,
    hinges=hinges,
    charts=[
        ["truth.z_m", "estimate.z_m", "truth.ground_m"],
        ["truth.airspeed_m_s"],
        ["truth.roll_rad", "truth.pitch_rad", "setpoint.roll_rad", "setpoint.pitch_rad"],
        ["effort.aileron_rad", "effort.elevator_rad", "effort.rudder_rad", "effort.throttle"],
    ],
    home=False,
)
