"""The plant process: builds the loop from the scenario and flies it. The only time-critical process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from aeroloop.actuators.lagged import LaggedActuators
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import LINE_TARGETS, Switch, Switched
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.signals import NS, Command
from aeroloop.core.streams import streams_of, writes
from aeroloop.exchanges.board_loop import Loop
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import parameter_file, parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.flight.processes.fault_desk import FaultDesk, WornLink
from aeroloop.ground.trajectories import build as build_path
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.relay import Relayed
from aeroloop.models.tiltrotor import equilibrium
from aeroloop.protocols.framing import FrameCutter
from aeroloop.realtime.controls import ControlPort
from aeroloop.realtime.lockstep import Baton, StampedLink
from aeroloop.realtime.pace import LockstepPace, Pace, WallPace
from aeroloop.realtime.setup import PLANT_PRIORITY, enter_realtime, share_core
from aeroloop.realtime.topics import Topics
from aeroloop.sensors.state import StateSensors
from aeroloop.world.multibody import Multibody

READS = ("board link",)
WRITES = tuple(s.name for s in STREAMS if s.producer == "plant")


def ns(seconds: float) -> int:
    return round(seconds * NS)


def build_world(scenario: TiltrotorScenario) -> tuple[Multibody, Command]:
    """The aircraft at hover where the flight starts, and the command that keeps it there."""
    p = parameters(scenario.vehicle.parameters)
    q_eq, u_eq, _ = equilibrium(p)
    path_start = build_path(scenario.ground.trajectory)(0.0)
    start_W = scenario.world.start_pos_W or path_start.pos_W
    moving_W = path_start.vel_W if scenario.world.start == "moving" else (0.0, 0.0, 0.0)
    world = Multibody(airframe.build(p, scenario.world.step_s))
    attitude = quat_from_euler(float(q_eq[3]), float(q_eq[4]), scenario.world.start_yaw_rad)
    world.reset(start_W, attitude, (float(q_eq[6]), float(q_eq[7])), vel_W=moving_W)
    return world, tuple(u_eq.tolist())


def dress(link: Link, scenario: TiltrotorScenario, clock_ns: Callable[[], int]) -> Impaired:
    """The link with the scenario's impairments on; their clock is simulated time at every pace."""
    return Impaired(
        link,
        inbound=scenario.link.to_plant,
        outbound=scenario.link.to_board,
        clock_ns=clock_ns,
        seed=scenario.seed,
        cut=FrameCutter,
    )


def switcher(sensors: StateSensors, line: WornLink) -> Callable[[Switch], Switched]:
    def switch(switch: Switch) -> Switched:
        if switch.vehicle:
            raise ConfigError(f"vehicle {switch.vehicle}: there is one aircraft, number 0")
        return line.switch(switch) if switch.target in LINE_TARGETS else sensors.switch(switch)

    return switch


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    scenario = orders.tiltrotor
    world, hover = build_world(scenario)
    line.await_order("open")
    pace: list[Pace] = []  # filled below: the impaired link asks it for the time
    wire: Link = open_link(orders.link_server)
    if orders.relay_references:
        wire = Relayed(wire, LastingServer(orders.reference_server))
    if scenario.lockstep:
        share_core(orders.core_draw)
        # The aircraft's time, not the next message's: the flight may end before that one is due.
        stamped = StampedLink(wire, lambda: loop.t_ns)
        link = dress(stamped, scenario, lambda: loop.t_ns)
        ground = Baton(batons["ground"], "ground") if "ground" in batons else None
        board = Baton(batons["board"], "board")
        period_ns, end_ns = ns(scenario.control.period_s), ns(scenario.duration_s)
        pace.append(LockstepPace(stamped, link, board, ground, period_ns=period_ns, end_ns=end_ns))
    else:
        link = dress(wire, scenario, lambda: pace[0].now_ns())
        pace.append(WallPace(link, ns(scenario.world.step_s), scenario.speed))
    topics = Topics(orders.folder_path, wait=scenario.lockstep)
    publish = {s.name: topics.publisher(s).send for s in writes("plant", streams_of(scenario), scenario.loop)}
    sensors = StateSensors(scenario.sensors, np.random.default_rng([scenario.seed, 1]))
    loop = Loop(
        actuators=LaggedActuators(scenario.actuators, hover),
        world=world,
        sensors=sensors,
        link=link,
        pace=pace[0],
        publish=publish,
        bounds=parameter_file().plausible.command,
        initial_command=hover,
        scenario=scenario,
        wanted_image=orders.image_id,
    )
    port = ControlPort(orders.folder_path)
    desk = FaultDesk(
        port,
        switcher(sensors, WornLink(link, scenario.link)),
        note=lambda _, row: publish["plant_fault"](loop.t_ns / NS, *row),
        remark=lambda words: line.tell("say", message=words),
        notice=lambda words: line.tell("notice", message=words),
    )
    line.tell("ready")
    line.await_order("start")
    try:
        if not scenario.lockstep:
            for refused in enter_realtime(PLANT_PRIORITY):
                line.tell("say", message=f"plant: {refused}")
            loop.await_board(scenario.link.start_timeout_s, stop)
        began_ns = time.monotonic_ns()
        ended = loop.fly(ns(scenario.duration_s), stop, desk.attend)
        # Said before the link closes, so that the supervisor never takes the end for a failure of the board.
        line.tell("done", ended=ended, wall_s=(time.monotonic_ns() - began_ns) / NS)
    finally:
        port.close()
        link.close()


if __name__ == "__main__":
    run_process(main)
