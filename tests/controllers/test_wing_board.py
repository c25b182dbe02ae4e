"""The board process of the fixed wing: what it makes of a control period's bytes, on each rung."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aeroloop.boards.emulated import Granted
from aeroloop.controllers.law import driven_process
from aeroloop.controllers.law.period_process import FirmwareWing, HostWing, PeriodServer
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import ResetCause
from aeroloop.core.wing_signals import WingCommand, WingSensors
from aeroloop.flight.processes.common import Stop
from aeroloop.links.stream import StreamLink
from aeroloop.protocols.board import BoardReport, Start
from aeroloop.protocols.handshake import Claim, host_claim
from aeroloop.protocols.interface import WING
from aeroloop.protocols.wing import BoardEnd, Done, Goal, PlantEnd, Servos, UserMessage

ZERO = (0.0, 0.0, 0.0)
CLAIM = Claim(ResetCause.POWER_ON, WING.revision, WING.hash, 0x1234, 0)
SENSORS = WingSensors(7, 350, ZERO, (0.0, 0.0, 9.8), ZERO, 93_000.0, 225.0, False, 36.0, -84.0, 660.0, ZERO)


class Autopilot:
    def __init__(self) -> None:
        self.heard: list[tuple[int, list[tuple[float, float]]]] = []
        self.commands: list[UserMessage] = []

    def step(self, sensors: WingSensors, goals: Any, commands: Any) -> tuple[WingCommand, list[Any]]:
        self.heard.append((sensors.cycle, list(goals)))
        self.commands += commands
        return (0.125, 0.0, 0.0, 0.5), [("board_event", (9.0, float(sensors.cycle)))]


class EchoBoard:
    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def start(self, uptime_ms: int) -> bytes:
        return BoardEnd().start(host_claim(WING, uptime_ms))

    def step(self, chunk: bytes, t_ms: int) -> tuple[bytes, float]:
        assert t_ms == SENSORS.t_ms
        self.chunks.append(chunk)
        return BoardEnd().servos(Servos(0, (0.0, 0.0, 0.0, 0.25), 0.0)), 0.0078125

    def close(self) -> None: ...


def test_on_the_host_a_goal_and_sensors_become_servos_and_telemetry() -> None:
    plant, autopilot = PlantEnd(), Autopilot()
    board = HostWing(lambda: autopilot)
    out, busy_s = board.step(plant.goal(Goal(0, 1.0, 2.0)) + plant.sensors(SENSORS), 350)
    assert plant.receive(out) == [Servos(7, (0.125, 0.0, 0.0, 0.5), 0.0), BoardReport("board_event", (9.0, 7.0))]
    board.step(plant.sensors(dataclasses.replace(SENSORS, cycle=8)), 400)
    assert autopilot.heard == [(7, [(1.0, 2.0)]), (8, [])], "a goal is told once"
    assert busy_s == 0.0
    assert plant.receive(board.start(400)) == [Start(host_claim(WING, 400))]


class FakeFirmware:
    def __init__(self) -> None:
        self.lines: list[tuple[bytes, bytes, int]] = []
        self.reply = Granted(b"servos", b"telemetry", busy_ns=2_000_000)
        self.start = BoardEnd().start(CLAIM)

    def step(self, hils: bytes, comm: bytes = b"", *, t_ns: int, fault: str = "") -> Granted:
        self.lines.append((hils, comm, t_ns))
        return self.reply

    def close(self) -> None: ...


def test_the_firmware_has_a_line_each_for_simulator_and_ground() -> None:
    fake: Any = FakeFirmware()
    board = FirmwareWing(fake)
    goal, sensors = PlantEnd().goal(Goal(0, 0.5, -3000.0)), PlantEnd().sensors(SENSORS)
    assert board.step(goal + sensors, SENSORS.t_ms) == (b"servostelemetry", 0.002)
    assert fake.lines == [(sensors, goal, 350_000_000)], "its time is the plant's, whatever was lost before"
    assert board.start(0) == fake.start
    assert PlantEnd().receive(board.start(200)) == [Start(dataclasses.replace(CLAIM, uptime_ms=200))]
    fake.reply = Granted(b"start again", b"", restarted=ResetCause.WATCHDOG)
    assert board.step(sensors, 400) == (b"start again", 0.0), "the plant sees by it that the board has restarted"


@pytest.fixture
def line() -> Iterator[tuple[StreamLink, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(10.0)
    link = StreamLink("test://", ours.detach())
    yield link, theirs
    theirs.close()
    link.close()


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Stop:
    stop = Stop()
    monkeypatch.setattr(driven_process, "stop", stop)
    return stop


def running(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_it_greets_answers_each_period_and_says_when_it_is_done(
    line: tuple[StreamLink, socket.socket], stopping: Stop
) -> None:
    link, plant_side = line
    board, plant = EchoBoard(), PlantEnd()
    thread = running(lambda: driven_process.serve(PeriodServer(board, link), link))
    heard: list[Any] = plant.receive(plant_side.recv(4096))
    frame = plant.sensors(SENSORS)
    plant_side.sendall(frame[:20])
    plant_side.sendall(frame[20:])
    while not any(isinstance(message, Done) for message in heard):
        heard += plant.receive(plant_side.recv(4096))
    stopping.request()
    thread.join(10.0)
    first, *heard = heard
    assert isinstance(first, Start) and first.claim == host_claim(WING, 0)
    heard = [message for message in heard if not isinstance(message, Start)]  # again, on a busy machine
    assert heard == [Servos(0, (0.0, 0.0, 0.0, 0.25), 0.0), Done(7, 0.0078125)]
    assert board.chunks == [frame], "the period's bytes, whole, however they came"


def test_a_flood_without_sensors_is_no_plant(line: tuple[StreamLink, socket.socket], stopping: Stop) -> None:
    link, plant_side = line
    failed: list[LinkError] = []

    def work() -> None:
        try:
            driven_process.serve(PeriodServer(EchoBoard(), link), link)
        except LinkError as error:
            failed.append(error)

    thread = running(work)
    for _ in range(80):
        plant_side.sendall(b"garbage!" * 128)
    thread.join(10.0)
    assert "bytes received, but no sensor message" in str(failed[0])


def test_a_plant_that_hangs_up_is_said(line: tuple[StreamLink, socket.socket], stopping: Stop) -> None:
    link, plant_side = line
    plant_side.close()
    with pytest.raises(LinkError, match="test://"):
        driven_process.serve(PeriodServer(EchoBoard(), link), link)
