"""The image on serial lines in real time: whatever comes in on the board line, its cycles go on."""

from __future__ import annotations

import select
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from board_trace import trace_files

from aeroloop.boards.monitor import Monitor
from aeroloop.boards.qemu import Emulator, realtime_command
from aeroloop.codegen.images import build_image
from aeroloop.families.tiltrotor.design import parameter_file
from aeroloop.families.tiltrotor.images import UART
from aeroloop.links.base import Link
from aeroloop.links.loopback import open_loopback
from aeroloop.links.url import LinkUrl
from aeroloop.protocols.board import PlantEnd, Request, Start

IDLE_FLAGS = b"\x7e" * 8
BURST_S = 0.0005
FLOODED_S = 2.0
MOST_BURSTS = 40_000


@pytest.fixture
def line() -> Iterator[Link]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wire = LinkUrl("loopback", path=str(folder / "line.sock"), listen=True)
        uart = open_loopback(wire)
        devices = f"socket,path={wire.path},server=off", "null"
        emulator = Emulator(
            realtime_command(build_image(trace_files(), UART), *devices, folder / "monitor.sock"), folder
        )
        try:
            Monitor(folder / "monitor.sock", emulator).close()
            yield uart
        finally:
            emulator.stop()
            uart.close()


def test_idle_flags_neither_cost_cycles_nor_wake_the_watchdog(line: Link) -> None:
    """A tick often finds the board reading; nothing that it reads is a reason to leave the cycle out."""
    plant = PlantEnd(parameter_file().plausible.command, lambda _: None)
    uptimes_ms, requests = [0], 0
    for _ in range(MOST_BURSTS):  # never an answer, so that every cycle says how long the board has been up
        line.send(IDLE_FLAGS)
        select.select([line.fileno()], [], [], 0)
        for message in plant.receive(line.poll()):
            if isinstance(message, Start) and message.claim:
                uptimes_ms.append(message.claim.uptime_ms)
                assert uptimes_ms[-1] >= uptimes_ms[-2], "it started anew"
            requests += isinstance(message, Request)
        if uptimes_ms[-1] > FLOODED_S * 1000:
            break
        time.sleep(BURST_S)
    assert requests > 0.5 * FLOODED_S / 0.012
