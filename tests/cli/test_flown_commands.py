"""`aeroloop compare` with logs: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flown_logs import attitude_log, synthetic
from typer.testing import CliRunner, Result

from aeroloop.cli import app as cli
from aeroloop.cli.flown_commands import LINE_PERIOD_S, reading
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.flown import csv_table, dataflash_writer


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["compare", *map(str, arguments)])


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    flown, simulated = tmp_path / "flown.bin", tmp_path / "simulated.csv"
    dataflash_writer.write(synthetic(), flown)
    csv_table.write(synthetic(later_s=0.25), simulated)
    return flown, simulated


def test_two_logs(logs: tuple[Path, Path], tmp_path: Path) -> None:
    shown = run(*logs)
    assert shown.exit_code == 0, shown.output
    assert "roll     1.0000 1.0000" in shown.output
    assert "the clock of simulated.csv is 250.0 ms ahead" in shown.output
    assert (tmp_path / "compare-flown.bin-simulated.csv.html").is_file()


def test_numbers_alone_on_standard_output(logs: tuple[Path, Path], tmp_path: Path) -> None:
    shown = run(*logs, "--json", "--from", "5", "--to", "15", "--table", "paper", "--out", tmp_path / "page.html")
    told = json.loads(shown.stdout)
    assert (told["from_s"], told["to_s"]) == pytest.approx((5.0, 15.0), abs=0.01)
    assert told["lag_s"] == pytest.approx(0.25, abs=0.001)
    assert len(told["paper"]["rows"]) == 16
    assert (tmp_path / "page.html").is_file()


def test_the_table_of_the_paper(logs: tuple[Path, Path], tmp_path: Path) -> None:
    shown = run(*logs, "--table", "paper", "--out", tmp_path / "page.html")
    assert "0.8556" in shown.output
    assert "Not compared: accel_x" in shown.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{flown}",), "expected two logs to compare, not 1"),
        (("{flown}", "{simulated}", "{flown}"), "expected two logs to compare, not 3"),
        (("{flown}", "{simulated}", "--within", "1"), "--within: expected folders"),
        (("{flown}", "{simulated}", "--table", "thesis"), "--table thesis: expected paper"),
        (("{flown}", "{simulated}", "--from", "500"), "the log goes from 0.0 to 40.0 s"),
        (("{flown}", "{simulated}", "--out", "page.txt"), "expected the name of an .html file"),
        (("{flown}", "{simulated}", "--map", "no.toml"), "no.toml: cannot be read"),
        (("{flown}", "no.ulg"), "no.ulg: no such log"),
        (("{flown}", "{short}"), "no flight in it"),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_code_2(
    logs: tuple[Path, Path], tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    short = tmp_path / "short.log"
    short.write_bytes(
        b"FMT, 1, 1, ATT, Qf, TimeUS,Roll\nFMT, 2, 1, CTUN, Qf, TimeUS,ThO\n"
        + b"".join(b"ATT, %d, 1\nCTUN, %d, 0.1\n" % (at, at) for at in range(0, 10_000_000, 100_000))
    )
    shown = run(*(each.format(flown=logs[0], simulated=logs[1], short=short) for each in arguments))
    assert isinstance(shown.exception, ConfigError)
    assert isinstance(shown.exception, AeroloopError)
    assert shown.exception.exit_code == 2
    assert words in str(shown.exception)


def test_one_mapping_for_each_table(tmp_path: Path) -> None:
    record = synthetic()
    paths: list[Path] = []
    for index, title in enumerate(("phi", "bank")):
        table, mapping = tmp_path / f"{index}.csv", tmp_path / f"{index}.toml"
        csv_table.write(record, table)
        text = table.read_text(encoding="utf-8").replace("roll [rad]", title).replace("pitch [rad]", "theta")
        table.write_text(text, encoding="utf-8")
        mapping.write_text(f'time = "time"\n[signals]\nroll = "{title} [rad]"\n', encoding="utf-8")
        paths += [table, mapping]
    shown = run(paths[0], paths[2], "--map", paths[1], "--map", paths[3], "--json")
    assert [each["name"] for each in json.loads(shown.stdout)["signals"]] == ["roll"]


def test_a_long_log_is_read_with_lines(tmp_path: Path) -> None:
    told: list[str] = []
    now_s = 0.0
    progress = reading(Path("long.bin"), told.append, lambda: now_s)
    for now_s, done in (  # noqa: B007  read by the lambda
        (0.1, 10_000_000),
        (LINE_PERIOD_S, 60_000_000),
        (LINE_PERIOD_S + 0.1, 70_000_000),
    ):
        progress(done, 120_000_000)
    now_s = 3 * LINE_PERIOD_S
    progress(120_000_000, 120_000_000)
    assert told == ["long.bin: 60 of 120 MB read"]


def test_a_run_is_exported_as_dataflash_and_signals(tmp_path: Path) -> None:
    (tmp_path / "flight.bin").write_bytes(attitude_log([0]))
    shown = CliRunner().invoke(cli.app, ["export", str(tmp_path / "flight.bin"), "--bin"])
    assert isinstance(shown.exception, ConfigError)
    assert "not a flight log" in str(shown.exception)
