"""The real ground stations MAVSDK and MAVProxy with the virtual Pixhawk's MAVLink services, over UDP."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from ground_clients import flight, free_port, need, run_client

from aeroloop.boards.pixhawk.seam import FlightMode, Refusal
from peers.fake_autopilot import FakeAutopilot

FLOWN = [
    ("arm", False),
    ("take_off", None),
    ("set_mode", FlightMode.MISSION),
    ("set_mode", FlightMode.HOLD),
    ("set_mode", FlightMode.LAND),
]


def test_mavsdk_reads_uploads_flies_and_lands() -> None:
    need("mavsdk")
    port = free_port()
    with FakeAutopilot(port) as autopilot:
        said = run_client("mavsdk_client", port)
    assert said.status == 0, said.transcript
    steps = said.steps
    assert steps["connect"]["autopilot"] == "PX4"
    found = {**steps["parameters"]["whole"], **steps["parameters"]["real"]}
    assert set(found) == set(autopilot.parameters.names)
    changed = {"MIS_TAKEOFF_ALT": 2.5, "NAV_DLL_ACT": 2}  # read before they were written
    for name, value in found.items():
        assert math.isclose(value, changed.get(name, autopilot.parameters.get(name)), rel_tol=1e-6)
    assert steps["parameters"]["takeoff_alt_m"] == [2.5, 5.0]
    assert autopilot.parameters.get("NAV_DLL_ACT") == steps["parameters"]["nav_dll_act"] == 1
    assert steps["upload"]["read_back"] == 3
    # MAVSDK adds a change of speed to every waypoint.
    assert [item.command for item in autopilot.brain.mission] == [16, 178] * 3
    assert max(steps["mission"]["items"]) == 3
    assert autopilot.brain.calls == [("set_mission", 6), *FLOWN]
    assert not autopilot.brain.status.armed
    assert autopilot.brain.grounds > 0
    assert autopilot.services.links[0].counters.unreadable == 0


def test_mavsdk_is_told_when_arming_is_refused() -> None:
    need("mavsdk")
    port = free_port()
    with FakeAutopilot(port) as autopilot:
        autopilot.brain.refusal = Refusal("Not level", temporary=False)
        said = run_client("mavsdk_client", port, steps="connect,arm")
    assert said.status == 1
    assert "DENIED" in said.failed.upper(), said.transcript


def test_mavproxy_reads_uploads_flies_and_lands() -> None:
    need("MAVProxy")
    port = free_port()
    with FakeAutopilot(port) as autopilot:
        said = run_client("mavproxy_client", port)
    assert said.status == 0, said.transcript
    steps = said.steps
    assert steps["connect"]["mode"] == "LOITER"
    assert steps["parameters"]["count"] == len(autopilot.parameters)
    assert steps["parameters"]["takeoff_alt_m"] == [2.5, 5.0]
    assert autopilot.parameters.get("NAV_DLL_ACT") == 1
    assert (steps["upload"]["read_back"], steps["mission"]["reached"]) == (3, 2)
    assert [item.command for item in autopilot.brain.mission] == [16] * 3
    assert autopilot.brain.calls[:6] == [("set_mission", 3), *FLOWN]
    assert not autopilot.brain.status.armed


@pytest.mark.parametrize("client", ["mavsdk", "mavproxy"])
def test_a_flight_of_the_whole_virtual_pixhawk(client: str, tmp_path: Path) -> None:
    """Estimator, flight logic, law and services on noisy sensors, commanded by the ground station alone."""
    need({"mavsdk": "mavsdk", "mavproxy": "MAVProxy"}[client])
    port = free_port()
    with flight(tmp_path, port):
        said = run_client(f"{client}_client", port, step_limit_s=30.0)
    assert said.status == 0, said.transcript
    assert said.steps["takeoff"]["height_m"] == pytest.approx(5.0, abs=1.0)
    assert said.steps["land"]["height_m"] == pytest.approx(0.0, abs=1.0)
    assert list(said.steps)[-1] == "disarm"
