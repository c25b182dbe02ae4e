"""The quadrotor's plant at 500 Hz with the sensors of the `thesis` preset, in turbulence: how many times real time it
is with and without its log, what each stage of a tick costs, and how the cost grows with the number of aircraft. Then
plant and virtual Pixhawk together (`quad_board.py`).

The autopilot is in the same process, answers at once and keeps the aircraft level; its cost is named and counted in.
The log is the plant process's own; the recorder writes it in a process of its own, and it counts until its last row
is in the file.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.exchange import behind
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.core.stream import numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.exchanges.mavlink_hil import MavlinkHil, Timing
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.scenario import MultirotorTables, QuadrotorScenario
from aeroloop.families.multirotor.streams import STREAMS
from aeroloop.flight.processes.recorder import FLUSH_PERIOD_NS, IDLE_S, Recording
from aeroloop.realtime.feed import FeedOut
from aeroloop.realtime.topics import Topics
from aeroloop.recording.log import LogWriter
from aeroloop.sim.loop import Craft
from aeroloop.sim.loop import run as fly_together
from aeroloop.sim.pace import Pace
from aeroloop.sim.vehicle import Vehicle
from benchmarks import quad_board
from benchmarks.exchange_contexts import DiscardedRows, Publish, exchange_context
from benchmarks.flight_processes import PATIENCE_S, flight_folder
from benchmarks.measure import Aim, Outcome, row, take_turns
from benchmarks.stop_watch import watch, watched

STEP_NS = NS // 500
WARM_UP = 100
HEIGHT_M = 20.0
FLEETS = (2, 4, 8)
AIM = Aim(20.0, at_least=True)
BARE, LOGGED = "quadrotor at 500 Hz", "quadrotor at 500 Hz, log included"
IRIS = airframe.load("iris")
HOVER_RAD_S = 790.0
SETTINGS = (
    "loop=sil",
    "pace=lockstep",
    f"world.step_s={STEP_NS / NS}",
    "sensors.preset=thesis",
    "world.wind.turbulence.w20_m_s=7.7",
)


class Autopilot:
    """The far end of a link: one answer a sample, from the true state, which keeps the aircraft level at its height."""

    url = "memory"
    _FRAME = struct.Struct("<BBBBBBBHB")
    _ACTUATORS = dialect.MAVLink_hil_actuator_controls_message

    def __init__(self) -> None:
        self.vehicle: Any = None
        self._t_us = self._seq = 0
        self._owed = False
        motors = IRIS.motors
        hover_rad_s = (IRIS.body.mass_kg * 9.81 / (4 * IRIS.rotors.thrust_Ns2)) ** 0.5
        self._hover = (hover_rad_s - motors.speed_idle_rad_s) / (motors.speed_max_rad_s - motors.speed_idle_rad_s)
        self._gains = [
            (4 * y, 4 * x, spin) for (x, y, _), spin in zip(IRIS.rotors.pos_B_m, IRIS.rotors.spin, strict=True)
        ]

    def send(self, data: bytes) -> None:
        self._t_us += STEP_NS // 1000
        self._owed = True

    def poll(self) -> bytes:
        if not self._owed:
            return b""
        self._owed = False
        state = self.vehicle.state
        _, qx, qy, _ = state.quat_WB
        p, q, r = state.rate_B
        lift = self._hover + 0.1 * (HEIGHT_M - state.pos_W[2]) - 0.1 * state.vel_W[2]
        roll, pitch, yaw = -0.4 * qx - 0.04 * p, 0.4 * qy + 0.04 * q, 0.05 * r
        motors = [min(1.0, max(0.0, lift + right * roll + up * pitch + s * yaw)) for right, up, s in self._gains]
        payload = self._ACTUATORS.unpacker.pack(self._t_us, 1, *motors, *(0.0,) * 12, 129)
        head = self._FRAME.pack(0xFD, len(payload), 0, 0, self._seq, 1, 1, self._ACTUATORS.id, 0)
        self._seq = (self._seq + 1) & 0xFF
        body = head[1:] + payload
        crc: int = dialect.x25crc(body + bytes([self._ACTUATORS.crc_extra])).crc
        return b"\xfd" + body + crc.to_bytes(2, "little")

    def fileno(self) -> int:
        return -1

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


class Log:
    """What the plant process writes down, by its own code, to the recorder on the other side of the topics."""

    def __init__(self, folder: Path, scenario: QuadrotorScenario, written: Callable[[int], None]) -> None:
        self._topics = Topics(folder, wait=True)
        streams = writes("plant", streams_of(scenario), scenario.loop)
        self._publishers = [self._topics.publisher(stream) for stream in streams]
        self.publish = {stream.name: p.send for stream, p in zip(streams, self._publishers, strict=True)}
        self._written = written

    def await_written(self) -> None:
        self._topics.flush()
        self._written(sum(publisher.sent for publisher in self._publishers))


def run(quick: bool) -> Outcome:
    rounds, ticks = (1, 200) if quick else (7, 10_000)
    scenario = load(find("quad-hover"), SETTINGS)
    assert isinstance(scenario.aircraft, MultirotorTables)
    spent: dict[str, int] = dict.fromkeys(STAGES, 0)
    with flight_folder() as folder, recorder(folder) as written:
        log = Log(folder, scenario, written)
        contestants = {
            BARE: partial(_factor, scenario, ticks),
            LOGGED: partial(_logged_factor, scenario, ticks, log),
            "clocked": partial(_factor, scenario, ticks, spent=spent, log=log),
            **{f"{n}": partial(_factor, scenario, ticks // n, count=n) for n in FLEETS},
        }
        factors = take_turns(contestants, rounds)
        log.await_written()
    outcome = Outcome()
    real_time = [1.0] * rounds
    outcome.rows.append(row(BARE, "times", factors[BARE], "real time", real_time))
    outcome.rows.append(row(LOGGED, "times", factors[LOGGED], "real time", real_time, AIM))
    whole_us = STEP_NS / 1e3 / (sum(factors["clocked"]) / rounds)
    for name, spent_ns in spent.items():
        taken_us = spent_ns / 1e3 / (rounds * (ticks + WARM_UP))
        outcome.rows.append(row(name, "µs", [taken_us], "a whole tick", [whole_us]))
    one_us = [STEP_NS / 1e3 / factor for factor in factors[BARE]]
    for n in FLEETS:
        each_us = [STEP_NS / 1e3 / factor / n for factor in factors[f"{n}"]]
        outcome.rows.append(row(f"{n} aircraft, each", "µs", each_us, "one alone", one_us))
    quad_board.add_rows(outcome, quick)
    outcome.notes.append("stages are measured with a stop watch around each call, which costs some of what it shows")
    return outcome


def _logged_factor(scenario: QuadrotorScenario, ticks: int, log: Log) -> float:
    log.await_written()
    fleet = [Flown(scenario, 0, numbered(log.publish, 0))]
    _fly(fleet, WARM_UP)
    began_s = time.perf_counter()
    _fly(fleet, ticks)
    log.await_written()
    return ticks * STEP_NS / NS / (time.perf_counter() - began_s)


def _factor(
    scenario: QuadrotorScenario,
    ticks: int,
    *,
    count: int = 1,
    spent: dict[str, int] | None = None,
    log: Log | None = None,
) -> float:
    fleet = [
        Flown(scenario, number, numbered(log.publish, number) if log is not None else None) for number in range(count)
    ]
    if spent is not None:
        for flown in fleet:
            flown.put_watches_on(spent)
    _fly(fleet, WARM_UP)
    began_s = time.perf_counter()
    _fly(fleet, ticks)
    return ticks * STEP_NS / NS / (time.perf_counter() - began_s)


STAGES = {
    "motors, body, earth and atmosphere": ("vehicle._motion.drive",),
    "wind": ("vehicle.surroundings.move",),
    "sensors": (),
    "HIL_SENSOR out": ("exchange._out.sensor",),
    "publishing": ("vehicle._rows.step", "exchange._rows.exchanged"),
    "autopilot (the benchmark's)": ("exchange._link.poll",),
    "actuators in": ("exchange._in.feed",),
}
"""Calls of an aircraft, by their path in it."""


class NoRows:
    """In place of what a vehicle logs."""

    def step(self, *_: object) -> None: ...
    def event(self, *_: object) -> None: ...
    def fault(self, *_: object) -> None: ...
    def pace(self, *_: object) -> None: ...


class Flown:
    """One aircraft as the plant process builds it, set in the air, and its autopilot."""

    def __init__(self, scenario: QuadrotorScenario, number: int, publish: Mapping[str, Publish] | None) -> None:
        """Without `publish` nothing is logged."""
        link = Autopilot()
        place = exchange_context(scenario, number, DiscardedRows() if publish is None else publish)
        self.vehicle: Vehicle[Any, Any] = place.vehicle
        link.vehicle = self.vehicle
        self.exchange: MavlinkHil = behind(place, link, Timing(lambda timeout_s: False))
        self._lift()
        if publish is None:
            self.vehicle._rows = NoRows()
            self.exchange._rows = None

    def _lift(self) -> None:
        stages: Any = self.vehicle._stages
        stages.motion.reset((0.0, 0.0, HEIGHT_M, 1.0, *(0.0,) * 15), [HOVER_RAD_S] * IRIS.rotors.count)
        self.vehicle.state = stages.motion.state(0)

    def put_watches_on(self, spent: dict[str, int]) -> None:
        for stage, paths in STAGES.items():
            for path in paths:
                watch(self, path, spent, stage)
        stages = self.vehicle._stages
        self.vehicle._stages = dataclasses.replace(stages, sense=watched(stages.sense, spent, "sensors"))


def _fly(fleet: list[Flown], ticks: int) -> None:
    until_ns = fleet[0].vehicle.t_ns + ticks * STEP_NS
    crafts = [Craft(flown.vehicle, [flown.exchange], until_ns) for flown in fleet]
    ended = fly_together(crafts, Pace(STEP_NS, lockstep=True), lambda: False)
    heights_m = [flown.vehicle.state.pos_W[2] for flown in fleet]
    if ended != "completed" or min(heights_m) < HEIGHT_M / 2:
        raise RuntimeError(f"the benchmark's aircraft did not stay up: {ended}, heights {heights_m} m")


@contextmanager
def recorder(folder: Path) -> Iterator[Callable[[int], None]]:
    """A recorder in a process of its own, and how to wait until all rows are in its file."""
    spawn = multiprocessing.get_context("spawn")
    line, theirs = spawn.Pipe()
    process = spawn.Process(target=record, args=(theirs, str(folder)), daemon=True)
    process.start()

    def answer() -> Any:
        if not line.poll(PATIENCE_S):
            raise RuntimeError(f"the recorder gave no word within {PATIENCE_S:g} s")
        return line.recv()

    def written(count: int) -> None:
        line.send(count)
        answer()

    try:
        answer()
        yield written
    finally:
        process.terminate()
        process.join()


def record(line: Connection, folder: str) -> None:
    """As the recorder process does; says when it has written as many rows as it is told."""
    log, feed = LogWriter(Path(folder) / "log.mcap", STREAMS), FeedOut(Path(folder), STREAMS)
    recording = Recording(Topics(Path(folder), wait=True), log, feed, STREAMS)
    line.send("ready")
    had, wanted, flushed_ns = 0, -1, time.monotonic_ns()
    while True:
        new = recording.drain()
        had += new
        if not new:
            time.sleep(IDLE_S)
        if time.monotonic_ns() - flushed_ns > FLUSH_PERIOD_NS:
            flushed_ns = time.monotonic_ns()
            log.flush()
        feed.step(time.monotonic_ns())
        if wanted < 0 and line.poll():
            wanted = line.recv()
        if 0 <= wanted <= had:
            log.flush()
            line.send(had)
            wanted = -1
