"""`fixedwing-px4` with its processes: a PX4 for planes on its links, commanded by the scenario's pilot alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pymavlink.dialects.v20 import common as dialect
from quad_runs import FLIGHT_GUARD_S, collect, command, free_port
from test_px4_flights import free_udp_port

from aeroloop.core.scenario_files import find
from aeroloop.flight.results import report_again
from peers.px4_plane_standin import PlaneStandIn

END_S = 24.0
SHORTENED = {
    "duration_s = 120.0": f"duration_s = {END_S}",
    "at_s = 15.0": "at_s = 6.0",
    "at_s = 16.0": "at_s = 6.5",
    "above = 90.0": "above = 14.0",
}
"""Of the file: what a real PX4 needs to start, this one does not."""


def test_it_is_launched_by_the_pilots_commands_and_passes_its_checks(tmp_path: Path) -> None:
    text = find("fixedwing-px4").read_text()
    for before, after in SHORTENED.items():
        assert before in text
        text = text.replace(before, after)
    (tmp_path / "short.toml").write_text(text)
    hil, telemetry, run = free_port(), free_udp_port(), tmp_path / "run"
    px4 = PlaneStandIn(hil, telemetry)
    px4.start()
    link = ("--link", f"tcp://127.0.0.1:{hil}?listen", "--set", f"telemetry.url=udp://127.0.0.1:{telemetry}?listen")
    done = subprocess.run(
        command(str(tmp_path / "short.toml"), *link, "--set", "link.start_timeout_s=60", out=run),
        capture_output=True,
        text=True,
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    assert px4.stop() == []
    flown = collect(run, done.returncode, done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = flown.summary["metrics"]
    assert all(check["ok"] for check in flown.summary["checks"])
    assert numbers["climb_m"] > 60.0
    assert numbers["armed_at_end"] == 1.0
    assert numbers["est_horizontal_rms_m"] < 3.0
    assert numbers["est_roll_rms_deg"] < 6.0
    armed_s, takeoff_s = (
        next(t_s for t_s, number in px4.heard if number == wanted)
        for wanted in (dialect.MAV_CMD_COMPONENT_ARM_DISARM, dialect.MAV_CMD_NAV_TAKEOFF)
    )
    assert (armed_s, takeoff_s) == pytest.approx((6.0, 6.5), abs=0.6)
    assert px4.parameters["MIS_TAKEOFF_ALT"] == 80.0
    assert "Top view, and height over time" in report_again(run).read_text()
