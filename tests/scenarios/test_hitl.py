"""A board on a desk: an autopilot on its own clock over serial and UDP, in real time and without lockstep."""

from __future__ import annotations

import os
import select
import socket
import time
import tty
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as dialect
from quad_runs import Bench, OutsideAutopilot

from aeroloop.families.multirotor import airframe

ACTUATORS_HZ = 200.0
BOOTED_US = 90_000_000
"""A board's clock is its own: this one was switched on long before the flight."""
HOVER_M = 3.0
FLIGHT_S = 8.0


class Port(Protocol):
    """The board's side of a line."""

    url: str  # the bench's side

    def fileno(self) -> int: ...
    def read(self) -> bytes: ...
    def write(self, data: bytes) -> None: ...


class Cable:
    """A serial line."""

    def __init__(self) -> None:
        # The slave stays open here too, or reading would fail until the bench has opened it.
        self._fd, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.url = f"serial://{os.ttyname(self._slave)}?baud=921600"

    def fileno(self) -> int:
        return self._fd

    def read(self) -> bytes:
        return os.read(self._fd, 65536)

    def write(self, data: bytes) -> None:
        os.write(self._fd, data)

    def unplug(self) -> None:
        os.close(self._fd)
        os.close(self._slave)


class Ethernet:
    """UDP as PX4 has it: it binds, and answers whoever sends the first datagram."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.url = "udp://{}:{}".format(*self._socket.getsockname())

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes:
        data, bench = self._socket.recvfrom(65536)
        self._socket.connect(bench)
        return data

    def write(self, data: bytes) -> None:
        self._socket.send(data)


class Board(OutsideAutopilot):
    """Silent until it is spoken to; from then on it sends actuators 200 times a second by its own clock."""

    def __init__(self, port: Port, words: Callable[[Any, int], Any], *, leave_after: int = 0) -> None:
        """`words` makes this board's message of a HIL_ACTUATOR_CONTROLS and a time."""
        super().__init__(0)
        self.line, self._words, self._leave_after = port, words, leave_after
        self.orders = {
            1_000_000: lambda logic: logic.arm(),
            1_500_000: lambda logic: logic.take_off(HOVER_M) if logic.status.armed else "not yet",
        }
        self.heard: Counter[str] = Counter()
        self._mav = dialect.MAVLink(None, srcSystem=1, srcComponent=1)

    def talk(self) -> None:
        latest, due_s = None, 0.0
        answers, ears = dialect.MAVLink(None), dialect.MAVLink(None)
        while not self.over.is_set():
            if select.select([self.line], [], [], 0.001)[0]:
                try:
                    chunk = self.line.read()
                except OSError:
                    return  # the bench has gone
                if not self.heard:
                    self._greet()
                self.heard.update(message.get_type() for message in ears.parse_buffer(chunk) or [])
                for message in answers.parse_buffer(self.pixhawk.receive(chunk, self._step)) or []:
                    latest = message
                if self._leave_after and self.heard["HIL_SENSOR"] >= self._leave_after:
                    return
            if latest is not None and time.monotonic() >= due_s:
                due_s = max(due_s, time.monotonic() - 0.02) + 1 / ACTUATORS_HZ
                time_us = BOOTED_US + time.monotonic_ns() // 1000
                # Also what is no message: the boot loader's last words, a cable that picks up noise.
                self._say(self._words(latest, time_us), before=b"\xfd\x51\x00NuttShell")

    def _greet(self) -> None:
        """Asks for the true state too, as PX4 does in software; in HITL that would overwrite its own estimate."""
        self._say(dialect.MAVLink_command_long_message(0, 0, 511, 0, 115, 5000, 0, 0, 0, 0, 0))
        self._say(dialect.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3))

    def _say(self, message: Any, before: bytes = b"") -> None:
        wire = message.pack(self._mav)
        self._mav.seq = (self._mav.seq + 1) % 256
        with suppress(OSError):
            self.line.write(before + wire)


def as_actuators(answer: Any, time_us: int) -> Any:
    return dialect.MAVLink_hil_actuator_controls_message(time_us, answer.controls, answer.mode, 0)


def as_axes() -> Callable[[Any, int], Any]:
    """The older HIL_CONTROLS: the bench's mixer, backwards."""
    mix = airframe.mixer(airframe.load("iris"))
    middle, step = (0.0, 0.0, 0.0, 0.5), 0.1
    nudged = [[value + step * (i == axis) for i, value in enumerate(middle)] for axis in range(4)]
    motors_of_axes = (np.array([mix(tuple(axes)) for axes in nudged]).T - 0.5) / step
    motors_of_axes[:, 3] = 1.0

    def words(answer: Any, time_us: int) -> Any:
        axes = np.linalg.solve(motors_of_axes, answer.controls[:4])
        return dialect.MAVLink_hil_controls_message(time_us, *axes, 0, 0, 0, 0, answer.mode, 0)

    return words


@pytest.mark.parametrize(
    ("port", "words"),
    [(Cable, as_actuators), pytest.param(Ethernet, as_axes(), marks=pytest.mark.soak)],
    ids=["serial", "udp-older-messages"],
)
def test_a_board_without_lockstep_takes_off_and_hovers(
    tmp_path: Path, port: Callable[[], Port], words: Callable[[Any, int], Any]
) -> None:
    with Board(port(), words) as board:
        run = Bench(tmp_path, board.line.url, "--pace", "real", "--set", f"duration_s={FLIGHT_S}").end()
    assert run.summary["ended"] == "completed", run.said
    assert run.metrics["height_max_m"] == pytest.approx(HOVER_M, abs=0.6)
    assert run.positions()[-1, 2] > HOVER_M - 1.0
    (answered,) = run.events("AUTOPILOT_ANSWERED")
    assert answered["value"] == 0, "without lockstep"
    assert not run.events("AUTOPILOT_LEFT")
    assert board.heard["HIL_SENSOR"] > 0.9 * 250 * FLIGHT_S
    assert board.heard["HEARTBEAT"] >= FLIGHT_S
    assert not board.heard["HIL_STATE_QUATERNION"], "though it asked"
    counters = run.summary["links"]["link"]
    assert counters["skipped_bytes"] > 100 * FLIGHT_S, "what was no message"
    assert counters["lost"] == counters["bad_checksums"] == 0
    assert run.exit_code == 0, run.said


def test_a_line_that_is_unplugged_in_flight_ends_it_with_a_sentence(tmp_path: Path) -> None:
    cable = Cable()
    fast = ("--set", "sensors.imu.rate_hz=500", "--set", "world.step_s=0.002")
    bench = Bench(tmp_path, cable.url, "--pace", "real", *fast)
    with Board(cable, as_actuators, leave_after=500) as board:
        board.finish()
    cable.unplug()
    run = bench.end()
    assert run.exit_code == 3
    path = cable.url.removeprefix("serial://").removesuffix("?baud=921600")
    assert f"lost, and it cannot be reopened: {path}: no such device; is it plugged in?" in run.said
    assert run.summary["ended"] == "failed"
    assert run.metrics["flown_s"] > 0.5, "the log is there up to then"
    assert "note: link: HIL_SENSOR at 500 Hz: 500 Hz overloaded real boards" in run.said
