"""The plant process of autopilots: builds one loop for each aircraft from the scenario, and flies them together."""

from __future__ import annotations

import time
from collections.abc import Callable

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import LINE_TARGETS, Switch, Switched
from aeroloop.core.signals import NS
from aeroloop.core.streams import streams_of, writes
from aeroloop.exchanges.autopilot_loop import AutopilotLoop, wall_timing
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.flight.processes.fault_desk import FaultDesk, WornLink
from aeroloop.flight.processes.hil_log import FlightLog
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.url import parse
from aeroloop.protocols.hil_rates import link_load
from aeroloop.protocols.mavlink_cutter import MavlinkCutter
from aeroloop.realtime.controls import ControlPort
from aeroloop.realtime.setup import PLANT_PRIORITY, enter_realtime
from aeroloop.realtime.topics import Topics
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import Suite
from aeroloop.sim.fleet import FleetPace, fly_together
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.terrain import Flat, terrain
from aeroloop.world.wind import Wind

READS = ("HIL link of each vehicle",)
HITL_ACTUATORS_HZ = 200.0
"""How often PX4 sends actuators on a line without lockstep."""
NOT_IN_LOCKSTEP = "in lockstep time waits for every message, so none may be lost or late"
ENDED = {"time": "completed", "stopped": "stopped", "diverged": "diverged"}

Loop = AutopilotLoop[RotorEffort]


def random_streams(scenario: QuadrotorScenario, number: int) -> Streams:
    return Streams(scenario.seed).child(f"vehicle-{number}") if number else Streams(scenario.seed)


def build_sensors(scenario: QuadrotorScenario, number: int) -> Suite:
    return Suite(scenario.aboard, random_streams(scenario, number), scenario.sensors.faults)


def build_loop(
    scenario: QuadrotorScenario,
    number: int,
    link: Link,
    log: FlightLog,
    tell: Callable[[str], None] = lambda _: None,
    sensors: Suite | None = None,
    worn: Callable[[], bool] = lambda: False,
) -> Loop:
    """One aircraft, with random streams of its own."""
    airframe = airframes.load(scenario.vehicle.airframe)
    streams = random_streams(scenario, number)
    ground = terrain(scenario.world.terrain)
    return AutopilotLoop(
        motors=Motors(airframe.motors, airframe.rotors.count),
        world=airframes.world(airframe, scenario.world.step_s, scenario.start_m(number), ground),
        earth=Earth(scenario.world.home),
        atmosphere=Atmosphere(scenario.world.day),
        wind=Wind(scenario.world.wind, streams.generator("wind")),
        sensors=sensors or build_sensors(scenario, number),
        link=link,
        timing=wall_timing(link),
        rotors=airframe.rotors.count,
        step_ns=round(scenario.world.step_s * NS),
        mix=airframes.mixer(airframe),
        prompt=scenario.loop != "hil" and scenario.lockstep,
        note=log,
        load=airframes.supply(airframe),
        terrain_m=None if isinstance(ground, Flat) else ground.height_m,
        bound_m=scenario.world.bound_m,
        tell=tell,
        worn=worn,
    )


def check_capacity(scenario: QuadrotorScenario, line: Line) -> None:
    """Whether a serial line can carry what is to cross it; said before the flight, not found in it."""
    imu, gnss = scenario.aboard.imu, scenario.aboard.gnss
    assert imu is not None
    url = parse(scenario.link_url, template=True)
    to_board = {"HIL_SENSOR": imu.rate_hz, "HIL_GPS": gnss.rate_hz if gnss else 0.0, "HEARTBEAT": 1.0}
    from_board = {"HIL_ACTUATOR_CONTROLS": HITL_ACTUATORS_HZ, "HEARTBEAT": 1.0}
    serial = url.scheme == "serial"
    on_a_desk = serial or (url.scheme == "udp" and scenario.loop == "hil" and not scenario.lockstep)
    load = link_load(to_board, from_board, url.baud if serial else None)
    if load.refusal:
        raise ConfigError(f"link.url: {url}: {load.refusal}")
    if load.warning and on_a_desk:
        line.tell("say", message=f"link: {load.warning}")


