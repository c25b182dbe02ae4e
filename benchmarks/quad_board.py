"""A multirotor's plant and its virtual Pixhawk in one process, linked in memory: `quad-mission` in lockstep.

Rows are thrown away, so what is left is the arithmetic of both sides and the MAVLink between them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aeroloop.flight.processes.hil_log import FlightLog
from aeroloop.flight.processes.hil_plant import build_loop
from aeroloop.sim.fleet import FleetPace, fly_together

from aeroloop.controllers.pixhawk.process import Aircraft
from aeroloop.core.scenario_files import find, load
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from benchmarks.measure import Outcome, row, take_turns

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


class MemoryEnd:
    """One end of a link whose ends take turns in one process."""

    url = "memory"

    def __init__(self) -> None:
        self.peer = self
        self.inbox = b""
        self.before_poll: Callable[[], None] = lambda: None

    def fileno(self) -> int:
        return -1

    def send(self, data: bytes) -> None:
        self.peer.inbox += data

    def poll(self) -> bytes:
        self.before_poll()
        data, self.inbox = self.inbox, b""
        return data

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


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
    assert isinstance(scenario, QuadrotorScenario)
    plant_end, board_end = MemoryEnd(), MemoryEnd()
    plant_end.peer, board_end.peer = board_end, plant_end
    spent = Spent()
    rows = _Nowhere()
    aircraft = Aircraft(scenario, 0, board_end, rows, lambda words: None)
    if stages:
        for stage, paths in STAGES.items():
            for path in paths:
                _watch(aircraft, path, spent.stages_ns, stage)

    def serve() -> None:
        if board_end.inbox:
            began_ns = time.perf_counter_ns()
            aircraft.serve()
            spent.board_ns += time.perf_counter_ns() - began_ns

    plant_end.before_poll = serve
    step_ns = round(scenario.world.step_s * 1e9)
    pace = FleetPace(step_ns, lockstep=True)
    imu = scenario.aboard.imu
    assert imu is not None
    log = FlightLog(0, scenario.aboard, imu.rate_hz, rows, pace)
    log.loop = loop = build_loop(scenario, 0, plant_end, log)
    board_end.send(aircraft.pixhawk.greet())
    loop.hear()
    spent.ticks = round(duration_s * 1e9) // step_ns
    began_ns = time.perf_counter_ns()
    ended = fly_together([loop], spent.ticks * step_ns, pace)
    spent.whole_ns = time.perf_counter_ns() - began_ns
    if ended != "time":
        raise RuntimeError(f"the benchmark's flight ended early: {ended}")
    return spent


class _Nowhere(dict[str, Callable[..., None]]):
    """Takes the rows of every stream, and keeps none."""

    def __missing__(self, stream: str) -> Callable[..., None]:
        self[stream] = lambda *row: None
        return self[stream]


def _watch(root: object, path: str, spent_ns: dict[str, int], stage: str) -> None:
    *owners, method = path.split(".")
    owner: Any = root
    for name in owners:
        owner = getattr(owner, name)
    call = getattr(owner, method)
    spent_ns.setdefault(stage, 0)

    def timed(*arguments: object, **named: object) -> object:
        began_ns = time.perf_counter_ns()
        result = call(*arguments, **named)
        spent_ns[stage] += time.perf_counter_ns() - began_ns
        return result

    setattr(owner, method, timed)
