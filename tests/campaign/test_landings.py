"""`aeroloop landings`: what a seed draws, statistics and checks, the files, and flights that end before they land."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from aeroloop.api.scenarios import named
from aeroloop.campaign import landing_table, landings
from aeroloop.campaign.landings import GPS, VISION, Flown, drawn, settings, statistics
from aeroloop.cli import app as cli

pytest.importorskip("cv2")
TINY = ("--set", "cameras[0].size_px=[64, 48]", "--set", "cameras[0].rate_hz=5.0", "--set", "cameras[0].start_s=0.0")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["landings", *map(str, arguments)])


def flown(use: str, seed: int, east_m: float, north_m: float = 0.0) -> Flown:
    numbers = {"east_m": east_m, "north_m": north_m, "touchdown_s": 40.0, "speed_m_s": 0.1, "seen_pct": 99.0}
    return Flown(use, seed, "completed", 90.0, (0.5, -0.5), numbers)


def made(folder: Path, *flights: Flown) -> Path:
    folder.mkdir(parents=True)
    landing_table.write(folder, landing_table.Landings("quad-landing", flights))
    return folder


GOOD = (*(flown(VISION, seed, 0.03, 0.04) for seed in (1, 2)), *(flown(GPS, seed, 0.0, 0.9) for seed in (1, 2)))


def test_a_seed_draws_wind_and_start_and_both_ways_have_the_same() -> None:
    scenario = named("quad-landing")
    by = {use: named("quad-landing").changed(settings(scenario, use, 7)) for use in (VISION, GPS)}
    for key in (landings.WIND, landings.WAYPOINTS, "seed", "pad", "sensors.gnss.position"):
        assert by[VISION][key] == by[GPS][key]
    east, north, _ = by[VISION][landings.WIND]
    assert math.hypot(east, north) == pytest.approx(math.hypot(*scenario[landings.WIND][:2]))
    assert math.degrees(math.atan2(north, east)) % 360 == pytest.approx(drawn(7).wind_deg)
    moved = np.subtract(by[GPS][landings.WAYPOINTS][-1]["pos_m"], scenario[landings.WAYPOINTS][-1]["pos_m"])
    assert moved == pytest.approx((*drawn(7).start_m, 0.0))
    assert drawn(7) == drawn(7) != drawn(8)
    assert by[GPS]["cameras"] == () and by[VISION]["landing.use"] == VISION


def test_starts_are_1_2_m_off_in_all_directions_of_the_wind() -> None:
    draws = [drawn(seed) for seed in range(400)]
    assert math.sqrt(np.mean([np.sum(np.square(one.start_m)) for one in draws])) == pytest.approx(1.2, rel=0.1)
    quarters = np.bincount([int(one.wind_deg // 90) for one in draws], minlength=4)
    assert len(quarters) == 4 and quarters.min() > 70


def test_statistics_leave_out_what_did_not_land() -> None:
    row = statistics(VISION, [flown(VISION, 1, 0.03), flown(VISION, 2, 0.0, 0.04), flown(VISION, 3, math.nan)])
    assert (row.landed, row.flights) == (2, 3)
    assert row.rms_cm == pytest.approx(math.sqrt((9 + 16) / 2))
    assert (row.median_cm, row.worst_cm) == pytest.approx((3.5, 4.0))


def test_the_files_of_a_folder_are_judged_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "out", *GOOD)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert before.keys() == {"tables.md", "landings.csv", "summary.json", "report.html"}
    result = run("--again", folder, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["ok"]
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert "| vision | 5.00 | 5.00 | 5.00 | 5.00 | 40.0 | 2/2 |" in before["tables.md"]
    assert len(before["landings.csv"].splitlines()) == 5
    assert 'id="touchdowns-near"' in before["report.html"]


@pytest.mark.parametrize(
    ("bad", "failed"),
    [
        (flown(VISION, 3, 0.08), "vision: rms (cm)"),
        (flown(VISION, 3, 0.13), "vision: worst (cm)"),
        (flown(VISION, 3, math.nan), "vision: flights that did not land"),
        (flown(GPS, 3, 0.001), "rms of vision over rms of gps"),
    ],
)
def test_each_limit_fails_by_name(tmp_path: Path, bad: Flown, failed: str) -> None:
    good = tuple(flown(VISION, seed, 0.04) for seed in (1, 2)), (flown(GPS, 1, 0.45),)
    folder = made(tmp_path / "out", *good[0], *good[1], bad)
    result = run("--again", folder, "--json")
    assert result.exit_code == 1
    checks = {check["name"]: check["ok"] for check in json.loads(result.stdout)["checks"]}
    assert not checks[failed]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("quad-landing", "--compare", "radar"), "--compare radar: expected gps"),
        (("quad-hover",), "landings: quad-hover has no [landing]; expected a scenario such as quad-landing"),
        (("--again", "nowhere"), "summary.json: cannot be read"),
    ],
)
def test_bad_usage_is_one_sentence(arguments: tuple[str, ...], expected: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", "landings", *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert expected in " ".join(result.stderr.split())


def test_a_flight_that_ends_in_the_air_did_not_land(tmp_path: Path) -> None:
    """The same processes as for a landing, for two seconds; the soak test below lands."""
    out = tmp_path / "out"
    result = run("quad-landing", "--seeds", "1", *TINY, "--set", "duration_s=2.0", "--out", out)
    assert result.exit_code == 1, result.output
    assert "1 flights, 3 checks: 3 failed" in result.output
    (flight,) = json.loads((out / "summary.json").read_text())["flights"]
    assert (flight["use"], flight["seed"], flight["ended"]) == (VISION, 1, "completed")
    summary = json.loads((out / "flights" / "vision-001" / "summary.json").read_text())
    assert summary["pace"] == "lockstep" and summary["metrics"]["frames_delivered"] == 11


def test_an_interrupt_ends_the_flight_that_is_running(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--seeds", "3", *TINY, "--set", "duration_s=4000.0", "--set", "pilot.commands=[]", "--out", str(out))
    command = [sys.executable, "-m", "aeroloop.cli", "landings", "quad-landing", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as campaign:
        while not (out / "flights" / "vision-001" / "flight.mcap").exists():
            assert campaign.poll() is None
            time.sleep(0.05)
        campaign.send_signal(signal.SIGINT)
        campaign.communicate()
    assert campaign.returncode == 130
    assert not out.exists()
    processes = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(str(out).encode() in words for words in processes)


@pytest.mark.soak  # short: test_landing_flight lands with images, and the tests above judge
def test_two_seeds_land_by_vision_where_gps_misses(tmp_path: Path) -> None:
    result = run("quad-landing", "--seeds", "2", "--compare", "gps", "--out", tmp_path / "out", "--json")
    summary = json.loads(result.stdout)
    rows = {row["use"]: row for row in summary["statistics"]}
    assert rows[VISION]["landed"] == rows[GPS]["landed"] == 2
    assert rows[VISION]["worst_cm"] < 12.0 < rows[GPS]["rms_cm"]
