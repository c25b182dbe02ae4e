"""The tables of flights with ArduPilot's SITL, and what it needs of an aircraft."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aeroloop.controllers.pixhawk.tables import (
    NO_TELEMETRY,
    SAME_LINK,
    AutopilotTables,
    Piloted,
    telemetry_lacking,
)
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import LinkEnds, Scenario
from aeroloop.core.signals import NS
from aeroloop.exchanges.ardupilot_json import OnRestart
from aeroloop.links.url import parse
from aeroloop.protocols.ardupilot_json import LEAST_RATIO, LONGEST_STEP_NS, PORT, PORT_STEP

LOOP_RATES_HZ = {"copter": 400.0, "plane": 50.0, "heli": 400.0}
"""Default of SCHED_LOOP_RATE."""
PROGRAMS = {
    "copter": ("arducopter", "copter.parm"),
    "plane": ("arduplane", "plane.parm"),
    "heli": ("arducopter-heli", "copter-heli.parm"),
}
"""Names of the program and of ArduPilot's file of parameters for its simulation."""
MAVLINK_PORT = 14550
SPEEDUP = 100
"""The bench sets the pace; ArduPilot's own pacing, real time by default, would only sleep after each answer."""


class Ardupilot(Config, frozen=True):
    """ArduPilot's SITL at the other end of the link."""

    vehicle: Annotated[
        Literal["copter", "plane", "heli"], note("which program flies: `arducopter`, `arduplane` or `arducopter-heli`")
    ] = "copter"
    loop_rate_hz: Annotated[
        float,
        meta(
            "Hz",
            "its SCHED_LOOP_RATE; 0 for the default of its program, 400 (copter, heli) or 50 (plane)",
            ge=0,
            le=2000,
        ),
    ] = 0.0
    on_restart: Annotated[
        OnRestart,
        note(
            "when ArduPilot restarts in flight: `reset` puts the aircraft back to its start, `continue` leaves it "
            "where it is, `end` ends the flight"
        ),
    ] = "reset"

    @property
    def own_rate_hz(self) -> float:
        return self.loop_rate_hz or LOOP_RATES_HZ[self.vehicle]


class ArdupilotTables(AutopilotTables, frozen=True):
    """What a flight with ArduPilot adds."""

    ardupilot: Annotated[Ardupilot, note("ArduPilot's SITL")] = Ardupilot()

    def notices(self, flight: Scenario[Any, Any], ends: LinkEnds, flight_id: str) -> list[str]:
        said = [
            f"flight {flight_id} waits for ArduPilot on {server}, {flight.link.start_timeout_s:g} s at most"
            for server, _ in ends.vehicle_links
        ]
        said += [
            f"start it, for example: {start_command(flight, number)} (docs/ardupilot-sitl.md)"
            for number, _ in enumerate(ends.vehicle_links)
        ]
        return said + self.telemetry_notices(flight)


ArdupilotScenario = Scenario[Piloted, ArdupilotTables]


def start_command(scenario: ArdupilotScenario, number: int) -> str:
    home, own = scenario.aircraft.home, scenario.controller.ardupilot
    place = f"{home.lat_deg:.7f},{home.lon_deg:.7f},{home.alt_m:g},0"
    several = f" --sysid {number + 1}" if scenario.aircraft.count > 1 else ""
    program, parameters = PROGRAMS[own.vehicle]
    return (
        f"{program} --model JSON:127.0.0.1 -I{number}{several} --home {place} --defaults {parameters} "
        f"--speedup {SPEEDUP} --serial0 udpclient:127.0.0.1:{MAVLINK_PORT}"
    )


def vehicle_port(first: int, number: int) -> int:
    return first + PORT_STEP * number


def ardupilot_needs(scenario: ArdupilotScenario) -> str:
    """What an ArduPilot lacks, or what does not fit; empty if all does."""
    return (
        _link_lacking(scenario)
        or _rate_lacking(scenario)
        or _telemetry_link_lacking(scenario)
        or telemetry_lacking(scenario)
    )


def _link_lacking(scenario: ArdupilotScenario) -> str:
    if scenario.impaired:
        key = "link" if scenario.link.to_plant.active or scenario.link.to_board.active else "faults"
        return f"{key}: ArduPilot's JSON interface waits for every message at every pace, so none may be lost or late"
    if not scenario.link.url:
        return ""
    try:
        url = parse(scenario.link.url, template=True)
    except ConfigError as error:
        return f"link.url: {error}"
    if url.scheme != "udp" or not url.listen:
        return f"link.url: ArduPilot's JSON interface is UDP; expected udp://127.0.0.1:{PORT}?listen, not {url}"
    return ""


def _rate_lacking(scenario: ArdupilotScenario) -> str:
    imu, step_s, own = scenario.aircraft.aboard.imu, scenario.aircraft.step_s, scenario.controller.ardupilot
    if imu is None:
        return "sensors.fitted: an answer to ArduPilot has the values of the IMU, so one must be fitted"
    if round(imu.period_s * NS) % round(step_s * NS):
        return f"world.step_s: expected a part of the IMU's period ({imu.period_s:g} s), not {step_s:g}"
    least_hz = LEAST_RATIO * own.own_rate_hz
    if imu.rate_hz < least_hz:
        return (
            f"sensors.imu.rate_hz: ArduPilot does not arm below {LEAST_RATIO:g} times its loop rate of "
            f"{own.own_rate_hz:g} Hz (ardupilot.loop_rate_hz); expected at least {least_hz:g}, not {imu.rate_hz:g}"
        )
    if imu.period_s * NS > LONGEST_STEP_NS:
        return f"sensors.imu.rate_hz: expected at least {NS / LONGEST_STEP_NS:g}, not {imu.rate_hz:g}"
    return ""


def _telemetry_link_lacking(scenario: ArdupilotScenario) -> str:
    if scenario.controller.router.hil:
        return "router.hil: ArduPilot's JSON interface has no MAVLink HIL messages to route; expected false"
    if scenario.controller.telemetry.url == SAME_LINK:
        return f"telemetry.url: the JSON link has no MAVLink; expected a URL or {NO_TELEMETRY}"
    return ""
