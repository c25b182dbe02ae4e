"""The tables of autopilots with MAVLink HIL, the virtual Pixhawk and external ones, and the checks before a flight."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol

import msgspec

from aeroloop.controllers.routing import RoutedTables, RouterLinks
from aeroloop.core.config import Config, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Aircraft, Common, LinkEnds, Scenario
from aeroloop.core.signals import NS
from aeroloop.core.tables import MEMORY
from aeroloop.ground.pilot_commands import GUIDED, PilotConfig
from aeroloop.links.url import parse
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.earth import Home

NO_TELEMETRY, SAME_LINK = "none", "link"
"""Instead of a URL: no telemetry; and telemetry on the simulator's own link."""
GROUND_URL = "udp://127.0.0.1:14550?listen"
"""Where PX4's SITL sends the telemetry of a ground station."""
ONBOARD_PORT = 14540
"""PX4's port for companion programs; each vehicle has its own."""


class Autopilot(Config, frozen=True):
    """The virtual Pixhawk of rungs mil and sil."""

    parameters: Annotated[dict[str, float], note("parameters that differ from their defaults")] = msgspec.field(
        default_factory=dict
    )
    ground_links: Annotated[
        tuple[str, ...],
        note(
            "MAVLink links to ground stations, in real time only; vehicle n adds n to a port of 14540, so "
            "that each has its own, as with PX4"
        ),
    ] = ("udp://127.0.0.1:14540", "udp://127.0.0.1:14550")


class Telemetry(Config, frozen=True):
    """Telemetry and commands of an external autopilot."""

    url: Annotated[
        str,
        note(
            "link on which an external autopilot sends its telemetry and takes the pilot's commands; vehicle n adds n "
            "to a port of 14540, as PX4's instances do; empty: through the flight's router where it has one, else "
            "`udp://127.0.0.1:14550?listen`, where PX4's SITL sends to; `link`: on the simulator's own link, as a "
            "board in HITL over USB; `none`: neither"
        ),
    ] = ""


class HilRouterLinks(RouterLinks, frozen=True):
    """The router of a flight with an autopilot (see docs/router.md)."""

    hil: Annotated[
        bool,
        note(
            "the router carries the HIL link too: it owns the link to the autopilot, which plant and ground stations "
            "share, as with a board on one USB port; at every pace"
        ),
    ] = False


