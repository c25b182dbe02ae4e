"""A multirotor's plant and its virtual Pixhawk in one process, linked in memory: `quad-mission` in lockstep.

Rows are thrown away, so what is left is the arithmetic of both sides and the MAVLink between them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial

from aeroloop.controllers.pixhawk.exchange import behind
from aeroloop.controllers.pixhawk.process import Aircraft
from aeroloop.core.scenario_files import find, load
from aeroloop.exchanges.mavlink_hil import Timing
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.links.memory import memory_pair
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.pace import Pace
from benchmarks.exchange_contexts import DiscardedRows, exchange_context
from benchmarks.measure import Outcome, row, take_turns
from benchmarks.stop_watch import watch

SCENARIO = "quad-mission"
STAGES = {
    "HIL in": ("pixhawk._in.feed", "pixhawk.sensors.sample", "pixhawk.sensors.fix"),
    "estimator": ("pixhawk._take", "pixhawk._take_fix"),
    "logic": ("pixhawk._decide",),
    "law": ("pixhawk._control",),
    "HIL out": ("pixhawk._out.actuators",),
    "services and pilot": ("_serve_grounds",),
    "log": ("_log.note",),
}
"""Calls of an Aircraft, by their path in it."""
START_TIMEOUT_S = 10.0

RUNGS = ("mil", "sil")
ARMED_S = 6.6
"""When the mission has begun, and with it the law."""


def add_rows(outcome: Outcome, quick: bool) -> None:
    """What a tick of each side costs on each rung, and on mil each stage of the Pixhawk's."""
    rounds, duration_s = (1, ARMED_S) if quick else (5, 20.0)
    spent: dict[str, list[Spent]] = {name: [] for name in (*RUNGS, "stages")}

    def flown(name: str) -> float:
        rung = name if name in RUNGS else RUNGS[0]
        spent[name].append(fly(duration_s, rung, stages=name not in RUNGS))
        return spent[name][-1].board_us

    take_turns({name: partial(flown, name) for name in spent}, rounds)
    for rung in RUNGS:
        plant_us, board_us = ([getattr(s, side) for s in spent[rung]] for side in ("plant_us", "board_us"))
        outcome.rows.append(row(f"{SCENARIO} {rung}, virtual Pixhawk", "µs", board_us, "its plant", plant_us))
    whole_us = [flight.board_us for flight in spent["stages"]]
    for stage in STAGES:
        stage_us = [flight.stages_ns[stage] / 1e3 / flight.ticks for flight in spent["stages"]]
        outcome.rows.append(row(f"Pixhawk: {stage}", "µs", stage_us, "the whole Pixhawk", whole_us))


@dataclass
class Spent:
    """Nanoseconds of wall time."""

    ticks: int = 0
    whole_ns: int = 0
    board_ns: int = 0
    stages_ns: dict[str, int] = field(default_factory=dict)

    @property
    def plant_us(self) -> float:
        """Of a tick, with its own end of the link."""
        return (self.whole_ns - self.board_ns) / 1e3 / self.ticks

    @property
    def board_us(self) -> float:
        return self.board_ns / 1e3 / self.ticks


def fly(duration_s: float, rung: str, *, stages: bool = False) -> Spent:
    """From the start of the mission. `stages` puts a stop watch on each, which costs some of what it shows."""
    scenario = load(find(SCENARIO), (f"loop={rung}", "pace=lockstep"))
    assert isinstance(scenario.aircraft, MultirotorTables)
    plant_end, board_end = memory_pair()
    spent, rows = Spent(), DiscardedRows()
    aircraft = Aircraft(scenario, 0, board_end, rows, lambda words: None)
    if stages:
        for stage, paths in STAGES.items():
            for path in paths:
                watch(aircraft, path, spent.stages_ns, stage)

    def serve() -> None:
        began_ns = time.perf_counter_ns()
        aircraft.serve()
        spent.board_ns += time.perf_counter_ns() - began_ns

    board_end.send(aircraft.pixhawk.first_messages())
    board_end.on_data = serve
    place = exchange_context(scenario, 0, rows)
    vehicle, exchange = place.vehicle, behind(place, plant_end, Timing(lambda timeout_s: plant_end.pending))
    exchange.await_ready(START_TIMEOUT_S)
    spent.ticks = round(duration_s * 1e9) // vehicle.step_ns
    craft = Craft(vehicle, [exchange], spent.ticks * vehicle.step_ns)
    began_ns = time.perf_counter_ns()
    ended = run([craft], Pace(vehicle.step_ns, lockstep=True), lambda: False)
    spent.whole_ns = time.perf_counter_ns() - began_ns
    if ended != "completed":
        raise RuntimeError(f"the benchmark's flight ended early: {ended}")
    return spent
