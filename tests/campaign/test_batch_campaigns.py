"""Campaigns with the batch engine: rows, resume, agreement with the bench, replay, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.campaign import agreement as agreements
from aeroloop.campaign import batch_run
from aeroloop.campaign import live_campaigns as live
from aeroloop.campaign.batch_judged import BatchJudged
from aeroloop.campaign.batch_table import FlightColumns, Kept
from aeroloop.campaign.campaigns import Campaign, open_campaign, replay_exit_code
from aeroloop.campaign.definition import Definition, read
from aeroloop.campaign.design import columns, flights
from aeroloop.campaign.live_campaigns import LiveCampaign
from aeroloop.campaign.local_workers import LocalWorkers
from aeroloop.campaign.store import FLOWN, Row, Store
from aeroloop.core.config import convert
from aeroloop.core.errors import EXIT_OK, ConfigError
from aeroloop.core.scenario import Check
from aeroloop.core.scenario_files import find

GUARD_S = 240.0
SCENARIO: dict[str, Any] = {
    "name": "short-spiral",
    "duration_s": 2.4,
    "world": {"start": "moving"},
    "ground": {"trajectory": {"kind": "spiral"}},
    "checks": [{"metric": "pos_z_rms_m", "below": 0.05}, {"metric": "yaw_max_deg", "below": 3.0}],
}
CAMPAIGN: dict[str, Any] = {
    "name": "short",
    "scenario": SCENARIO,
    "engine": "batch",
    "flights": 40,
    "parameter": [
        {"key": "vehicle.scale.mass", "uniform": [0.97, 1.03]},
        {"key": "link.to_plant.delay_s", "uniform": [0.0, 0.008]},
        {"key": "world.start_offset_W[1]", "normal": {"mean": 0.0, "std": 0.02}},
    ],
}


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, BatchJudged]:
    campaign = Campaign(CAMPAIGN, out=tmp_path_factory.mktemp("batch") / "own")
    judged = campaign.run()
    assert isinstance(judged, BatchJudged)
    return campaign, judged


def test_it_says_the_same_as_the_bench(flown: tuple[Campaign, BatchJudged], tmp_path: Path) -> None:
    """The same file with either engine: the same parameters and verdicts, and metrics within 0.05 mm."""
    _, batch = flown
    few = {**CAMPAIGN, "flights": 6, "engine": "bench"}
    bench = Campaign(few, out=tmp_path / "bench").run(workers=2)
    assert [dict(row.values) for row in bench.flown] == [dict(batch.table.row(i).values) for i in range(6)]
    assert bench.passed.tolist() == batch.passed[:6].tolist()
    assert 0 < batch.rate().successes < 40
    assert np.max(np.abs(bench.metric("pos_z_rms_m") - batch.metric("pos_z_rms_m")[:6])) < 5e-5


def test_the_agreement_is_part_of_the_verdict(flown: tuple[Campaign, BatchJudged]) -> None:
    _, judged = flown
    assert judged.agreement.confirmed and judged.exit_code == 0
    assert len(judged.agreement.compared) == 8
    assert judged.agreement.largest["pos_z_rms_m"] < 5e-5
    assert {each.batch for each in judged.agreement.compared} == {"passed", "failed"}
    assert judged.summary["agreement"]["confirmed"] is True


def test_worst_report_export_and_status(flown: tuple[Campaign, BatchJudged]) -> None:
    campaign, judged = flown
    again = open_campaign(campaign.folder)
    status = again.status()
    assert status.rate() == judged.rate() and status.complete
    first = again.worst(2)[0]
    margins = judged.table.margins(judged.table.kept.checks[0])
    assert first.margin == pytest.approx(float(min(margins.min(), first.margin)))
    assert first.row.number in range(1, 41)
    text = again.report().read_text()
    assert "Agreement with the bench" in text and "8 of 8 flights have the same verdict" in text
    lines = again.export().read_text().splitlines()
    assert len(lines) == 41 and lines[0].startswith("number,verdict,noise,vehicle.scale.mass")


def test_a_flight_is_replayed_on_the_bench(flown: tuple[Campaign, BatchJudged]) -> None:
    campaign, _ = flown
    replayed = campaign.replay(7, report=False)
    assert replayed.equal and replay_exit_code(replayed) == 0
    there, here = replayed.differences["pos_z_rms_m"]
    assert there == pytest.approx(here, abs=5e-5) and there != here
    assert "the same verdict as in the batch" in replayed.words
    with pytest.raises(ConfigError, match="no flight 41; expected 1 to 40"):
        campaign.replay(41)


def test_more_flights_and_a_limit_keep_those_that_are_there(
    flown: tuple[Campaign, BatchJudged], tmp_path: Path
) -> None:
    _, whole = flown
    campaign = Campaign(CAMPAIGN, out=tmp_path)
    part = campaign.run(limit=16)
    assert len(part.flown) == 16 and not part.complete
    assert part.exit_code == EXIT_OK  # what was not compared with the bench yet is no failure
    store = Store(tmp_path)
    before = store.flown_blocks(store.about["batch"]["design"])
    store.close()
    judged = campaign.run()
    assert isinstance(judged, BatchJudged)
    for name, values in whole.table.metrics.items():
        assert judged.table.metrics[name].tobytes() == values.tobytes(), name
    store = Store(tmp_path)
    after = store.flown_blocks(store.about["batch"]["design"])
    store.close()
    assert after[: len(before)] == before and sum(count for _, count in after) == 40


def test_the_bench_flies_the_statement_of_agreement_with_so_many_workers(
    flown: tuple[Campaign, BatchJudged], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []

    class Counted(LocalWorkers):
        def __init__(self, count: int) -> None:
            used.append(count)
            super().__init__(count)

    monkeypatch.setattr(batch_run, "LocalWorkers", Counted)
    judged = Campaign({**CAMPAIGN, "flights": 2}, out=tmp_path).run(workers=1)
    assert judged.complete and used == [1]


def test_a_rate_of_rare_failures_has_no_limit(tmp_path: Path) -> None:
    table = {**CAMPAIGN, "flights": None, "rare": {"check": "yaw_max_deg"}}
    with pytest.raises(ConfigError, match="--limit 5: a rate of rare failures is estimated at once"):
        Campaign(table, out=tmp_path).run(limit=5)


def test_the_page_shows_a_batch_by_its_columns(flown: tuple[Campaign, BatchJudged]) -> None:
    campaign, judged = flown
    shown = LiveCampaign(campaign.folder)
    assert shown.look() and shown.judged is not None
    rows = live.table_rows(shown.judged)
    assert [row["number"] for row in rows] == list(range(1, 41))
    assert f"yaw_max_deg {judged.metric('yaw_max_deg')[0]:.3g}"[:18] in rows[0]["numbers"]
    failed = live.table_rows(shown.judged, "failed")
    assert len(failed) == 40 - judged.rate().successes and {row["verdict"] for row in failed} == {"failed"}
    assert live.table_rows(shown.judged, "aborted") == []
    assert {"pos_z_rms_m", "yaw_max_deg", *judged.varied} <= set(live.columns(shown.judged))
    points = live.scatter(shown.judged, "vehicle.scale.mass", "yaw_max_deg")
    assert (len(points["passed"]), len(points["failed"])) == (judged.rate().successes, len(failed))
    assert sum(map(len, live.scatter(shown.judged, "vehicle.scale.mass", live.WALL).values())) == 0
    assert shown.worst[0]["number"] == judged.worst(1)[0].row.number


def test_a_killed_driver_loses_no_block(tmp_path: Path) -> None:
    """kill -9 while it flies, then the same command: the rows of a run that was not killed."""
    file = tmp_path / "long.toml"
    file.write_text(
        'name = "long"\nscenario = "tiltrotor-spiral"\nengine = "batch"\nflights = 100000\nparameter = '
        '[{ key = "vehicle.scale.mass", uniform = [0.99, 1.01] }]\n'
    )
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "aeroloop.cli", "campaign", "run", str(file), "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        guard_s = time.monotonic() + GUARD_S
        while not (known := _blocks(out)):
            assert process.poll() is None and time.monotonic() < guard_s
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    total = sum(count for _, count in _blocks(out))
    judged = Campaign(file, out=out).run(limit=1)
    assert isinstance(judged, BatchJudged) and judged.table.count == total + 1 and _blocks(out)[: len(known)] == known


def _blocks(folder: Path) -> list[tuple[int, int]]:
    try:
        store = Store(folder)
    except ConfigError:
        return []
    try:
        about = store.about
        return store.flown_blocks(about["batch"]["design"]) if "batch" in about else []
    finally:
        store.close()


def test_columns_are_the_flights_of_the_bench() -> None:
    table = {
        "name": "grids",
        "scenario": "tiltrotor-spiral",
        "flights": 12,
        "seeds_per_point": 2,
        "seed": 5,
        "parameter": [
            {"key": "vehicle.scale.mass", "uniform": [0.9, 1.1]},
            {"key": "link.to_plant.delay_s", "grid": [0.0, 0.004, 0.006]},
            {"key": "vehicle.scale.inertia", "lin": [0.9, 1.1, 2]},
        ],
    }
    definition = convert(table, Definition, "test")
    rows, found = list(flights(definition, philox=True)), columns(definition)
    assert found.count == len(rows) == 12
    assert found.noise.tolist() == [row.seed for row in rows]
    for key, values in found.values.items():
        assert values.tolist() == [row.values[key] for row in rows], key


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scenario": "rrr-circle", "parameter": []}, "no batch flies rrr with controller law"),
        ({"parameter": [{"key": "world.step_s", "uniform": [0.002, 0.004]}]}, "world.step_s: not a parameter of this"),
        (
            {"parameter": [{"key": "link.to_plant.delay_s", "uniform": [0.0, 0.02]}]},
            "link.to_plant.delay_s: a batch expects finite numbers from 0 to 0.012",
        ),
        (
            {"scenario": {**SCENARIO, "checks": [{"metric": "thrust_min_N", "above": 1.0}]}},
            "thrust_min_N: a batch does not compute it, expected one of: pos_x_rms_m",
        ),
        ({"seed": 2**32}, "seed: a batch takes 32 bits"),
        ({"engine": "bench", "rare": {"check": "yaw_max_deg"}}, "rare: too many flights for the bench"),
        ({"flights": None, "sensitivity": {"samples": 100}}, "samples: expected a power of two"),
        ({"flights": None, "rare": {"check": "yaw"}}, "rare.check: no check of 'yaw'"),
    ],
)
def test_what_a_batch_cannot_fly_is_refused_when_the_file_is_read(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read({**CAMPAIGN, **changes})
    assert words in str(caught.value), str(caught.value)


def test_the_place_must_fit_the_engine(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--on gpu: the bench flies on processors; expected --engine batch"):
        Campaign({**CAMPAIGN, "engine": "bench"}, out=tmp_path).run(on="gpu")
    with pytest.raises(ConfigError, match="a batch flies on this machine; expected local or gpu"):
        Campaign(CAMPAIGN, out=tmp_path).run(on="ray://head:10001")


def columns_of(values: list[float], lost: list[float]) -> FlightColumns:
    checks = (Check(metric="error_m", below=1.0), Check(metric="diverged", equals=0.0))
    kept = Kept("x", ("k",), ("error_m", "diverged"), {}, checks)
    metrics = {"error_m": np.array(values), "diverged": np.array(lost)}
    return FlightColumns(kept, {"k": np.zeros(len(values))}, np.arange(len(values)), metrics)


def bench_row(number: int, verdict: str) -> Row:
    return Row(f"k{number}", number, FLOWN, 0, {}, 0, verdict, 0, None, None, None, None)


def test_a_difference_beyond_the_margin_is_not_confirmed() -> None:
    """0.98 in the batch: 0.99 on the bench is within its margin, 1.1 and 0.95 are not; nor is another verdict."""
    table = columns_of([0.98, 5.0], [0.0, 1.0])
    wanted = agreements.chosen(table, 1)
    assert sorted(wanted) == [0, 1] and wanted[0] == 1

    def found(value: float, verdict: str, lost: float = 1.0) -> agreements.Agreement:
        rows = {1: bench_row(1, verdict), 2: bench_row(2, "failed")}
        metrics = {"k1": {"error_m": value, "diverged": 0.0}, "k2": {"error_m": 70.0, "diverged": lost}}
        return agreements.agreement(table, wanted, rows, metrics)

    assert found(0.99, "passed").confirmed
    assert found(0.99, "passed").largest["error_m"] == pytest.approx(0.01)
    for value, verdict in ((1.1, "failed"), (0.95, "passed"), (0.99, "failed")):
        assert not found(value, verdict).confirmed
    assert "error_m of flight 1" in found(0.95, "passed").words and "not confirmed" in found(0.95, "passed").words
    assert not found(0.99, "passed", lost=0.0).confirmed
    missing = agreements.agreement(table, wanted, {}, {})
    assert not missing.confirmed and "no flight was flown again" in missing.words


QUAD_PARAMETERS = [
    {"key": "world.wind.steady_W[0]", "normal": {"mean": 0.0, "std": 4.0, "clip": [-12, 12]}},
    {"key": "world.wind.turbulence.w20_m_s", "uniform": [0.5, 12.0]},
    {"key": "vehicle.scale.mass", "uniform": [0.9, 1.15]},
    {"key": "vehicle.scale.thrust", "uniform": [0.9, 1.1]},
    {"key": "world.stand.pos_W[2]", "uniform": [5.8, 6.2]},
]


def tilt_rotor_with_noise() -> dict[str, Any]:
    noisy = {"sensors": {"pos_std_m": 0.003, "vel_std_m_s": 0.005}, "noise": {"generator": "philox"}}
    return {**CAMPAIGN, "scenario": {**SCENARIO, **noisy}}


def quadrotor() -> dict[str, Any]:
    """Its whole scenario, with estimator, sensors and turbulence: 20 s in the air."""
    scenario = tomllib.loads(find("quad-air").read_text(encoding="utf-8"))
    return {**CAMPAIGN, "scenario": {**scenario, "noise": {"generator": "philox"}}, "parameter": QUAD_PARAMETERS}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("made", "metric"), [(tilt_rotor_with_noise, "pos_z_rms_m"), (quadrotor, "pos_rms_m")], ids=["tilt-rotor", "quad"]
)
def test_200_flights_have_the_same_verdicts_with_either_engine(
    made: Callable[[], dict[str, Any]], metric: str, tmp_path: Path
) -> None:
    """With noise: the bench draws the batch's numbers."""
    table = {**made(), "flights": 200}
    batch = Campaign(table, out=tmp_path / "batch").run()
    bench = Campaign({**table, "engine": "bench"}, out=tmp_path / "bench").run()
    off = np.abs(bench.metric(metric) - batch.metric(metric))
    print(f"{int(batch.passed.sum())} of 200 passed in both; {metric} within {np.max(off):.3g}")
    assert len(bench.flown) == 200 and bench.passed.tolist() == batch.passed.tolist()
    assert 0 < batch.passed.sum() < 200
    assert np.max(off) < 1e-3
