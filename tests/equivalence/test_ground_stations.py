"""The real ground stations MAVSDK and MAVProxy fly the whole virtual Pixhawk over UDP: estimator, flight logic, law and
services on noisy sensors, commanded by the ground station alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from ground_clients import Said, flight, free_port, run_client

from aeroloop.controllers.pixhawk.types import Refusal
from aeroloop.controllers.pixhawk.virtual_pixhawk import parameters
from peers.fake_autopilot import FakeAutopilot

KNOWN = {row.name: row.default for row in parameters({})}


def fly_with(client: str, folder: Path) -> dict[str, Any]:
    port = free_port()
    with flight(folder, port):
        said: Said = run_client(client, port)
    assert said.status == 0, said.transcript
    steps = said.steps
    assert steps["parameters"]["takeoff_alt_m"] == [2.5, 5.0], "as it was, and as it was set"
    assert steps["upload"]["read_back"] == 3
    assert steps["takeoff"]["height_m"] == pytest.approx(5.0, abs=1.0)
    assert steps["land"]["height_m"] == pytest.approx(0.0, abs=1.0)
    assert list(steps)[-1] == "disarm"
    return steps


@pytest.mark.soak  # short: the square in offboard mode
def test_mavsdk_reads_uploads_arms_flies_and_lands(tmp_path: Path) -> None:
    steps = fly_with("mavsdk_client", tmp_path)
    assert steps["connect"]["autopilot"] == "PX4"
    found = {**steps["parameters"]["whole"], **steps["parameters"]["real"]}
    assert set(found) == set(KNOWN)
    assert all(math.isclose(value, KNOWN[name], rel_tol=1e-6) for name, value in found.items())
    assert steps["parameters"]["nav_dll_act"] == 1, "set, and read back"
    assert max(steps["mission"]["items"]) == 3


def test_mavsdk_flies_a_square_in_offboard_mode(tmp_path: Path) -> None:
    port = free_port()
    with flight(tmp_path, port):
        steps = "connect,health,parameters,arm,takeoff,offboard_alone,offboard,land,disarm"
        said = run_client("mavsdk_client", port, steps=steps)
    assert said.status == 0, said.transcript
    assert "NO_SETPOINT_SET" in said.steps["offboard_alone"]["refused"].upper()
    flown = said.steps["offboard"]
    assert len(flown["misses_m"]) == 4
    assert flown["heading_deg"] == pytest.approx(90.0, abs=5.0)
    assert flown["active"] is False


def test_mavproxy_reads_uploads_arms_flies_and_lands(tmp_path: Path) -> None:
    steps = fly_with("mavproxy_client", tmp_path)
    assert steps["connect"]["mode"] == "LOITER"
    assert steps["parameters"]["count"] == len(KNOWN)
    assert steps["mission"]["reached"] == 2


def test_mavsdk_is_told_when_arming_is_refused() -> None:
    port = free_port()
    with FakeAutopilot(port) as autopilot:
        autopilot.logic.refusal = Refusal("Not level", temporary=False)
        said = run_client("mavsdk_client", port, steps="connect,arm")
    assert said.status == 1
    assert "DENIED" in said.failed.upper(), said.transcript
