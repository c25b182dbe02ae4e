"""Runs the real ground stations of tests/peers as programs and reads what they say."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parents[1] / "peers"


@dataclass(frozen=True)
class Said:
    """The steps that a client took, in order."""

    status: int
    steps: dict[str, dict[str, Any]]
    transcript: str

    @property
    def failed(self) -> str:
        """Which step failed and why; empty if none did."""
        return "; ".join(f"{name}: {step['error']}" for name, step in self.steps.items() if not step["ok"])


def run_client(name: str, port: int, *, steps: str = "", step_limit_s: float = 120.0, limit_s: float = 600.0) -> Said:
    """`name` is a program of tests/peers; it listens on the port. Ended by force after the limit."""
    command = [sys.executable, str(PEERS / f"{name}.py"), str(port), "--limit", str(step_limit_s)]
    if steps:
        command += ["--steps", steps]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text, _ = client.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        client.terminate()
        text, _ = client.communicate()
        text += f"\n{name} was ended after {limit_s:g} s"
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"step"')]
    return Said(client.returncode, {line["step"]: line for line in lines}, text)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


SCENARIO = """
name = "ground-station"
summary = "A ground station flies"
duration_s = 3000.0
[vehicle]
kind = "quadrotor"
[autopilot]
ground_links = ["udp://127.0.0.1:{port}"]
[pilot]
source = "external"
"""


@contextlib.contextmanager
def flight(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """The virtual Pixhawk in its simulator, four times as fast as real, until the client is done with it."""
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO.format(port=port))
    command = [
        sys.executable,
        "-m",
        "aeroloop.cli",
        "fly",
        str(scenario),
        "--loop",
        "sil",
        "--pace",
        "4x",
        "--no-report",
    ]
    pipe = subprocess.PIPE
    bench = subprocess.Popen([*command, "--out", str(folder / "run")], stdout=pipe, stderr=subprocess.STDOUT, text=True)
    try:
        yield bench
    finally:
        bench.send_signal(signal.SIGINT)
        try:
            bench.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            bench.kill()
            bench.communicate()
