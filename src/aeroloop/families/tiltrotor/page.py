"""What the dashboard shows of a tilt-rotor, and that its sticks send references to its board."""

from __future__ import annotations

import math

import numpy as np

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Mode
from aeroloop.dashboard.family_page import Charts, Page, Status, Sticks
from aeroloop.dashboard.histogram import period
from aeroloop.dashboard.link_health import Cell, LinkView, Span, counted_link, delay_cell
from aeroloop.dashboard.link_sources import AT_BOARD, AT_PLANT
from aeroloop.dashboard.readings import word
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.trails import PLAN_POINTS
from aeroloop.families.tiltrotor.page_sticks import reference_driver, route_driver
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground import trajectories

SHOWN_PER_ROOT_THRUST = 4.5
"""rad/s a root newton, for rotors whose thrust alone is known: it grows with the speed squared."""


def status(store: Store, vehicle: int) -> Status:
    cycle = store.latest("board_cycle", vehicle)
    return Status(mode=word(Mode, cycle["mode"]) if cycle else "")


def rotor_rates(store: Store, vehicle: int) -> list[float]:
    effort = store.latest("effort", vehicle) or {}
    thrusts_N = [effort.get("thrust_right_N", 0.0), effort.get("thrust_left_N", 0.0)]
    return [SHOWN_PER_ROOT_THRUST * math.sqrt(max(0.0, thrust)) for thrust in thrusts_N]


def hinges(store: Store, vehicle: int) -> tuple[float, ...]:
    row = store.latest("truth", vehicle) or {}
    return row.get("tilt_right_rad", 0.0), row.get("tilt_left_rad", 0.0)


def plan(scenario: TiltrotorScenario, _vehicle: int) -> list[Vec3]:
    if scenario.controller.ground.source != "base-station":
        return []
    path = trajectories.build(scenario.controller.ground.trajectory)
    times_s = (scenario.duration_s * i / (PLAN_POINTS - 1) for i in range(PLAN_POINTS))
    return [path(t_s).pos_W for t_s in times_s]


def more_charts(scenario: TiltrotorScenario) -> Charts:
    """Of wind and estimate, and of what the sensors deliver."""
    aircraft = scenario.aircraft
    charts = {
        "wind": (aircraft.world.has_drag, ["air.wind_x_m_s", "air.wind_y_m_s", "air.wind_z_m_s"]),
        "estimate": (
            aircraft.sensors.state == "estimated",
            ["truth.x_m", "estimate.x_m", "truth.y_m", "estimate.y_m"],
        ),
        "imu": (aircraft.aboard.imu is not None, ["imu.accel_x_m_s2", "imu.accel_y_m_s2", "imu.accel_z_m_s2"]),
    }
    return [signals for flown, signals in charts.values() if flown]


def links(scenario: TiltrotorScenario, store: Store, since_s: float) -> list[LinkView]:
    period_s = scenario.controller.control.period_s
    cycle_hz = 1.0 / period_s
    trips = store.columns("board_cycle", "round_trip_s", since_s=since_s)[:, 0]
    trips = trips[np.isfinite(trips)]
    round_trip = delay_cell(float(np.median(trips)), period_s) if len(trips) else Cell()
    ends = (
        ("link", "board", scenario.link_url, AT_PLANT, 0.0, cycle_hz, Cell()),
        ("board_link", "plant", scenario.link_url, AT_BOARD, cycle_hz, 0.0, round_trip),
        ("reference_link", "references", scenario.controller.ground.url, AT_BOARD, cycle_hz, 0.0, Cell()),
    )
    found = []
    for stream, name, url, where, set_in_hz, set_out_hz, trip in ends:
        span = Span.of(store.names(stream), store.since(stream, since_s))
        if span is not None:
            set_hz = set_in_hz, set_out_hz
            found.append(counted_link(name, url, where, span, store.t_s, set_hz=set_hz, round_trip=trip))
    return found


PAGE = Page[TiltrotorScenario](
    status=status,
    rotor_rates=rotor_rates,
    hinges=hinges,
    tilts=("right", "left"),
    charts=[
        ["truth.z_m", "setpoint.z_m"],
        ["truth.roll_rad", "truth.pitch_rad", "truth.yaw_rad"],
        ["effort.thrust_right_N", "effort.thrust_left_N"],
    ],
    more_charts=more_charts,
    plan=plan,
    links=links,
    timing=lambda scenario: period("Period between sensor requests", "cycle", scenario.controller.control.period_s),
    no_commands="the board of this aircraft takes setpoints, not commands: take the sticks",
    no_parameters=(
        "The gains of this control law are compiled into the board's code and cannot be changed in "
        "flight. Change [control] in the scenario and fly again."
    ),
    sticks=Sticks(reference_driver),
    route_driver=route_driver,
    map_m_per_px=0.03,  # it flies in rooms
)
