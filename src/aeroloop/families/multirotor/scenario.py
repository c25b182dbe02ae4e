"""The scenario of multirotors flown by autopilots over MAVLink HIL."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import LinkEnds, Scenario
from aeroloop.core.signals import NS
from aeroloop.ground.orders import PilotConfig
from aeroloop.links.url import parse
from aeroloop.router.config import EndpointConfig, Forward, SetRate
from aeroloop.sensors.aboard import Aboard, fitted_out
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.atmosphere import Day
from aeroloop.world.earth import Home
from aeroloop.world.terrain import Level, TerrainConfig
from aeroloop.world.wind import WindConfig

PX4_PORT = 4560
"""Where a simulator waits for PX4; instance n uses the n-th port after it."""


ONBOARD_PORT = 14540
"""PX4's port for companion programs; each vehicle has its own."""


class Multirotor(Config, frozen=True):
    """Which aircraft fly."""

    kind: Annotated[Literal["quadrotor"], note("family of aircraft")] = "quadrotor"
    airframe: Annotated[str, note("`iris`, `hexarotor`, or the path of a parameter file of your own (.toml)")] = "iris"
    count: Annotated[int, meta("-", "how many, each with an autopilot of its own", ge=1, le=16)] = 1
    spacing_m: Annotated[float, meta("m", "how far apart they start, in a line to the east", gt=0, le=1000)] = 5.0


class Outdoors(Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-4, le=0.02)] = 0.004
    home: Annotated[Home, note("where on earth the flight starts")] = Home()
    day: Annotated[Day, note("the air at sea level")] = Day()
    wind: Annotated[WindConfig, note("wind")] = WindConfig()
    terrain: Annotated[TerrainConfig, note("the ground")] = Level()
    bound_m: Annotated[
        float, meta("m", "farther than this from the origin the flight counts as diverged and ends", gt=0)
    ] = 2000.0


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


class QuadrotorScenario(Scenario, frozen=True):
    """A flight of multirotors, each flown by an autopilot over MAVLink HIL: PX4's, or the virtual Pixhawk."""

    FAMILY = "quadrotor"
    FILES: ClassVar[dict[str, str]] = {
        "pilot.plan_file": "mission.plan",
        "pilot.stick_recording": "sticks.txt",
        "vehicle.airframe": "airframe.toml",
        "world.terrain.file": "terrain.csv",
    }

    vehicle: Annotated[Multirotor, note("which aircraft")] = Multirotor()
    world: Annotated[Outdoors, note("the simulated world")] = Outdoors()
    sensors: Annotated[Aboard, note("the sensors")] = Aboard()
    autopilot: Annotated[Autopilot, note("the virtual Pixhawk")] = Autopilot()
    pilot: Annotated[PilotConfig, note("who commands it")] = PilotConfig()
    router: Annotated[Lines, note("more lines of the router between autopilots and ground stations")] = Lines()

    def __post_init__(self) -> None:
        Scenario.__post_init__(self)
        if self.loop == "pil":
            raise ValueError("loop: no firmware image flies this aircraft yet; expected mil, sil or hil")
        if self.link.to_plant.active or self.link.to_board.active:
            raise ValueError("link: impairments are the board protocol's; MAVLink HIL has none yet")
        imu = self.sensors.imu
        if imu is None or "imu" not in self.sensors.fitted:
            raise ValueError("sensors.fitted: an autopilot's clock is the IMU, so one must be fitted")
        if round(imu.period_s * NS) % round(self.world.step_s * NS):
            raise ValueError(
                f"world.step_s: expected a part of the IMU's period ({imu.period_s:g} s), not {self.world.step_s:g}"
            )
        if self.loop != "hil":
            self._check_commands()

    def _check_commands(self) -> None:
        """That whoever is to command the virtual Pixhawk can."""
        if self.pilot.source == "external" and self.lockstep:
            raise ValueError("pilot.source: ground stations join in real time only, so external needs --pace real")
        for index, url in enumerate(self.autopilot.ground_links):
            try:
                parse(url)
            except ConfigError as error:
                raise ValueError(f"autopilot.ground_links[{index}]: {error}") from None
        planned = self.pilot.waypoints or self.pilot.plan_file
        if self.pilot.source == "orders" and not planned and any(order.do == "mission" for order in self.pilot.orders):
            raise ValueError("pilot.orders: mission: there is none; expected pilot.waypoints or pilot.plan_file")

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, Aboard())

    def notices(self, ends: LinkEnds, flight_id: str) -> list[str]:
        if self.loop != "hil":
            return []
        said = [
            f"flight {flight_id} waits for an autopilot on {server}, {self.link.start_timeout_s:g} s at most"
            for server, _ in ends.vehicle_links
        ]
        said.append("start one, for example PX4: make px4_sitl none_iris (docs/px4-sitl.md; a board: docs/px4-hitl.md)")
        if self.pilot.source == "orders" and self.pilot.orders:
            said.append(
                "command it from outside too: pilot.orders are for the virtual Pixhawk, and nobody sends them here"
            )
        return said

    def files(self) -> dict[str, str]:
        named = super().files()
        if not self.vehicle.airframe.endswith(".toml"):
            del named["vehicle.airframe"]  # it is one of the project's, by its name
        return named

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted."""
        return self.sensors.flown

    @property
    def controller(self) -> str:
        return "px4" if self.loop == "hil" else "pixhawk"

    @property
    def aircraft(self) -> int:
        return self.vehicle.count

    @property
    def end_ns(self) -> int:
        """Where a step ends: no message cuts it."""
        step_ns = round(self.world.step_s * NS)
        return -(-round(self.duration_s * NS) // step_ns) * step_ns

    @property
    def flown_at_least_s(self) -> float:
        return round(self.duration_s - 1.5 * self.world.step_s, 9)

    @property
    def link_url(self) -> str:
        if self.link.url:
            return self.link.url
        if self.loop == "hil":
            return f"tcp://127.0.0.1:{PX4_PORT}?listen"
        return "tcp://127.0.0.1:0" if self.loop == "sil" else "loopback://"

    def start_m(self, number: int) -> tuple[float, float]:
        """Where vehicle `number` stands at first, east and north of home."""
        return number * self.vehicle.spacing_m, 0.0

    def vehicle_url(self, number: int) -> str:
        """The link of vehicle `number`, from 0: each has its own."""
        url = self.link_url
        if number == 0 or url == "loopback://":
            return url
        parts = parse(url, template=True)
        if parts.scheme not in ("tcp", "udp"):
            raise ConfigError(f"link.url: several vehicles need a port each, so tcp:// or udp://, not {url}")
        return str(dataclasses.replace(parts, port=parts.port + number)) if parts.port else url
