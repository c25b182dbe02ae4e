"""The dashboard's page of multirotors, and the commands of their autopilots."""

from __future__ import annotations

from functools import cache

from aeroloop.control.flight_gains import GAINS
from aeroloop.control.synchronisation_gains import ROTOR, ROTOR_POLES
from aeroloop.controllers.pixhawk.parameters import Row
from aeroloop.controllers.pixhawk.tables import vehicle_url
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Landed
from aeroloop.controllers.pixhawk.virtual_pixhawk import parameters
from aeroloop.controllers.routing import BENCH
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import value_at
from aeroloop.dashboard.family_page import Charts, Commands, Page, Status, Sticks
from aeroloop.dashboard.link_health import LinkView, Span, counted_link, signals
from aeroloop.dashboard.link_sources import AT_AUTOPILOT, AT_PLANT
from aeroloop.dashboard.readings import word
from aeroloop.dashboard.stick_driver import autopilot_driver
from aeroloop.dashboard.store import Store
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.ground.pilot_commands import PilotConfig
from aeroloop.world.earth import Earth

SHOWN_PER_SPEED = 1 / 55
"""Displayed rotor speeds are reduced by this factor: at the real speed, 20 to 60 images a second would alias."""
SENT_BY_PLANT = ("IMU", "magnetometer", "barometer", "GNSS", "airspeed", "range finder")
SENT_BY_AUTOPILOT = ("actuators", "attitude", "position", "heartbeat")
GAIN_NAMES = frozenset(gain.name for gain in GAINS)


def status(store: Store, vehicle: int) -> Status:
    row = store.latest("autopilot_state", vehicle)
    if row is None:
        return Status()
    failsafe = word(Failsafe, row["failsafe"])
    return Status(
        mode=word(FlightMode, row["mode"]),
        armed="armed" if row["armed"] else "disarmed",
        landed=word(Landed, row["landed"]),
        failsafe="" if failsafe == "none" else failsafe,
        battery=row["battery"],
    )


def rotor_rates(store: Store, vehicle: int) -> list[float]:
    effort = store.latest("effort", vehicle) or {}
    return [SHOWN_PER_SPEED * effort.get(f"speed_{i}_rad_s", 0.0) for i in range(1, MOST_ROTORS + 1)]


def plan(scenario: QuadrotorScenario, vehicle: int) -> list[Vec3]:
    pilot = value_at(scenario, "pilot")
    if not isinstance(pilot, PilotConfig) or pilot.source != "commands" or not pilot.waypoints:
        return []
    east_m, north_m = scenario.aircraft.start_m(vehicle)
    points = [waypoint.pos_m for waypoint in pilot.waypoints]
    above_start = 0.0, 0.0, points[0][2]
    return [(x + east_m, y + north_m, z) for x, y, z in ((0.0, 0.0, 0.0), above_start, *points)]


def links(scenario: QuadrotorScenario, store: Store, since_s: float) -> list[LinkView]:
    ends = (
        ("link", "autopilot", AT_PLANT, "signal_count", SENT_BY_PLANT),
        ("board_link", "plant", AT_AUTOPILOT, "telemetry_count", SENT_BY_AUTOPILOT),
    )
    vehicles = store.vehicles("link")
    found = []
    for vehicle in vehicles:
        url = vehicle_url(scenario, vehicle)
        for stream, name, where, counts, sent in ends:
            span = Span.of(store.names(stream), store.since(stream, since_s, vehicle))
            if span is not None:
                number = f"-{vehicle + 1}" if len(vehicles) > 1 else ""
                messages = signals(store.names(counts), store.since(counts, since_s, vehicle), sent)
                found.append(counted_link(f"{name}{number}", url, where, span, store.t_s, messages=messages))
    return found


def more_charts(scenario: QuadrotorScenario) -> Charts:
    """How the rotors keep together, if a law or motors that differ make that a question."""
    tables = scenario.aircraft
    if not tables.has_drive:
        return []
    rotors = range(1, airframe.flown(scenario).rotors.count + 1)
    shown = [[f"rotor_law.sync_error_{i}_rad_s" for i in rotors], [f"rotor_law.error_{i}_rad_s" for i in rotors]]
    table = tables.synchronisation
    if table is not None and table.law != "none" and table.gains(ROTOR, ROTOR_POLES).gs:
        shown.append([f"rotor_weights.w_p_{i}" for i in rotors])
    return shown


@cache
def known_parameters() -> dict[str, Row]:
    """The virtual Pixhawk's, gains of the law first; another autopilot's by the same name mean the same."""
    rows = sorted(parameters({}), key=lambda row: row.name not in GAIN_NAMES)
    return {row.name: row for row in rows}


COMMANDS = Commands[QuadrotorScenario](
    modes=tuple(mode.name.lower() for mode in FlightMode),
    bench_link=BENCH,
    earth=lambda scenario: Earth(scenario.aircraft.world.home),
    start_m=lambda scenario, vehicle: scenario.aircraft.start_m(vehicle),
    parameters=known_parameters,
    gains=GAIN_NAMES,
)
PAGE = Page[QuadrotorScenario](
    status=status,
    rotor_rates=rotor_rates,
    charts=[
        ["truth.z_m", "estimate.z_m", "setpoint.z_m"],
        ["truth.roll_rad", "truth.pitch_rad", "truth.yaw_rad"],
        ["command.command_1", "command.command_2", "command.command_3", "command.command_4"],
    ],
    more_charts=more_charts,
    plan=plan,
    links=links,
    commands=COMMANDS,
    sticks=Sticks(
        autopilot_driver,
        modes=("position", "altitude", "manual"),
        advice="Release them before leaving this page: an autopilot that loses its sticks executes NAV_RCL_ACT.",
    ),
)
