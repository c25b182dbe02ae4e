"""The tables of autopilots that speak MAVLink HIL, the virtual Pixhawk and those outside, and what they need."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol

import msgspec

from aeroloop.core.config import Config, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Aircraft, ControllerTables, LinkEnds, Scenario
from aeroloop.core.signals import NS
from aeroloop.ground.orders import PilotConfig
from aeroloop.links.url import parse
from aeroloop.router.config import EndpointConfig, Forward, SetRate
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.earth import Home

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
            "where it speaks MAVLink to ground stations, in real time only; vehicle n adds n to a port of 14540, so "
            "that each has its own, as with PX4"
        ),
    ] = ("udp://127.0.0.1:14540", "udp://127.0.0.1:14550")


class Lines(Config, frozen=True):
    """Lines of the flight's router besides its own (see docs/router.md); of flights in real time only."""

    endpoints: Annotated[
        tuple[EndpointConfig, ...], note("for `hil`, name the line to the autopilot here, with role `vehicle`")
    ] = ()
    forward: Annotated[tuple[Forward, ...], note("what passes between them")] = ()
    rates: Annotated[tuple[SetRate, ...], note("set rates")] = ()


class AutopilotTables(ControllerTables, frozen=True):
    """What a flight with autopilots adds; those of one outside are the same, so that a file flies on every rung."""

    FILES: ClassVar[Mapping[str, str]] = {"pilot.plan_file": "mission.plan", "pilot.stick_recording": "sticks.txt"}

    autopilot: Annotated[Autopilot, note("the virtual Pixhawk")] = Autopilot()
    pilot: Annotated[PilotConfig, note("who commands it")] = PilotConfig()
    router: Annotated[Lines, note("more lines of the router between autopilots and ground stations")] = Lines()

    def end_ns(self, flight: Scenario) -> int:
        """Where a step ends: no message cuts it."""
        step_ns = round(flight.aircraft.step_s * NS)
        return -(-round(flight.duration_s * NS) // step_ns) * step_ns

    def flown_at_least_s(self, flight: Scenario) -> float:
        return round(flight.duration_s - 1.5 * flight.aircraft.step_s, 9)

    def notices(self, flight: Scenario, ends: LinkEnds, flight_id: str) -> list[str]:
        if flight.loop != "hil":
            return []
        said = [
            f"flight {flight_id} waits for an autopilot on {server}, {flight.link.start_timeout_s:g} s at most"
            for server, _ in ends.vehicle_links
        ]
        said.append("start one, for example PX4: make px4_sitl none_iris (docs/px4-sitl.md; a board: docs/px4-hitl.md)")
        if self.pilot.source == "orders" and self.pilot.orders:
            said.append(
                "command it from outside too: pilot.orders are for the virtual Pixhawk, and nobody sends them here"
            )
        return said


class Piloted(Aircraft, Protocol):
    """An aircraft that an autopilot can fly: it has sensors, and a place on earth."""

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
    """What an autopilot lacks, or what does not fit; empty if all does."""
    if scenario.link.to_plant.active or scenario.link.to_board.active:
        return "link: impairments are the board protocol's; MAVLink HIL has none yet"
    imu, step_s = scenario.aircraft.aboard.imu, scenario.aircraft.step_s
    if imu is None:
        return "sensors.fitted: an autopilot's clock is the IMU, so one must be fitted"
    if round(imu.period_s * NS) % round(step_s * NS):
        return f"world.step_s: expected a part of the IMU's period ({imu.period_s:g} s), not {step_s:g}"
    return ""


def pixhawk_needs(scenario: AutopilotScenario) -> str:
    return needs(scenario) or _commands_lacking(scenario)


def _commands_lacking(scenario: AutopilotScenario) -> str:
    """Why whoever is to command the virtual Pixhawk cannot."""
    pilot = scenario.controller.pilot
    if pilot.source == "external" and scenario.lockstep:
        return "pilot.source: ground stations join in real time only, so external needs --pace real"
    for index, url in enumerate(scenario.controller.autopilot.ground_links):
        try:
            parse(url)
        except ConfigError as error:
            return f"autopilot.ground_links[{index}]: {error}"
    planned = pilot.waypoints or pilot.plan_file
    if pilot.source == "orders" and not planned and any(order.do == "mission" for order in pilot.orders):
        return "pilot.orders: mission: there is none; expected pilot.waypoints or pilot.plan_file"
    return ""
