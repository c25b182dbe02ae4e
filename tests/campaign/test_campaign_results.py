"""What is written and printed of a campaign: report, list of the worst, tables, status, exit codes."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from campaign_tables import TABLE, WIND, filled, outcome
from typer.testing import CliRunner

from aeroloop.campaign import store
from aeroloop.campaign.campaign_page import render
from aeroloop.campaign.campaign_plots import scatters
from aeroloop.campaign.campaigns import Campaign
from aeroloop.campaign.definition import Definition
from aeroloop.campaign.driver import Progress
from aeroloop.campaign.flight_table import write
from aeroloop.campaign.judgement import Judged, margin_of, percent
from aeroloop.campaign.store import Store
from aeroloop.cli.app import app
from aeroloop.cli.campaign_commands import Lines
from aeroloop.core.config import convert
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_OK, EXIT_USAGE, ConfigError


def test_a_result_is_written_once(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    store = Store(tmp_path, writes=True)
    store.flown(f"{1:024}", outcome(9.0))
    store.plan([(f"{1:024}", 1, {}, 5)], campaign.edition)
    assert not store.not_flown(f"{1:024}", "late", exit_code=EXIT_LINK, retries=2)
    store.close()
    row = campaign.status().rows[0]
    assert (row.passed, row.log_sha256, row.seed, row.state) == (True, "0.08", 1, "flown")
    assert campaign.status().metrics[row.key]["pos_rms_m"] == pytest.approx(0.08)


def test_failed_and_could_not_be_flown_are_different(tmp_path: Path) -> None:
    judged = filled(tmp_path / "all").status()
    assert (judged.rate().successes, judged.rate().count, judged.exit_code) == (18, 20, EXIT_OK)
    fewer = filled(tmp_path / "fewer", aborted=2).status()
    assert fewer.rate().words == (
        "90 % (18 of 20), 95 % interval 68.3 % to 98.8 %; without the 2 aborted 100 % (18 of 18), 81.5 % to 100 %"
    )
    assert (len(fewer.flown), fewer.exit_code) == (18, EXIT_LINK)
    many = filled(tmp_path / "many", aborted=12).status()
    assert many.exit_code == EXIT_CHECK_FAILED


def test_worst_flights_and_sensitivity(tmp_path: Path) -> None:
    judged = filled(tmp_path).status()
    worst = judged.worst(3)
    assert [each.row.number for each in worst] == [20, 19, 18]
    assert [each.margin for each in worst] == pytest.approx([-1 / 15, -0.02 / 1.5, 0.04])
    (only,) = judged.sensitivities  # the preset is the same in all flights
    assert (only.key, only.metric, only.correlation) == (WIND, "pos_rms_m", pytest.approx(1.0))


def test_margins() -> None:
    assert margin_of(1.0, "< 4") == 0.75
    assert margin_of(5.0, "> 4") == 0.25
    assert margin_of(2.0, "= 0") == -2.0
    assert margin_of(0.0, "= 0") == 0.0
    assert margin_of(math.nan, "< 4") == -math.inf


def test_rates_are_told_from_all_and_none() -> None:
    shown = [percent(value) for value in (0.0, 1.0, 0.5, 0.99995, 0.0036, 6e-9)]
    assert shown == ["0 %", "100 %", "50 %", "99.995 %", "0.36 %", "0.000001 %"]


def test_report_has_every_part(tmp_path: Path) -> None:
    judged = filled(tmp_path, aborted=1).status()
    text = render(judged, Path("runs/made-up"))
    assert "Passed: 90 % (18 of 20), 95 % interval" in text
    for words in (
        "limit &lt; 1.5",
        "aeroloop campaign replay runs/made-up 19",
        "the worker process was lost",
        "mujoco",
    ):
        assert words in text
    for anchor in ("checks", "distributions", "scatter", "sensitivity", "worst", "aborted", "about"):
        assert f'id="{anchor}"' in text
    assert text.count("<svg") == 3
    assert render(judged, Path("runs/made-up")) == text


def test_report_names_what_separates_failed_flights(tmp_path: Path) -> None:
    """18 of 20 passed is too little for a tree with sides of five; with a limit in the middle it is clear."""
    judged = filled(tmp_path).status()
    assert "No parameter separates failed flights clearly. Best split: 2 of 5 failed where" in render(judged, tmp_path)
    rows = [replace(row, verdict="passed" if row.number <= 12 else "failed") for row in judged.rows]
    text = render(replace(judged, rows=rows), tmp_path)
    assert "8 of 8 failed where world.wind.steady_W[0] &gt; 10 against 0 of 12 failed where" in text
    assert "by chance a split is as good with probability 0.005" in text


def test_of_many_parameters_the_report_shows_the_strongest_pairs(tmp_path: Path) -> None:
    """Five parameters have ten pairs; four of the six that are shown are those of the one that matters."""
    judged = filled(tmp_path).status()
    keys = [WIND, *(f"world.wind.steady_W[{n}]" for n in (1, 2)), "vehicle.scale.mass", "vehicle.scale.thrust"]
    order = [keys[1], keys[2], keys[3], keys[4], WIND]  # in the file the one that matters is the last
    rng = np.random.default_rng(1)
    rows = [
        replace(row, values={**dict(zip(keys, rng.uniform(0.5, 1.0, 5), strict=True)), WIND: row.values[WIND]})
        for row in judged.rows
    ]
    parameters = [{"key": key, "uniform": [0, 1]} for key in order]
    definition = convert({**TABLE, "parameter": parameters}, Definition, "here")
    pictures, left_out = scatters(replace(judged, definition=definition, rows=rows))
    assert left_out.startswith("6 of 10 pairs: those of the parameters with the largest rank correlation")
    assert [WIND in each.title for each in pictures].count(True) == 4
    assert all(WIND in each.title for each in pictures[:4])
    assert scatters(judged)[1] == ""


def test_report_of_nothing_flown() -> None:
    definition = convert(dict(TABLE), Definition, "here")
    text = render(Judged(definition, [], {}, total=20), Path("runs/made-up"))
    assert "0 of 20 flights. Passed: no rate (0 of 0)" in text


def test_tables_of_flights(tmp_path: Path) -> None:
    campaign = filled(tmp_path, aborted=1)
    with campaign.export().open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    assert (rows[4]["verdict"], float(rows[4][WIND]), float(rows[4]["pos_rms_m"])) == (
        "passed",
        4.0,
        pytest.approx(0.4),
    )
    assert (rows[19]["state"], rows[19]["pos_rms_m"], rows[19]["verdict"]) == ("gave_up", "", "")
    with pytest.raises(ConfigError, match=r"expected the name of a \.csv or \.parquet file"):
        campaign.export(tmp_path / "flights.xlsx")


def test_parquet_has_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    judged = filled(tmp_path).status()
    write(tmp_path / "flights.parquet", judged)
    assert parquet.read_table(tmp_path / "flights.parquet").to_pydict() == judged.exported()


def told(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["campaign", *arguments], env={"COLUMNS": "200"})
    if isinstance(result.exception, ConfigError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.stdout


def test_what_a_library_prints_during_the_flights_is_not_in_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ray prints pages on standard output when it loses a node."""

    def run(campaign: Campaign, **_: object) -> Judged:
        print("(raylet) Raylet is terminated.")
        return campaign.status()

    filled(tmp_path)
    monkeypatch.setattr(Campaign, "run", run)
    monkeypatch.setattr(Campaign, "report", lambda campaign: campaign.folder / "report.html")
    code, text = told("run", "quad-wind", "--out", str(tmp_path), "--json")
    assert (code, json.loads(text)["campaign"]) == (EXIT_OK, "made-up")


