"""ArduPilot's JSON interface: round trips of our side alone, and a flight in lockstep with a stand-in."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from functools import partial
from types import SimpleNamespace

from aeroloop.core.signals import RigidState
from aeroloop.exchanges.ardupilot_json import JsonAutopilot, Settings
from aeroloop.exchanges.mavlink_hil import Timing
from aeroloop.protocols.servo_pulses import motor_pulses
from aeroloop.sensors.imu import ImuSample
from benchmarks.command import fly
from benchmarks.measure import Aim, Outcome, row, take_turns

PERIOD_NS = 1_250_000
REQUIRED_PER_S = 10_000.0
PACKET = struct.Struct("<HHI16H")
TRIPS, FLIGHT = "round trips of our side", "quad-ardupilot at 800 Hz with a stand-in that answers at once"
AIM = Aim(1.0, at_least=True)


def run(quick: bool) -> Outcome:
    rounds, trips, duration_s = (1, 2000, 1.0) if quick else (5, 50_000, 20.0)
    taken = take_turns({TRIPS: partial(_trips, trips), FLIGHT: partial(_flight, duration_s)}, rounds)
    required, real_time = [REQUIRED_PER_S] * rounds, [1.0] * rounds
    return Outcome(
        [
            row(TRIPS, "1/s", taken[TRIPS], "required", required, AIM),
            row(FLIGHT, "times", taken[FLIGHT], "real time", real_time, AIM),
        ],
        [
            "a round trip: read a servo packet, map its pulses, write and check the answer, send it over a link in "
            "memory; without the step of the aircraft",
            "the flight with its log, plant and stand-in in processes of their own over UDP",
        ],
    )


class Line:
    """A link in memory whose far end sends the next packet at once."""

    url = "memory"

    def __init__(self) -> None:
        self.frame = 0
        self._waiting = [self._packet()]

    def _packet(self) -> bytes:
        return PACKET.pack(18458, 800, self.frame, *[1700] * 4, *[0] * 12)

    def send(self, data: bytes) -> None:
        self.frame += 1
        self._waiting.append(self._packet())

    def datagrams(self) -> list[bytes]:
        waiting, self._waiting = self._waiting, []
        return waiting

    def close(self) -> None: ...


class Vehicle:
    """An aircraft that does not move: its step is no part of what is measured."""

    def __init__(self) -> None:
        self.t_ns, self.ended = 0, ""
        at_rest = ((1.25, -2.5, 10.0), (0.99, 0.01, 0.02, 0.1), (0.1, 0.2, -0.3), (0.01, 0.0, 0.0), (0.0, 0.0, 0.0))
        self.state = RigidState(0, *at_rest)
        self.surroundings = SimpleNamespace(air=SimpleNamespace(wind_W=(1.0, 2.0, 0.0)))
        self._inbox: list[ImuSample] = []

    def tap(self) -> list[ImuSample]:
        return self._inbox

    def restart(self) -> None: ...

    def advance(self) -> None:
        self.t_ns += PERIOD_NS
        self._inbox.append(ImuSample(self.t_ns, self.t_ns, (0.012345, -0.23456, 0.34567), (0.12, -0.3456, 9.8123)))


def _trips(count: int) -> float:
    vehicle, line = Vehicle(), Line()
    settings = Settings(motor_pulses((1, 2, 3, 4), 1000.0, 1000.0), PERIOD_NS)
    exchange = JsonAutopilot(vehicle, line, Timing(lambda timeout_s: True), settings)
    exchange.await_ready(1.0)
    began_s = time.perf_counter()
    for _ in range(count):
        vehicle.advance()
        exchange.receive(vehicle.t_ns)
        exchange.serve()
        exchange.settle()
    taken_s = time.perf_counter() - began_s
    if line.frame != count or exchange.command != (0.7,) * 4:
        raise RuntimeError(f"{line.frame} of {count} packets were answered")
    return count / taken_s


def _flight(duration_s: float) -> float:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with subprocess.Popen([sys.executable, "-m", "benchmarks.ardupilot_stand_in", str(port)]) as process:
        try:
            changes = (f"duration_s={duration_s}", "checks=[]", "telemetry.url=none", "pilot.source=external")
            options = [word for change in changes for word in ("--set", change)]
            link = f"udp://127.0.0.1:{port}?listen"
            return fly("quad-ardupilot", "--link", link, "--no-report", *options).real_time_factor
        finally:
            process.terminate()