class Aircraft:
    """One aircraft of the fleet, and what can be switched on it in flight."""

    def __init__(
        self, scenario: QuadrotorScenario, number: int, link: Link, log: FlightLog, tell: Callable[[str], None]
    ) -> None:
        self.sensors = build_sensors(scenario, number)
        self.line: WornLink | None = None
        self.loop: Loop
        if scenario.lockstep:
            self.loop = build_loop(scenario, number, link, log, tell, self.sensors)
        else:
            impaired = Impaired(
                link,
                inbound=scenario.link.to_plant,
                outbound=scenario.link.to_board,
                clock_ns=lambda: self.loop.t_ns,
                seed=scenario.seed + number,
                cut=MavlinkCutter,
                cut_sent=MavlinkCutter,
            )
            self.line = WornLink(impaired, scenario.link)
            self.loop = build_loop(scenario, number, impaired, log, tell, self.sensors, lambda: impaired.worn)
        log.loop = self.loop

    def switch(self, switch: Switch) -> Switched:
        if switch.target not in LINE_TARGETS:
            return self.sensors.switch(switch)
        if self.line is None:
            raise ConfigError(f"{switch.target}: {NOT_IN_LOCKSTEP}; fly with --pace real")
        if self.loop.lockstep.locked:
            raise ConfigError(f"{switch.target}: {NOT_IN_LOCKSTEP}, and this autopilot flies in lockstep")
        return self.line.switch(switch)


def switcher(fleet: list[Aircraft]) -> Callable[[Switch], Switched]:
    def switch(switch: Switch) -> Switched:
        if switch.vehicle >= len(fleet):
            raise ConfigError(f"vehicle {switch.vehicle}: there are {len(fleet)}, the first is 0")
        return fleet[switch.vehicle].switch(switch)

    return switch


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    scenario = orders.quadrotor
    check_capacity(scenario, line)
    imu = scenario.aboard.imu
    assert imu is not None
    topics = Topics(orders.folder_path, wait=scenario.lockstep)
    publish = {
        stream.name: topics.publisher(stream, batch=stream.batch).send
        for stream in writes("plant", streams_of(scenario), scenario.loop)
    }
    line.await_order("open")
    outside = scenario.loop == "hil"
    links: list[Link] = []
    fleet: list[Aircraft] = []
    logs: list[FlightLog] = []
    port = ControlPort(orders.folder_path)
    desk = FaultDesk(
        port,
        switcher(fleet),
        note=lambda vehicle, row: logs[vehicle].note_fault(row),
        remark=lambda words: line.tell("say", message=words),
        notice=lambda words: line.tell("notice", message=words),
    )
    try:
        links += [LastingServer(server) if outside else open_link(server) for server, _ in orders.vehicle_links]
        pace = FleetPace(round(scenario.world.step_s * NS), speed=scenario.speed, lockstep=scenario.lockstep)
        for number, link in enumerate(links):
            logs.append(FlightLog(number, scenario.aboard, 0.0 if outside else imu.rate_hz, publish, pace))
            fleet.append(Aircraft(scenario, number, link, logs[-1], lambda words: line.tell("notice", message=words)))
        loops = [aircraft.loop for aircraft in fleet]
        line.tell("ready")
        line.await_order("start")
        if not scenario.lockstep:
            for refused in enter_realtime(PLANT_PRIORITY):
                line.tell("say", message=f"plant: {refused}")
        for loop in loops:
            loop.await_autopilot(scenario.link.start_timeout_s, stop)
        began_ns = time.monotonic_ns()
        ended = fly_together(loops, round(scenario.duration_s * NS), pace, stop, desk.attend)
        for log in logs:
            log.last_words()
            log.tell()
        topics.flush()
        # Said before the links close, so that the supervisor never takes the end for a failure of the autopilot.
        line.tell("done", ended=ENDED[ended], wall_s=(time.monotonic_ns() - began_ns) / NS)
    finally:
        for log in logs:
            log.last_words()
        topics.flush()
        port.close()
        for link in links:
            link.close()


if __name__ == "__main__":
    run_process(main)
