"""The board process of the fixed wing: what it makes of a control period's bytes, on each rung."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aeroloop.boards.emulated import Granted
from aeroloop.controllers.law import period_process as wing_board
from aeroloop.controllers.law.period_process import EmulatedWing, HostWing
from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import ResetCause
from aeroloop.core.wing_signals import WingCommand, WingSensors
from aeroloop.flight.processes.common import Stop
from aeroloop.links.stream import StreamLink
from aeroloop.protocols.board import Start, Told
from aeroloop.protocols.handshake import host_claim
from aeroloop.protocols.interface import WING
from aeroloop.protocols.wing import BoardEnd, Done, Goal, PlantEnd, Servos

ZERO = (0.0, 0.0, 0.0)
SENSORS = WingSensors(7, 350, ZERO, (0.0, 0.0, 9.8), ZERO, 93_000.0, 225.0, False, 36.0, -84.0, 660.0, ZERO)


class Autopilot:
    def __init__(self) -> None:
        self.heard: list[tuple[int, list[tuple[float, float]]]] = []

    def step(self, sensors: WingSensors, goals: Any) -> tuple[WingCommand, list[Any]]:
        self.heard.append((sensors.cycle, list(goals)))
        return (0.125, 0.0, 0.0, 0.5), [("board_event", (9.0, float(sensors.cycle)))]


class EchoBoard:
    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def start(self, uptime_ms: int) -> bytes:
        return BoardEnd().start(host_claim(WING, uptime_ms))

    def step(self, chunk: bytes) -> tuple[bytes, float]:
        self.chunks.append(chunk)
        return BoardEnd().servos(Servos(0, (0.0, 0.0, 0.0, 0.25), 0.0)), 0.0078125

    def close(self) -> None: ...


def test_on_the_host_a_goal_and_sensors_become_servos_and_telemetry() -> None:
    plant, autopilot = PlantEnd(), Autopilot()
    board = HostWing(autopilot)  # type: ignore[arg-type]
    out, busy_s = board.step(plant.goal(Goal(0, 1.0, 2.0)) + plant.sensors(SENSORS))
    assert plant.receive(out) == [Servos(7, (0.125, 0.0, 0.0, 0.5), 0.0), Told("board_event", (9.0, 7.0))]
    board.step(plant.sensors(dataclasses.replace(SENSORS, cycle=8)))
    assert autopilot.heard == [(7, [(1.0, 2.0)]), (8, [])], "a goal is told once"
    assert busy_s == 0.0
    assert plant.receive(board.start(400)) == [Start(host_claim(WING, 400))]


class FakeEmulated:
    def __init__(self, *_: Any) -> None:
        self.lines: list[tuple[bytes, bytes]] = []
        self.reply = Granted(b"servos", b"telemetry", busy_ns=2_000_000)
        self.start = b"start"

    def step(self, hils: bytes, comm: bytes) -> Granted:
        self.lines.append((hils, comm))
        return self.reply

    def close(self) -> None: ...


def test_the_emulated_board_has_a_line_each_for_simulator_and_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wing_board, "GrantedBoard", FakeEmulated)
    scenario: Any = SimpleNamespace(controller=PeriodTables())
    board = EmulatedWing(scenario, Path("image.elf"), Path())
    fake: Any = board._board
    goal, sensors = PlantEnd().goal(Goal(0, 0.5, -3000.0)), PlantEnd().sensors(SENSORS)
    assert board.step(goal + sensors) == (b"servostelemetry", 0.002)
    assert fake.lines == [(sensors, goal)]
    assert board.start(0) == b"start"
    fake.reply = Granted(b"start again", b"", restarted=ResetCause.WATCHDOG)
    assert board.step(sensors) == (b"start again", 0.0), "the plant sees by it that the board has restarted"


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
    monkeypatch.setattr(wing_board, "stop", stop)
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
    thread = running(lambda: wing_board.run(board, link))
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
            wing_board.run(EchoBoard(), link)
        except LinkError as error:
            failed.append(error)

    thread = running(work)
    for _ in range(80):
        plant_side.sendall(b"garbage!" * 128)
    thread.join(10.0)
    assert "bytes came, and no sensors among them" in str(failed[0])


def test_a_plant_that_hangs_up_is_said(line: tuple[StreamLink, socket.socket], stopping: Stop) -> None:
    link, plant_side = line
    plant_side.close()
    with pytest.raises(LinkError, match="test://"):
        wing_board.run(EchoBoard(), link)