class AutopilotTables(RoutedTables, frozen=True):
    """Tables of a flight with autopilots; the same for external ones, so that a file flies on every rung."""

    FILES: ClassVar[Mapping[str, str]] = {"pilot.plan_file": "mission.plan", "pilot.stick_recording": "sticks.txt"}

    autopilot: Annotated[Autopilot, note("the virtual Pixhawk")] = Autopilot()
    telemetry: Annotated[Telemetry, note("telemetry of an external autopilot")] = Telemetry()
    pilot: Annotated[PilotConfig, note("source of pilot commands")] = PilotConfig()
    router: Annotated[HilRouterLinks, note("links of the router between aircraft and ground stations")] = (
        HilRouterLinks()
    )

    def routed(self, flight: Scenario) -> bool:
        return self.router.hil or self.ground_routed(flight)

    def ground_routed(self, flight: Scenario) -> bool:
        """Whether ground stations reach the autopilots through the router: in real time, except an external one without
        a link to it."""
        return not flight.lockstep and (flight.loop != "hil" or self.router.hil or bool(self.router.endpoints))

    @property
    def link_routed(self) -> bool:
        return self.router.hil

    def end_ns(self, flight: Scenario) -> int:
        """End of a step: no message cuts it."""
        step_ns = round(flight.aircraft.step_s * NS)
        return -(-round(flight.duration_s * NS) // step_ns) * step_ns

    def flown_at_least_s(self, flight: Scenario) -> float:
        return round(flight.duration_s - 1.5 * flight.aircraft.step_s, 9)

    def board_faults(self, flight: Common) -> tuple[str, ...]:
        """An external autopilot's are its own."""
        return ("hang", "reset", "slow") if flight.lockstep and flight.loop != "hil" else ()

    def board_faults_by_hand(self, flight: Common) -> tuple[str, ...]:
        return self.board_faults(flight) if flight.alternates else ()

    @property
    def commanded(self) -> bool:
        """Whether the scenario's pilot has commands for an external autopilot."""
        return self.pilot.source == "commands" and bool(self.pilot.commands or self.pilot.stick_recording)

    def telemetry_url(self, flight: Scenario) -> str:
        """The telemetry link of the first aircraft; empty: the flight's router, or none."""
        own = self.telemetry.url
        if own == SAME_LINK and self.router.hil:
            own = ""  # the router reads that link
        if own:
            return "" if own == NO_TELEMETRY else own
        return "" if self.ground_routed(flight) else GROUND_URL

    def notices(self, flight: Scenario, ends: LinkEnds, flight_id: str) -> list[str]:
        if flight.loop != "hil":
            return []
        said = [
            f"flight {flight_id} waits for an autopilot on {server}, {flight.link.start_timeout_s:g} s at most"
            for server, _ in ends.vehicle_links
        ]
        said.append("start one, for example PX4's SITL (docs/px4-sitl.md; a board: docs/px4-hitl.md)")
        return said + self.telemetry_notices(flight)

    def telemetry_notices(self, flight: Scenario) -> list[str]:
        """Where an external autopilot is listened to and commanded."""
        said = []
        where = self.telemetry_url(flight) or "the flight's router"
        if self.telemetry.url != NO_TELEMETRY:
            said.append(f"its telemetry is read from {where}")
        if self.commanded:
            said.append(f"the pilot's {len(self.pilot.commands)} commands are sent there at their simulated times")
        return said

    def log_complete(self, flight: Scenario) -> list[str]:
        return ["the log is complete: the autopilot may be stopped"] if flight.loop == "hil" else []


class Piloted(Aircraft, Protocol):
    """An aircraft that an autopilot can fly: with sensors, and a location on the earth."""

    @property
    def aboard(self) -> SensorSet: ...
    @property
    def home(self) -> Home: ...
    def start_m(self, number: int) -> tuple[float, float]: ...


AutopilotScenario = Scenario[Piloted, AutopilotTables]


def vehicle_url(scenario: Scenario, number: int) -> str:
    """The link of vehicle `number`, from 0: each has its own."""
    url = scenario.link_url
    if number == 0 or url == "loopback://":
        return url
    parts = parse(url, template=True)
    if parts.scheme not in ("tcp", "udp"):
        raise ConfigError(f"link.url: several vehicles need a port each, so tcp:// or udp://, not {url}")
    return str(dataclasses.replace(parts, port=parts.port + number)) if parts.port else url


def needs(scenario: AutopilotScenario) -> str:
    """What an autopilot lacks, or what does not match; empty: nothing."""
    if scenario.loop == "hil" and scenario.lockstep and scenario.impaired:
        key = "link" if scenario.link.to_plant.active or scenario.link.to_board.active else "faults"
        return (
            f"{key}: in lockstep time waits for every answer of an external autopilot, so none may be lost or late; "
            "fly with --pace real"
        )
    if scenario.controller.router.hil and scenario.lockstep and scenario.alternates:
        return (
            "router.hil: in lockstep an impaired link has every byte counted, and the router forwards whole frames; "
            "fly with --pace real, or without the router"
        )
    if scenario.controller.router.hil and scenario.inline:
        return f"router.hil: the router is a process, and {MEMORY} a link within one; expected another link.url"
    imu, step_s = scenario.aircraft.aboard.imu, scenario.aircraft.step_s
    if imu is None:
        return "sensors.fitted: an autopilot's clock is the IMU, so one must be fitted"
    if round(imu.period_s * NS) % round(step_s * NS):
        return f"world.step_s: expected a part of the IMU's period ({imu.period_s:g} s), not {step_s:g}"
    return ""


def px4_needs(scenario: AutopilotScenario) -> str:
    return needs(scenario) or _guided_lacking(scenario) or telemetry_lacking(scenario)


def telemetry_lacking(scenario: AutopilotScenario) -> str:
    """Why an external autopilot cannot be listened to or commanded as the scenario has it."""
    url = scenario.controller.telemetry.url
    if url == NO_TELEMETRY:
        if scenario.controller.commanded:
            return "telemetry.url: the pilot's commands travel on this link; expected a URL, or pilot.source = external"
    elif url == SAME_LINK:
        if scenario.aircraft.count > 1 or scenario.lockstep:
            return "telemetry.url: link is for one board in HITL (--pace real); expected a URL"
    elif url:
        try:
            parse(url)
        except ConfigError as error:
            return f"telemetry.url: {error}"
    return _mission_lacking(scenario)


def pixhawk_needs(scenario: AutopilotScenario) -> str:
    return needs(scenario) or _guided_lacking(scenario) or _commands_lacking(scenario)


def _guided_lacking(scenario: AutopilotScenario) -> str:
    if any(order.do == GUIDED for order in scenario.controller.pilot.commands):
        return f"pilot.commands: {GUIDED} is a mode of ArduPilot; expected another, or controller.kind = ardupilot"
    return ""


def _commands_lacking(scenario: AutopilotScenario) -> str:
    """Why the source of commands cannot command the virtual Pixhawk."""
    pilot = scenario.controller.pilot
    if pilot.source == "external" and scenario.lockstep:
        return "pilot.source: ground stations join in real time only, so external needs --pace real"
    for index, url in enumerate(scenario.controller.autopilot.ground_links):
        try:
            parse(url)
        except ConfigError as error:
            return f"autopilot.ground_links[{index}]: {error}"
    return _mission_lacking(scenario)


def _mission_lacking(scenario: AutopilotScenario) -> str:
    pilot = scenario.controller.pilot
    planned = pilot.waypoints or pilot.plan_file
    if pilot.source == "commands" and not planned and any(command.do == "mission" for command in pilot.commands):
        return "pilot.commands: mission: there is none; expected pilot.waypoints or pilot.plan_file"
    return ""
