"""A run's folder: what a flight leaves behind, and how it is made from the log alone.

scenario.toml   the resolved scenario        flight.mcap   the log
summary.json    numbers and verdict          report.html   pictures
law.py, ...     copies of the files that the scenario names
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w

from aeroloop.analysis.summary import summarise
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load
from aeroloop.core.streams import streams_of
from aeroloop.recording.log import Log, read

SCENARIO, LOG, SUMMARY, REPORT = "scenario.toml", "flight.mcap", "summary.json", "report.html"
NAME_LENGTH = 160  # of a file; many file systems take 255 bytes
KEYS = ("scenario", "loop", "pace", "exit_code", "ended", "checks", "metrics", "timing", "links", "events", "versions")
"""What a report needs of a summary."""


def make_folder(folder: Path, scenario: Scenario) -> None:
    """A new run folder with its scenario; one that exists is never touched."""
    files = scenario.files()
    copies = {key: _content(key, name) for key, name in files.items()}
    names = {key: _copy_name(scenario.file_names[key], file) for key, file in files.items()}
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(f"{folder}: exists already, and a run is never overwritten; choose another --out") from None
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error.strerror}") from None
    for key, content in copies.items():  # the run keeps what it flew: its author goes on changing the file
        _write_bytes(folder / names[key], content)
    table = scenario.with_files(names).flat()
    _write(folder / SCENARIO, tomli_w.dumps(_without_none(table)))


def _copy_name(name: str, file: str) -> str:
    """A name without an ending takes the file's: there it says what the file holds."""
    return name if Path(name).suffix else f"{name}{Path(file).suffix.lower()}"


def _content(key: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{key}: {file}: cannot be read: {error.strerror}") from None


def discard(folder: Path, scenario: Scenario) -> None:
    """Take back the folder of a flight that never began; what somebody else put there stays."""
    for name in (SCENARIO, LOG, *scenario.file_names.values()):
        for path in [folder / name] if Path(name).suffix else folder.glob(f"{name}.*"):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def read_log(folder: Path, scenario: Scenario) -> Log:
    """The log of a run; an empty one of a flight that recorded nothing."""
    path, streams = folder / LOG, streams_of(scenario)
    if not (path.exists() and path.stat().st_size):
        return Log.empty(streams)
    log, ours = read(path, streams), {stream.name: stream.names for stream in streams}
    other = [name for name, columns in log.columns.items() if not set(ours.get(name, ("",))) <= set(columns)]
    if other:
        raise ConfigError(
            f"{path}: written by a version of Aeroloop with other streams ({other[0]}): use that version for its report"
        )
    return log


def write_summary(folder: Path, scenario: Scenario, log: Log, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """summary.json from the log; also of a flight that was cut short."""
    summary = summarise(scenario, log, outcome=outcome)
    _write(folder / SUMMARY, json.dumps(summary, indent=2, allow_nan=False) + "\n")
    return summary


def write_report(folder: Path, scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> Path:
    """report.html of a run."""
    from aeroloop.analysis import page  # templates and drawing take a moment to import
    from aeroloop.analysis.report import render_report

    page.write(folder / REPORT, render_report(scenario, log, summary), "report")
    return folder / REPORT


def report_again(folder: Path) -> Path:
    """report.html of a run, from what its folder holds."""
    scenario, summary = load_run(folder)
    return write_report(folder, scenario, read_log(folder, scenario), summary)


def comparison_path(folders: list[Path]) -> Path:
    """Where the page of a comparison goes when nobody says: beside the first run."""
    names = [folder.resolve().name for folder in folders]
    stem = f"compare-{'-'.join(names)}"
    if len(stem) > NAME_LENGTH:
        stem = f"compare-{names[0]}-and-{len(names) - 1}-more"
    return folders[0].resolve().parent / f"{stem}.html"


def compare_runs(folders: list[Path], out: Path) -> dict[str, Any]:
    """The page of a comparison of runs, written to `out`; returns its numbers."""
    from aeroloop.analysis import page
    from aeroloop.analysis.compare import Run, compare
    from aeroloop.analysis.compare_page import render

    if out.suffix != ".html":
        raise ConfigError(f"{out}: expected the name of an .html file for the comparison")
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: the folder {out.parent} does not exist")
    if out.name == REPORT and (out.parent / SCENARIO).exists():
        raise ConfigError(f"{out}: is the report of a run; choose another name for the comparison")
    runs = []
    for folder in folders:
        scenario, summary = load_run(folder)
        runs.append(Run(folder.resolve().name, scenario, read_log(folder, scenario), summary))
    comparison = compare(runs)
    page.write(out, render(runs, comparison), "comparison")
    return comparison


def load_run(folder: Path) -> tuple[Scenario, dict[str, Any]]:
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such run; expected a folder that `aeroloop fly` made")
    for name in (SCENARIO, SUMMARY):
        if not (folder / name).is_file():
            raise ConfigError(f"{folder}: not a run, it holds no {name}")
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ConfigError(f"{folder / SUMMARY}: expected JSON: {error}") from None
    missing = [key for key in KEYS if not (isinstance(summary, dict) and key in summary)]
    if missing:
        raise ConfigError(f"{folder / SUMMARY}: expected the summary of a flight, with the key {missing[0]}")
    return load(folder / SCENARIO), summary


def _write(path: Path, text: str) -> None:
    _write_bytes(path, text.encode())


def _write_bytes(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        path.unlink(missing_ok=True)  # half a file would pass for a whole one
        raise AeroloopError(f"{path}: cannot be written: {error.strerror}") from None


def _without_none(table: Any) -> Any:
    """TOML has no null: a key that is not set is left out."""
    if isinstance(table, dict):
        return {key: _without_none(value) for key, value in table.items() if value is not None}
    if isinstance(table, list | tuple):
        return [_without_none(value) for value in table]
    return table
