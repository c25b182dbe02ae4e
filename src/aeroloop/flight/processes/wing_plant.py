"""The plant process of the fixed wing: builds the loop from the scenario and flies it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import LINE_TARGETS, Switch, Switched
from aeroloop.core.signals import NS
from aeroloop.core.streams import streams_of, writes
from aeroloop.exchanges.wing_loop import Errand, WingLoop
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.places import ground_of, places
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.streams import STREAMS
from aeroloop.families.fixedwing.trim import trim
from aeroloop.families.fixedwing.world import Start, build_world
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.flight.processes.fault_desk import FaultDesk, WornLink
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.open import open_link
from aeroloop.protocols.framing import FrameCutter
from aeroloop.realtime.controls import ControlPort
from aeroloop.realtime.pace import WallPace
from aeroloop.realtime.setup import PLANT_PRIORITY, enter_realtime, share_core
from aeroloop.realtime.topics import Topics
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import Suite
from aeroloop.sim.stages import PaceStage, Publish
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.wind import Wind

READS = ("board link",)
WRITES = tuple(s.name for s in STREAMS if s.producer == "plant")
NOT_WHILE_WAITING = (
    "in lockstep and on pil time waits for every message, so none may be lost or late; fly mil or sil with --pace real"
)


def ns(seconds: float) -> int:
    return round(seconds * NS)


def build_loop(
    scenario: FixedWingScenario,
    link: Link,
    publish: dict[str, Publish],
    sensors: Suite | None = None,
    pace: PaceStage | None = None,
) -> WingLoop:
    """The aircraft where its first circle begins, east of the centre, flying straight north, and all around it."""
    route, mission = places(scenario), scenario.mission
    airframe = airframes.load(scenario.vehicle.airframe)
    ground = ground_of(scenario.world.terrain).grid()
    atmosphere = Atmosphere(scenario.world.day)
    _, _, density_kg_m3 = atmosphere.at(mission.height_m)
    flying = trim(airframe, mission.airspeed_m_s, density_kg_m3=density_kg_m3)
    pos_W = (route.start_m[0] + mission.loiter_radius_m, route.start_m[1], mission.height_m)
    start = Start(pos_W, math.pi / 2, scenario.world.wind.steady_W)
    world, servos = build_world(airframe, start, Evaluator, at=flying)
    streams = Streams(scenario.seed)
    return WingLoop(
        servos=servos,
        world=world,
        earth=Earth(scenario.world.home),
        atmosphere=atmosphere,
        wind=Wind(scenario.world.wind, streams.generator("wind")),
        sensors=sensors or build_sensors(scenario),
        link=link,
        ground_m=ground.height_m,
        publish=publish,
        errand=Errand(
            goal_m=route.goal_m,
            command_at_ns=ns(mission.command_at_s),
            linger_ns=ns(mission.linger_s),
            duration_ns=ns(scenario.duration_s),
            bound_m=scenario.world.reach_m,
        ),
        initial_command=flying.controls,
        step_ns=ns(scenario.world.step_s),
        period_ns=ns(scenario.board.period_s),
        pace=pace,
        waits=scenario.waits,
        silence_ns=ns(scenario.link.silence_s),
        board="emulated board" if scenario.loop == "pil" else "board",
    )


def build_sensors(scenario: FixedWingScenario) -> Suite:
    return Suite(scenario.aboard, Streams(scenario.seed), scenario.sensors.faults)


def switcher(sensors: Suite, line: WornLink | None) -> Callable[[Switch], Switched]:
    def switch(switch: Switch) -> Switched:
        if switch.vehicle:
            raise ConfigError(f"vehicle {switch.vehicle}: there is one aircraft, number 0")
        if switch.target not in LINE_TARGETS:
            return sensors.switch(switch)
        if line is None:
            raise ConfigError(f"{switch.target}: {NOT_WHILE_WAITING}")
        return line.switch(switch)

    return switch


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    scenario = orders.fixedwing
    if scenario.lockstep:
        share_core(orders.core_draw)  # with the board, which works while we wait
    sensors = build_sensors(scenario)
    topics = Topics(orders.folder_path, wait=scenario.lockstep)
    publish = {s.name: topics.publisher(s).send for s in writes("plant", streams_of(scenario), scenario.loop)}
    line.await_order("open")
    bare = link = open_link(orders.link_server)
    port = ControlPort(orders.folder_path)
    try:
        worn: WornLink | None = None
        pace: WallPace | None = None
        if not scenario.waits:
            impaired = Impaired(
                bare,
                inbound=scenario.link.to_plant,
                outbound=scenario.link.to_board,
                clock_ns=lambda: loop.t_ns,
                seed=scenario.seed,
                cut=FrameCutter,
            )
            worn, link = WornLink(impaired, scenario.link), impaired
        if not scenario.lockstep:
            pace = WallPace(link, ns(scenario.world.step_s), scenario.speed)
        loop = build_loop(scenario, link, publish, sensors, pace)
        desk = FaultDesk(
            port,
            switcher(sensors, worn),
            note=lambda _, row: publish["wing_fault"](loop.t_ns / NS, *row),
            remark=lambda words: line.tell("say", message=words),
            notice=lambda words: line.tell("notice", message=words),
        )
        line.tell("ready")
        line.await_order("start")
        if not scenario.lockstep:
            for refused in enter_realtime(PLANT_PRIORITY):
                line.tell("say", message=f"plant: {refused}")
        loop.await_board(bare, scenario.link.start_timeout_s, stop)
        began_ns = time.monotonic_ns()
        ended = loop.fly(stop, desk.attend)
        topics.flush()
        # Said before the link closes, so that the supervisor never takes the end for a failure of the board.
        line.tell("done", ended=ended, wall_s=(time.monotonic_ns() - began_ns) / NS)
    finally:
        topics.flush()
        port.close()
        link.close()


if __name__ == "__main__":
    run_process(main)
