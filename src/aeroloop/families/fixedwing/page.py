"""The dashboard's page of a fixed wing, which plans its own path."""

from __future__ import annotations

from aeroloop.core.frames import Vec3
from aeroloop.core.wing_signals import SURFACES
from aeroloop.dashboard.family_page import Page, Status
from aeroloop.dashboard.link_health import LinkView, Span, counted_link
from aeroloop.dashboard.link_sources import AT_PLANT
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.families.fixedwing import page_path
from aeroloop.families.fixedwing import shape as model
from aeroloop.families.fixedwing.page_labels import STEP_WORDS, current_step, plan_notice, step_notice
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.streams import SETPOINT

SHOWN_PER_THROTTLE = 16.0
"""rad/s at full throttle, for a propeller whose throttle alone is known."""


def status(store: Store, _vehicle: int) -> Status:
    now = current_step(store)
    return Status() if now is None else Status(mode=f"{now[1]} {STEP_WORDS[now[0]]}")


def rotor_rates(store: Store, _vehicle: int) -> list[float]:
    effort = store.latest("effort") or {}
    return [SHOWN_PER_THROTTLE * effort.get("throttle", 0.0)]


def hinges(store: Store, _vehicle: int) -> tuple[float, ...]:
    effort = store.latest("effort") or {}
    controls = tuple(effort.get(name if name == "throttle" else f"{name}_rad", 0.0) for name in SURFACES)
    return model.deflections_rad(controls)


def told_paths(scenario: FixedWingScenario, store: Store) -> dict[int, list[Vec3]]:
    height_m = scenario.aircraft.mission.height_m
    return {path.number: [(x, y, height_m) for x, y in path.points_m] for path in page_path.paths(store)}


def links(scenario: FixedWingScenario, store: Store, since_s: float) -> list[LinkView]:
    """Servos are received and sensors sent in each control period; the board's other messages have no rate."""
    span = Span.of(store.names("link"), store.since("link", since_s))
    if span is None:
        return []
    set_hz = 0.0, 1.0 / scenario.controller.board.period_s
    return [counted_link("board", scenario.link_url, AT_PLANT, span, store.t_s, set_hz=set_hz)]


def fly(watched: WatchedFlight, scenario: FixedWingScenario) -> None:
    from aeroloop.families.fixedwing import (
        page_fly,
    )  # needs the dashboard's library, which a video of a flight does not

    page_fly.build(watched, scenario)


PAGE = Page[FixedWingScenario](
    setpoint=SETPOINT,
    status=status,
    rotor_rates=rotor_rates,
    hinges=hinges,
    charts=[
        ["truth.z_m", "estimate.z_m", "truth.ground_m"],
        ["truth.airspeed_m_s", "estimate.airspeed_m_s", "estimate.ground_speed_m_s"],
        ["guidance.cross_m", "guidance.along_m"],
        ["guidance.roll_command_rad", "truth.roll_rad", "truth.pitch_rad"],
        ["effort.aileron_rad", "effort.elevator_rad", "effort.rudder_rad", "effort.throttle"],
    ],
    told_paths=told_paths,
    home=False,  # the origin of its world is the middle of the map, and has no special meaning
    links=links,
    notices={"mission_step": step_notice, "plan": plan_notice},
    fly=fly,
)
