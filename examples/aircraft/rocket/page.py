"""What the dashboard shows of a rocket: its gimballed nozzle, its path and its charts."""

from rocket.airframe import flown
from rocket.guidance import ABOVE_PAD_M
from rocket.scenario import RocketScenario

from aeroloop.core.frames import Vec3
from aeroloop.dashboard.family_page import Page
from aeroloop.dashboard.store import Store


def gimbal_rad(store: Store, vehicle: int) -> tuple[float, ...]:
    row = store.latest("effort", vehicle) or {}
    # The motor's push along its own axis turns the body against the gimbal angle.
    return -row.get("gimbal_x_rad", 0.0), -row.get("gimbal_y_rad", 0.0)


def plan(scenario: RocketScenario, vehicle: int) -> list[Vec3]:
    hop, rest_m = scenario.aircraft.hop, flown(scenario).body.legs_m
    x_m, y_m = hop.goal_m
    top_m = rest_m + hop.height_m
    return [(0.0, 0.0, rest_m), (0.0, 0.0, top_m), (x_m, y_m, top_m), (x_m, y_m, rest_m + ABOVE_PAD_M)]


PAGE = Page[RocketScenario](
    hinges=gimbal_rad,
    charts=[
        ["truth.z_m", "setpoint.z_m"],
        ["effort.thrust_N"],
        ["effort.gimbal_x_rad", "effort.gimbal_y_rad"],
        ["effort.mass_kg"],
    ],
    plan=plan,
)