def test_commands_of_a_folder(tmp_path: Path) -> None:
    filled(tmp_path, aborted=1)
    code, text = told("status", str(tmp_path), "--json")
    assert code == EXIT_LINK
    summary = json.loads(text)
    assert summary["flights"] == {
        "total": 20,
        "flown": 19,
        "passed": 18,
        "failed": 1,
        "aborted": 1,
        "of_other_editions": 0,
        "of_other_designs": 0,
    }
    assert summary["rate"]["n"] == 20
    code, text = told("status", str(tmp_path))
    assert "aborted: flight 20: the worker process was lost" in text
    code, text = told("worst", str(tmp_path), "--count", "1")
    assert (code, text.splitlines()[0]) == (0, "pos_rms_m 1.52, limit < 1.5, margin -1.33 %: flight 19")
    assert text.splitlines()[2] == f"    aeroloop campaign replay {tmp_path} 19"
    assert told("export", str(tmp_path)) == (0, f"{tmp_path / 'flights.csv'}\n")
    assert told("replay", str(tmp_path), "21") == (EXIT_USAGE, f"{tmp_path}: no flight 21; expected 1 to 20")
    code, text = told("status", str(tmp_path / "nothing"))
    assert (code, text) == (
        EXIT_USAGE,
        f"{tmp_path / 'nothing'}: holds no campaign.db; expected a folder of `aeroloop campaign run`",
    )


def test_progress_in_words() -> None:
    lines: list[str] = []
    now_s = 0.0
    shown = Lines("quick", lines.append, lambda: now_s)
    progress = Progress(10, 2)
    for progress.done in range(1, 11):
        progress.recent_s.append(2.0)
        now_s += 7.0
        shown(progress)
    assert lines == [
        "quick: 1 of 10 flights, 0 failed, 0 aborted, 1/s",
        "quick: 10 of 10 flights, 0 failed, 0 aborted, 1/s",
    ]
    progress.done = 4
    assert progress.words == "4 of 10 flights, 0 failed, 0 aborted, 1/s, 6 s left (6 s to 6 s)"


def test_a_reader_while_the_tables_are_made_sees_all_of_them_or_none(tmp_path: Path) -> None:
    """After every statement of the schema another connection looks."""
    path, seen = tmp_path / "campaign.db", set()
    writer = sqlite3.connect(path, isolation_level=None)
    for statement in store._SCHEMA.strip().split(";"):
        writer.execute(statement)
        with closing(sqlite3.connect(path)) as reader:
            tables = reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            seen.add(frozenset(name for (name,) in tables))
    writer.close()
    assert seen == {frozenset(), frozenset(("block", "campaign", "flight", "metric"))}
