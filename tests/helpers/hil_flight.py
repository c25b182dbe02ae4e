"""The quadrotor's plant in one loop with a strict PX4, over a link in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from failing_sensors import FailingSuite
from pymavlink.dialects.v20 import common as mavlink
from quad_pilot import BRISK, Pilot

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.faults import PlannedFault
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Air, Event, RigidState
from aeroloop.exchanges.mavlink_hil import Timing
from aeroloop.families.multirotor import airframe
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import SensorSet, preset
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.wind import Wind, WindConfig
from peers.hil_loop import HilLoop
from peers.px4_peer import Expected, Px4Peer

STEP_NS = 4_000_000
HANG_S = 120.0
HOME = Home(lat_deg=47.397742, lon_deg=8.545594, alt_m=488.0, date=date(2026, 6, 1))
IRIS = airframe.load("iris")
LIGHT_WIND = WindConfig(steady_W=(1.5, -0.5, 0.0))
EXPECTED = Expected(sensor_Hz=250.0, magnetometer_Hz=50.0, barometer_Hz=50.0, gnss_Hz=10.0)


def quad_sensors() -> SensorSet:
    """PX4's set, as a multirotor has it."""
    px4 = preset("px4")
    return SensorSet(imu=px4.imu, magnetometer=px4.magnetometer, barometer=px4.barometer, gnss=px4.gnss)


def goal_W(t_s: float) -> Vec3:
    """Up to 20 m, three wide circles a minute apart, and down again."""
    if t_s < 260.0:
        angle = 2.0 * np.pi * max(0.0, t_s - 30.0) / 60.0
        return (15.0 * float(np.sin(angle)), 15.0 * (1.0 - float(np.cos(angle))), min(20.0, 1.5 * max(0.0, t_s - 8.0)))
    return (0.0, 0.0, max(-0.5, 20.0 - 1.0 * (t_s - 260.0)))


class Wire:
    """A link whose far end answers while it is being written to."""

    url = "memory"

    def __init__(self, peer: Px4Peer) -> None:
        self._peer = peer
        self._back = peer.connect()
        self.sent = hashlib.sha256()

    def send(self, data: bytes) -> None:
        self.sent.update(data)
        self._back += self._peer.receive(data)

    def poll(self) -> bytes:
        back, self._back = self._back, b""
        return back


@dataclass
class Flight:
    loop: HilLoop
    peer: Px4Peer
    wire: Any


def prepare(
    seed: int,
    armed_s: tuple[float, float],
    wire: Callable[[Px4Peer], Any] = Wire,
    timing: Timing | None = None,
    sensors: SensorSet | None = None,
    expected: Expected = EXPECTED,
    step_ns: int = STEP_NS,
    faults: tuple[PlannedFault, ...] = (),
    load: Callable[[RotorEffort, Air], tuple[float, float]] | None = None,
    before: Callable[[], None] = lambda: None,
) -> Flight:
    # By the truth, so that the flight is one a good autopilot would fly: what is judged here is the bench.
    pilot = Pilot(IRIS, STEP_NS, BRISK)
    flight: list[Flight] = []

    def command(t_us: int) -> tuple[bool, tuple[float, ...]]:
        t_s = t_us / 1e6
        if not armed_s[0] <= t_s < armed_s[1]:
            return False, ()
        return True, pilot.controls(flight[0].loop.state, goal_W(t_s))

    peer = Px4Peer(command=command, expected=expected, home_deg=(HOME.lat_deg, HOME.lon_deg), year=2026.4)
    streams = Streams(seed)
    link = wire(peer)
    loop = HilLoop(
        motors=Motors(IRIS.motors, IRIS.rotors.count),
        world=airframe.world(IRIS, step_ns / NS),
        earth=Earth(HOME),
        atmosphere=Atmosphere(Day()),
        wind=Wind(LIGHT_WIND, streams.generator("wind"), Evaluator),
        sensors=FailingSuite(sensors or quad_sensors(), streams, faults),
        link=link,
        timing=timing or Timing(readable=lambda timeout_s: False),
        rotors=IRIS.rotors.count,
        step_ns=step_ns,
        load=load,
        before=before,
    )
    flight.append(Flight(loop, peer, link))
    return flight[0]


class Spoiling(Wire):
    """Puts something of its own in the place of the autopilot's answers from a time on."""

    def __init__(self, peer: Px4Peer, from_us: int, answer: Callable[[int], Any], system: int = 1) -> None:
        super().__init__(peer)
        self._from_us, self._answer = from_us, answer
        self._sender = mavlink.MAVLink(None, srcSystem=system, srcComponent=1)

    def send(self, data: bytes) -> None:
        super().send(data)
        if self._peer.time_usec >= self._from_us:
            self._back = self._answer(self._peer.time_usec).pack(self._sender)


class Diary:
    """An observer that keeps what happened, and when."""

    def __init__(self) -> None:
        self.events: list[tuple[float, Event, float]] = []
        self.ticks = 0
        self.samples: list[Any] = []

    def __call__(self, state: RigidState, effort: Any, controls: tuple[float, ...], air: Any, samples: Any, /) -> None:
        self.ticks += 1
        self.samples += samples

    def kinds(self) -> list[Event]:
        return [event for _, event, _ in self.events]


def watch(flight: Flight) -> Diary:
    diary = Diary()
    flight.loop.rows.observer = diary
    return diary
