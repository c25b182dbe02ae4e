"""The quadrotor's plant at 500 Hz with the sensors of the `thesis` preset, in turbulence: how many times real time it
is with and without its log, what each stage of a tick costs, and how the cost grows with the number of aircraft. Then
plant and virtual Pixhawk together (`quad_board.py`).

The autopilot is in the same process, answers at once and keeps the aircraft level; its cost is named and counted in.
The log is the plant process's own; the recorder writes it in a process of its own, and it counts until its last row
is in the file.
"""

from __future__ import annotations

import multiprocessing
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from aeroloop.exchanges.autopilot_loop import AutopilotLoop, Timing
from aeroloop.flight.processes.hil_log import FlightLog
from aeroloop.sim.fleet import FleetPace, fly_together
from pymavlink.dialects.v20 import common as dialect

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.core.signals import NS, RigidState
from aeroloop.core.streams import writes
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.streams import STREAMS
from aeroloop.flight.processes.recorder import FLUSH_PERIOD_NS, IDLE_S, Recording
from aeroloop.realtime.feed import FeedOut
from aeroloop.realtime.topics import Topics
from aeroloop.recording.log import LogWriter
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import SensorSet, Suite, preset
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.dryden import Turbulence
from aeroloop.world.earth import Earth, Home
from aeroloop.world.wind import Wind, WindConfig
from benchmarks import quad_board
from benchmarks.crew import PATIENCE_S, flight_folder
from benchmarks.measure import Aim, Outcome, row, take_turns

STEP_NS = NS // 500
WARM_UP = 100
HEIGHT_M = 20.0
FLEETS = (2, 4, 8)
AIM = Aim(20.0, at_least=True)
BARE, LOGGED = "quadrotor at 500 Hz", "quadrotor at 500 Hz, log included"
IRIS = airframe.load("iris")
SENSORS = preset("thesis")
Loop = AutopilotLoop[RotorEffort]


class Autopilot:
    """The far end of a link: one answer a sample, from the true state, which keeps the aircraft level at its height."""

    url = "memory"
    _FRAME = struct.Struct("<BBBBBBBHB")
    _ACTUATORS = dialect.MAVLink_hil_actuator_controls_message

    def __init__(self) -> None:
        self.loop: Any = None
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
        state: RigidState = self.loop.state
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


class Log:
    """What the plant process writes down, by its own code, to the recorder on the other side of the topics."""

    def __init__(self, folder: Path, written: Callable[[int], None]) -> None:
        self._topics = Topics(folder, wait=True)
        self._publishers = [self._topics.publisher(stream) for stream in writes("plant", STREAMS, "sil")]
        streams = writes("plant", STREAMS, "sil")
        self._send = {stream.name: p.send for stream, p in zip(streams, self._publishers, strict=True)}
        self._written = written

    def observer(self, aboard: SensorSet) -> FlightLog:
        return FlightLog(0, aboard, 500.0, self._send, FleetPace(STEP_NS, lockstep=True))

    def await_written(self) -> None:
        self._topics.flush()
        self._written(sum(publisher.sent for publisher in self._publishers))


def run(quick: bool) -> Outcome:
    rounds, ticks = (1, 200) if quick else (7, 10_000)
    spent: dict[str, int] = {}
    with flight_folder() as folder, recorder(folder) as written:
        log = Log(folder, written)
        contestants = {
            BARE: partial(_factor, ticks),
            LOGGED: partial(_logged_factor, ticks, log),
            "clocked": partial(_factor, ticks, spent=spent, log=log),
            **{f"{n}": partial(_factor, ticks // n, count=n) for n in FLEETS},
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


def _logged_factor(ticks: int, log: Log) -> float:
    log.await_written()
    loops = _loops(1, log)
    _fly(loops, WARM_UP)
    began_s = time.perf_counter()
    _fly(loops, ticks)
    log.await_written()
    return ticks * STEP_NS / NS / (time.perf_counter() - began_s)


def _factor(ticks: int, *, count: int = 1, spent: dict[str, int] | None = None, log: Log | None = None) -> float:
    loops = _loops(count, log)
    if spent is not None:
        for loop in loops:
            _put_watches_on(loop, spent)
    _fly(loops, WARM_UP)
    began_s = time.perf_counter()
    _fly(loops, ticks)
    return ticks * STEP_NS / NS / (time.perf_counter() - began_s)


def _fly(loops: list[Loop], ticks: int) -> None:
    until_ns = loops[0].t_ns + ticks * STEP_NS
    ended = fly_together(loops, until_ns, FleetPace(STEP_NS, lockstep=True))
    low = [loop.state.pos_W[2] for loop in loops if loop.state.pos_W[2] < HEIGHT_M / 2]
    if ended != "time" or low:
        raise RuntimeError(f"the benchmark's aircraft did not stay up: {ended}, heights {low}")


def _loops(count: int, log: Log | None) -> list[Loop]:
    loops = []
    for number in range(count):
        streams = Streams(1 + number)
        motors, world, link = Motors(IRIS.motors, IRIS.rotors.count), airframe.world(IRIS, STEP_NS / NS), Autopilot()
        world.reset((0.0, 0.0, HEIGHT_M), (1.0, 0.0, 0.0, 0.0))
        motors.reset([790.0] * IRIS.rotors.count)
        note = log.observer(SENSORS) if log is not None else None
        loop = AutopilotLoop(
            motors=motors,
            world=world,
            earth=Earth(Home()),
            atmosphere=Atmosphere(Day()),
            wind=Wind(WindConfig(turbulence=Turbulence(w20_m_s=7.7)), streams.generator("wind")),
            sensors=Suite(SENSORS, streams),
            link=link,
            timing=Timing(until=lambda t_ns: None, readable=lambda timeout_s: False),
            rotors=IRIS.rotors.count,
            step_ns=STEP_NS,
            prompt=True,
            note=note,
            load=airframe.supply(IRIS),
        )
        link.loop = loop
        if note is not None:
            note.loop = loop
        loops.append(loop)
    return loops


WATCHED = {
    "motors": ("_motors", "step"),
    "world": ("_world", "step"),
    "earth": ("_earth", "place"),
    "wind": ("_wind", "step"),
    "atmosphere": ("_atmosphere", "air"),
    "sensors": ("_sensors", "sample"),
    "autopilot (the benchmark's)": ("_link", "poll"),
}


class Watched:
    """A stage with a stop watch on one of its methods."""

    def __init__(self, stage: object, spent: dict[str, int], name: str, method: str) -> None:
        self._stage = stage
        setattr(self, method, _watched(getattr(stage, method), spent, name))

    def __getattr__(self, name: str) -> object:
        return getattr(self._stage, name)


def _put_watches_on(loop: Any, spent: dict[str, int]) -> None:
    for name, (stage, method) in WATCHED.items():
        setattr(loop, stage, Watched(getattr(loop, stage), spent, name, method))
    loop._out.sensor = _watched(loop._out.sensor, spent, "HIL_SENSOR out")
    loop._in.feed = _watched(loop._in.feed, spent, "actuators in")
    loop._note = _watched(loop._note, spent, "publishing")


def _watched(call: Callable[..., object], spent: dict[str, int], name: str) -> Callable[..., object]:
    def timed(*arguments: object) -> object:
        began_ns = time.perf_counter_ns()
        result = call(*arguments)
        spent[name] = spent.get(name, 0) + time.perf_counter_ns() - began_ns
        return result

    return timed


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
