"""Flight commands against the virtual Pixhawk's services over a bad line, in simulated time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pymavlink.dialects.v20 import common as mavlink

from aeroloop.ground.commands.errors import NoAnswerError
from aeroloop.ground.commands.hub import Hub
from aeroloop.ground.commands.state import VehicleState
from aeroloop.ground.commands.transaction import Patience, Transaction
from aeroloop.ground.commands.vehicle import Vehicle
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from peers.ground_peer import Bench

TICK_NS = 20_000_000
NS = 1_000_000_000
STUBBORN = Patience(answer_s=0.5, tries=40)
T = TypeVar("T")


@dataclass
class Weather:
    """What the line does to each frame, either way."""

    seed: int = 0
    loss: float = 0.0
    twice: float = 0.0
    latest_s: float = 0.0  # reorders, too


class Line:
    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self._random = random.Random(weather.seed)
        self._under_way: list[tuple[int, int, Frame]] = []
        self._number = 0
        self._split = MavlinkIn(MavlinkCounters())
        self.lose: Callable[[Frame], bool] = lambda _: False

    def put(self, wire: bytes, t_ns: int) -> None:
        for frame in self._split.feed(wire):
            if self._random.random() < self._weather.loss or self.lose(frame):
                continue
            for _ in range(1 + (self._random.random() < self._weather.twice)):
                self._number += 1
                late_ns = round(self._random.random() * self._weather.latest_s * NS)
                self._under_way.append((t_ns + late_ns, self._number, frame))

    def take(self, t_ns: int) -> list[Frame]:
        here = sorted(entry for entry in self._under_way if entry[0] <= t_ns)
        self._under_way = [entry for entry in self._under_way if entry[0] > t_ns]
        return [frame for _, _, frame in here]


class SimStation:
    """What `Vehicle` needs of a station; time passes while somebody waits."""

    url = "simulated"

    def __init__(self, weather: Weather | None = None, patience: Patience = STUBBORN, system: int = 1) -> None:
        self.bench = Bench(system=system)
        self.hub = Hub()
        self.patience = patience
        self.t_ns = 0
        self.down, self.up = Line(Weather()), Line(Weather())
        self.heard: list[Any] = []  # by the aircraft
        self.strangers: list[Callable[[int], bytes]] = []
        while not self.hub.systems:
            self.tick()
        if weather is None:
            return
        self.bench.services.links[0].rates.set_group(0, 0, 0)  # telemetry would only cost time
        self.down, self.up = (
            Line(weather),
            Line(Weather(weather.seed + 1, weather.loss, weather.twice, weather.latest_s)),
        )

    @property
    def me(self) -> tuple[int, int]:
        return self.hub.me

    @property
    def vehicle(self) -> Vehicle:
        return Vehicle(self, self.hub.systems[0])  # type: ignore[arg-type]

    def tick(self) -> None:
        self.t_ns += TICK_NS
        self.bench.logic.step(self.t_ns)
        self.down.put(self.bench.services.step(self.t_ns)[0], self.t_ns)
        for stranger in self.strangers:
            self.hub.receive(stranger(self.t_ns), self.t_ns)
        for frame in self.down.take(self.t_ns):
            self.hub.receive(frame.wire, self.t_ns)
        for wire in self.hub.step(self.t_ns):
            self.up.put(wire, self.t_ns)
        for frame in self.up.take(self.t_ns):
            if frame.msg_id != mavlink.MAVLINK_MSG_ID_HEARTBEAT:
                self.heard.append(frame.message())
            self.down.put(self.bench.services.receive(0, frame, self.t_ns), self.t_ns)

    def transact(self, transaction: Transaction[T], watch: Callable[[], None] | None = None) -> T:
        self.hub.begin(transaction, self.t_ns)
        end_ns = self.t_ns + 600 * NS
        while not transaction.done:
            assert self.t_ns < end_ns, f"{transaction.what} never ends"
            self.tick()
            if watch is not None:
                watch()
        return transaction.result

    def state(self, system: int) -> VehicleState:
        return self.hub.state(system)

    def send(self, message: Any) -> None:
        self.hub.send(message)
        self.tick()

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * NS) // TICK_NS):
            self.tick()

    def wait_for(self, fulfilled: Callable[[T], bool], look: Callable[[], T], timeout_s: float, otherwise: str) -> T:
        end_ns = self.t_ns + timeout_s * NS
        while not fulfilled(seen := look()):
            if self.t_ns >= end_ns:
                raise NoAnswerError(otherwise)
            self.tick()
        return seen


class Puppet:
    """An aircraft that says what the test wants: frames of its own, checked by the line's parser."""

    def __init__(self, system: int = 1, component: int = 1) -> None:
        self._out = MavlinkOut(MavlinkCounters(), system, component)
        self._in = MavlinkIn(MavlinkCounters())

    def frame(self, message: Any) -> Frame:
        (frame,) = self._in.feed(self._out.pack(message))
        return frame

    def heartbeat(self, autopilot: int = mavlink.MAV_AUTOPILOT_PX4) -> Frame:
        return self.frame(mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_QUADROTOR, autopilot, 0, 0, 3, 3))

    def ack(self, command: int, result: int, to: tuple[int, int] = (0, 0)) -> Frame:
        return self.frame(mavlink.MAVLink_command_ack_message(command, result, 0, 0, *to))

    def text(self, words: bytes, number: int = 0, place: int = 0, severity: int = 2) -> Frame:
        return self.frame(mavlink.MAVLink_statustext_message(severity, words, number, place))
