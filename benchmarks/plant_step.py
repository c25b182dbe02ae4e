"""The plant's step over one control period against bare `mj_step` with the same model, efforts and steps.

The spiral is flown once with the board's law in the loop. Every contestant then flies that flight again, from
the bytes the board sent, and must end in the same state to the last bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import mujoco
import numpy as np
from aeroloop.exchanges.board_loop import Loop, Publish

from aeroloop.actuators.lagged import LaggedActuators
from aeroloop.controllers.law.ground_process import base_station
from aeroloop.controllers.law.request_shell import build_host_board
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import Truth
from aeroloop.core.stream_table import BY_NAME
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import parameter_file, parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.flight.processes.plant import WRITES, build_world, ns
from aeroloop.protocols.reference import encode_reference
from aeroloop.realtime.topics import Topics
from aeroloop.sensors.state import StateSensors
from aeroloop.world.multibody import Multibody
from benchmarks.crew import Crew, flight_folder
from benchmarks.measure import Outcome, row, take_turns

BARE, SILENT, PUBLISHING = "bare mj_step", "plant step, publishing nothing", "plant step, publishing to the recorder"


class MemoryLink:
    url = "memory"

    def __init__(self) -> None:
        self.to_plant = self.to_board = b""

    def send(self, data: bytes) -> None:
        self.to_board += data

    def poll(self) -> bytes:
        chunk, self.to_plant = self.to_plant, b""
        return chunk


class NoPace:
    """Time is moved by hand here."""

    missed_deadlines = 0
    lateness_s = 0.0

    def start(self) -> None:
        """Nothing to start."""

    def wait(self, t_ns: int) -> int:
        return t_ns


class Plant:
    """The loop as the lockstep plant process builds it, over a link in memory."""

    def __init__(self, scenario: TiltrotorScenario, publish: dict[str, Publish]) -> None:
        self.world, hover = build_world(scenario)
        self.link = MemoryLink()
        self.loop = Loop(
            actuators=LaggedActuators(scenario.actuators, hover),
            world=self.world,
            sensors=StateSensors(scenario.sensors, np.random.default_rng([scenario.seed, 1])),
            link=self.link,
            pace=NoPace(),
            publish=publish,
            bounds=parameter_file().plausible.command,
            initial_command=hover,
            scenario=scenario,
        )

    def serve(self, to_plant: bytes) -> bytes:
        self.link.to_plant = to_plant
        self.loop.serve()
        to_board, self.link.to_board = self.link.to_board, b""
        return to_board


@dataclass(frozen=True)
class Flight:
    """What it takes to fly the same flight again."""

    scenario: TiltrotorScenario
    start: Truth
    to_plant: list[bytes]  # what the board sent, per control period
    efforts: list[tuple[float, ...]]  # thrusts and torques, per control period
    end: Truth

    @property
    def period_ns(self) -> int:
        return ns(self.scenario.control.period_s)

    def check_end(self, end: Truth, who: str) -> None:
        if end != self.end:
            raise RuntimeError(f"{who} did not fly the same flight: {end} instead of {self.end}")


def run(quick: bool) -> Outcome:
    rounds, periods = (2, 50) if quick else (11, 1000)
    scenario = load_tiltrotor(find("tiltrotor-spiral"))
    flight = fly_closed_loop(scenario, periods)
    with flight_folder() as folder, Crew(folder, scenario) as crew:
        crew.start("recorder")
        topics = Topics(folder, wait=scenario.lockstep)
        to_topics = {name: topics.publisher(BY_NAME[name]).send for name in WRITES}
        nowhere = dict.fromkeys(WRITES, _discard)
        contestants: dict[str, Callable[[], float]] = {
            BARE: lambda: again_bare(flight),
            SILENT: lambda: again(flight, nowhere),
            PUBLISHING: lambda: again(flight, to_topics),
        }
        taken = take_turns(contestants, rounds)
    steps = round(scenario.control.period_s / scenario.world.step_s)
    outcome = Outcome([row(who, "µs", taken[who], BARE, taken[BARE]) for who in (SILENT, PUBLISHING)])
    outcome.notes.append(f"time for one control period ({steps} steps of {scenario.world.step_s * 1e3:g} ms)")
    return outcome


def fly_closed_loop(scenario: TiltrotorScenario, periods: int) -> Flight:
    rows: list[tuple[float, ...]] = []
    plant = Plant(scenario, {**dict.fromkeys(WRITES, _discard), "effort": lambda *row: rows.append(row)})
    board, _ = build_host_board(scenario, lambda *_: None)
    ground = base_station(scenario.ground)
    start, step_ns, period_ns = plant.world.state(0), ns(scenario.world.step_s), ns(scenario.control.period_s)
    to_plant = []
    for cycle in range(periods):
        t_ns = cycle * period_ns
        board.get_references(encode_reference(ground(t_ns)), t_ns)
        request = b"".join(board.on_timer(t_ns))
        actuators = board.on_link(plant.serve(request), t_ns)
        plant.serve(actuators)
        to_plant.append(request + actuators)
        plant.loop.advance_to(t_ns + period_ns)
    end = plant.world.state(plant.loop.t_ns)
    path_end = ground(end.t_ns).pos_W
    if plant.loop.ended or math.dist(end.pos_W, path_end) > 0.5:
        raise RuntimeError(f"the aircraft does not fly: it is at {end.pos_W} instead of {path_end}")
    return Flight(scenario, start, to_plant, [row[1:5] for row in rows[:: period_ns // step_ns]], end)


def again(flight: Flight, publish: dict[str, Publish]) -> float:
    """Median wall time of a control period, in µs."""
    plant = Plant(flight.scenario, publish)
    advance_to, took_ns = plant.loop.advance_to, []
    for cycle, to_plant in enumerate(flight.to_plant, start=1):
        plant.serve(to_plant)
        began_ns = time.perf_counter_ns()
        advance_to(cycle * flight.period_ns)
        took_ns.append(time.perf_counter_ns() - began_ns)
    flight.check_end(plant.world.state(plant.loop.t_ns), "the loop")
    return median(took_ns) / 1e3


def again_bare(flight: Flight) -> float:
    """The same with nothing but MuJoCo; the effort is set between the timed stretches."""
    scenario, start = flight.scenario, flight.start
    model = airframe.build(parameters(scenario.vehicle.parameters), scenario.world.step_s)
    data = mujoco.MjData(model)
    data.qpos[:] = (*start.pos_W, *start.quat_WB, *start.tilt_rad)
    data.qvel[:] = (*start.vel_W, *start.rate_B, *start.tilt_rate_rad_s)
    steps, took_ns = range(flight.period_ns // ns(scenario.world.step_s)), []
    for effort in flight.efforts:
        data.ctrl[:] = effort
        began_ns = time.perf_counter_ns()
        for _ in steps:
            mujoco.mj_step(model, data)
        took_ns.append(time.perf_counter_ns() - began_ns)
    world = Multibody(model)
    pos_W, quat_WB, hinges_rad = tuple(data.qpos[:3]), tuple(data.qpos[3:7]), tuple(data.qpos[7:])
    vel_W, rate_B, rates_rad_s = tuple(data.qvel[:3]), tuple(data.qvel[3:6]), tuple(data.qvel[6:])
    world.reset(pos_W, quat_WB, hinges_rad, vel_W=vel_W, rate_B=rate_B, hinge_rates_rad_s=rates_rad_s)
    flight.check_end(world.state(flight.end.t_ns), "bare mj_step")
    return median(took_ns) / 1e3


def _discard(*_: float) -> None:
    pass
