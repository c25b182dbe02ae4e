"""`examples/companion.py` lands an aircraft in real time, as on a board."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from external_landing import EXAMPLE, MISSED_M, landing

from aeroloop.analysis.family import metrics_of
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight
from aeroloop.recording.log import read

pytest.importorskip("cv2")
pytestmark = pytest.mark.realtime


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_the_example_lands_on_the_pad_that_gps_would_miss(tmp_path: Path) -> None:
    port = free_udp_port()
    board = f'router.endpoints=[{{name="board", url="udp://127.0.0.1:{port}", role="command", companion=true}}]'
    plan = landing("tcp://127.0.0.1:0", board, "autopilot.ground_links=[]")
    started: list[subprocess.Popen[bytes]] = []

    def tell(words: str) -> None:
        if found := re.fullmatch(r"camera down: frames on port (\d+)", words):
            command = [sys.executable, EXAMPLE, f"127.0.0.1:{found[1]}", f"udpin:127.0.0.1:{port}"]
            started.append(subprocess.Popen(command))

    try:
        with Flight(plan, tmp_path) as flight:
            outcome = flight.fly(lambda _: None, notice=tell)
        (example,) = started
        assert example.wait(30) == 0  # it ends with the frames
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert outcome.error is None
    numbers = metrics_of(plan, read(tmp_path / LOG))
    assert numbers["touchdown_m"] < MISSED_M / 2
