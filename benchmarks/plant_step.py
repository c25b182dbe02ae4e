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

from aeroloop.controllers.law.exchange import request_behind
from aeroloop.controllers.law.ground_process import base_station
from aeroloop.controllers.law.request_shell import build_host_board
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import NS, Truth
from aeroloop.core.stream import Stream, numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.links.memory import memory_pair
from aeroloop.protocols.reference import encode_reference
from aeroloop.realtime.topics import Topics
from aeroloop.sim.loop import Craft
from aeroloop.world.multibody import Multibody
from benchmarks.exchange_contexts import Publish, discard, exchange_context
from benchmarks.flight_processes import FlightProcesses, flight_folder
from benchmarks.measure import Outcome, row, take_turns

BARE, SILENT, PUBLISHING = "bare mj_step", "plant step, publishing nothing", "plant step, publishing to the recorder"


class Plant:
    """Vehicle and exchange as the plant process builds them, over a link in memory; time is moved by hand."""

    def __init__(self, scenario: TiltrotorScenario, publish: dict[str, Publish]) -> None:
        plant_end, self._board_end = memory_pair()
        place = exchange_context(scenario, 0, publish)
        self.vehicle = place.vehicle
        self._exchange = request_behind(place, plant_end, None, None)
        self.advance_to = Craft(self.vehicle, [self._exchange], scenario.end_ns).advance

    def serve(self, to_plant: bytes) -> bytes:
        self._board_end.send(to_plant)
        self._exchange.serve()
        return self._board_end.poll()


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
        return round(self.scenario.controller.control.period_s * NS)

    @property
    def steps(self) -> int:
        """In a control period."""
        return self.period_ns // round(self.scenario.aircraft.world.step_s * NS)

    def check_end(self, end: Truth, who: str) -> None:
        if end != self.end:
            raise RuntimeError(f"{who} did not fly the same flight: {end} instead of {self.end}")


def run(quick: bool) -> Outcome:
    rounds, periods = (2, 50) if quick else (11, 1000)
    scenario = load_tiltrotor(find("tiltrotor-spiral"))
    flight = fly_closed_loop(scenario, periods)
    with flight_folder() as folder, FlightProcesses(folder, scenario) as processes:
        processes.start("recorder")
        topics = Topics(folder, wait=scenario.lockstep)
        to_topics = numbered({stream.name: topics.publisher(stream).send for stream in _streams(scenario)}, 0)
        contestants: dict[str, Callable[[], float]] = {
            BARE: lambda: again_bare(flight),
            SILENT: lambda: again(flight, _nowhere(scenario)),
            PUBLISHING: lambda: again(flight, to_topics),
        }
        taken = take_turns(contestants, rounds)
    outcome = Outcome([row(who, "µs", taken[who], BARE, taken[BARE]) for who in (SILENT, PUBLISHING)])
    outcome.notes.append(
        f"time for one control period ({flight.steps} steps of {scenario.aircraft.world.step_s * 1e3:g} ms)"
    )
    return outcome


def fly_closed_loop(scenario: TiltrotorScenario, periods: int) -> Flight:
    rows: list[tuple[float, ...]] = []
    plant = Plant(scenario, {**_nowhere(scenario), "effort": lambda *row: rows.append(row)})
    board, _ = build_host_board(scenario, lambda *_: None)
    ground = base_station(scenario.controller.ground)
    start, period_ns = plant.vehicle.state, round(scenario.controller.control.period_s * NS)
    to_plant = []
    for cycle in range(periods):
        t_ns = cycle * period_ns
        board.get_references(encode_reference(ground(t_ns)), t_ns)
        request = b"".join(board.on_timer(t_ns))
        actuators = board.on_link(plant.serve(request), t_ns)
        plant.serve(actuators)
        to_plant.append(request + actuators)
        plant.advance_to(t_ns + period_ns)
    end = plant.vehicle.state
    path_end = ground(end.t_ns).pos_W
    if plant.vehicle.ended or math.dist(end.pos_W, path_end) > 0.5:
        raise RuntimeError(f"the aircraft does not fly: it is at {end.pos_W} instead of {path_end}")
    return Flight(scenario, start, to_plant, [row[1:5] for row in rows[:: len(rows) // periods]], end)


def again(flight: Flight, publish: dict[str, Publish]) -> float:
    """Median wall time of a control period, in µs."""
    plant = Plant(flight.scenario, publish)
    advance_to, took_ns = plant.advance_to, []
    for cycle, to_plant in enumerate(flight.to_plant, start=1):
        plant.serve(to_plant)
        began_ns = time.perf_counter_ns()
        advance_to(cycle * flight.period_ns)
        took_ns.append(time.perf_counter_ns() - began_ns)
    flight.check_end(plant.vehicle.state, "the loop")
    return median(took_ns) / 1e3


def again_bare(flight: Flight) -> float:
    """The same with nothing but MuJoCo; the effort is set between the timed stretches."""
    scenario, start = flight.scenario, flight.start
    model = airframe.build(parameters(scenario.aircraft.vehicle.parameters), scenario.aircraft.world.step_s)
    data = mujoco.MjData(model)
    data.qpos[:] = (*start.pos_W, *start.quat_WB, *start.tilt_rad)
    data.qvel[:] = (*start.vel_W, *start.rate_B, *start.tilt_rate_rad_s)
    steps, took_ns = range(flight.steps), []
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


def _streams(scenario: TiltrotorScenario) -> tuple[Stream, ...]:
    return writes("plant", streams_of(scenario), scenario.loop)


def _nowhere(scenario: TiltrotorScenario) -> dict[str, Publish]:
    return {stream.name: discard for stream in _streams(scenario)}
