"""`examples/companion.py` lands an aircraft in real time, as on a board."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from external_landing import EXAMPLE, MISSED_M, landing
from host_time import repeated_where_the_host_stalls
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink2

from aeroloop.analysis.family import metrics_of
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight
from aeroloop.realtime.controls import Controls
from aeroloop.recording.log import read

pytest.importorskip("cv2")
pytestmark = pytest.mark.realtime


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def disarmed(link: Any, flying: threading.Event) -> bool:
    """Whether the aircraft was armed and is no longer, while the flight lasts."""
    armed = False
    while not flying.is_set():
        heartbeat = link.recv_match(type="HEARTBEAT", blocking=True, timeout=0.5)
        if heartbeat is not None and heartbeat.get_srcComponent() == mavlink2.MAV_COMP_ID_AUTOPILOT1:
            now = bool(heartbeat.base_mode & mavlink2.MAV_MODE_FLAG_SAFETY_ARMED)
            if armed and not now:
                return True
            armed = now
    return False


@repeated_where_the_host_stalls
def test_the_example_lands_on_the_pad_that_gps_would_miss(tmp_path: Path) -> None:
    """The flight ends with the landing, however long the autopilot waits above the pad on a slow machine."""
    port, other = free_udp_port(), free_udp_port()
    endpoints = (
        f'{{name="board", url="udp://127.0.0.1:{port}", role="command", companion=true}}',
        f'{{name="landed", url="udp://127.0.0.1:{other}", role="observe"}}',
    )
    changes = (f"router.endpoints=[{', '.join(endpoints)}]", "autopilot.ground_links=[]", "duration_s=150.0")
    plan = landing("tcp://127.0.0.1:0", *changes)
    started: list[subprocess.Popen[bytes]] = []
    over = threading.Event()

    def tell(words: str) -> None:
        if found := re.fullmatch(r"camera down: frames on port (\d+)", words):
            command = [sys.executable, EXAMPLE, f"127.0.0.1:{found[1]}", f"udpin:127.0.0.1:{port}"]
            started.append(subprocess.Popen(command))

    def end_when_landed(flight: Flight) -> None:
        if disarmed(mavutil.mavlink_connection(f"udpin:127.0.0.1:{other}"), over):
            Controls(flight.launch[0].folder_path).end("command")

    try:
        with Flight(plan, tmp_path) as flight:
            watcher = threading.Thread(target=end_when_landed, args=(flight,))
            watcher.start()
            try:
                outcome = flight.fly(lambda _: None, notice=tell)
            finally:
                over.set()
                watcher.join()
        (example,) = started
        assert example.wait(30) == 0  # it ends with the frames
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert outcome.error is None
    numbers = metrics_of(plan, read(tmp_path / LOG))
    assert numbers["touchdown_m"] < MISSED_M / 2
