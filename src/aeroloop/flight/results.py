"""A run's folder: its files, and how they are created from the log alone.

scenario.toml   the resolved scenario        flight.mcap   the log
summary.json    numbers and verdict          report.html   pictures
law.py, ...     copies of the files that the scenario names; those of a fleet's part begin with its name
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from aeroloop.analysis.fleet import summarise_fleet
from aeroloop.analysis.summary import summarise
from aeroloop.core import trust
from aeroloop.core.changes import PlannedChange
from aeroloop.core.config import convert
from aeroloop.core.errors import EXIT_LINK, ConfigError, not_written
from aeroloop.core.faults import PlannedFault
from aeroloop.core.fleet import Fleet, Plan, parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.operator import PlannedOperatorCommand
from aeroloop.core.scenario import Scenario, value_at, with_value
from aeroloop.core.streams import channels
from aeroloop.flight import run_summary, running
from aeroloop.recording.log import Log, read

SCENARIO, LOG, SUMMARY, REPORT = "scenario.toml", "flight.mcap", "summary.json", "report.html"
ENTRIES: Mapping[str, type[PlannedFault] | type[PlannedChange] | type[PlannedOperatorCommand]] = {
    "faults": PlannedFault,
    "changes": PlannedChange,
    "operator": PlannedOperatorCommand,
}
"""Arrays of the scenario to which entries are added for what was done by hand."""
NAME_LENGTH = 160  # of a file name; many file systems allow 255 bytes
UNFINISHED = {
    "ended": "incomplete",
    "wall_s": 0.0,
    "exit_code": EXIT_LINK,
    "error": "incomplete: the flight was aborted or killed before its verdict; results are from its log",
}
"""The outcome of a flight with a log and without a summary."""


def make_folder(folder: Path, plan: Plan) -> None:
    """Create a run folder with its scenario; an existing one is never changed."""
    copies: dict[str, bytes] = {}
    for part in parts_of(plan):
        names = _copy_names(plan, part)
        copies |= {names[key]: _content(key, file) for key, file in part.files().items()}
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(f"{folder}: exists already, and a run is never overwritten; choose another --out") from None
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error.strerror}") from None
    for name, content in copies.items():  # a copy: the author may change the file later
        _write_bytes(folder / name, content)
    write_scenario(folder, plan)


def write_scenario(folder: Path, plan: Plan) -> None:
    """The resolved scenario, with the names of the copies beside it."""
    parts = [part.with_files(_copy_names(plan, part)) for part in parts_of(plan)]
    table = (replace(plan, parts=tuple(parts)) if isinstance(plan, Fleet) else parts[0]).flat()
    _write(folder / SCENARIO, tomli_w.dumps(without_none(table)))


def with_changes(plan: Plan, changes: Sequence[tuple[int, Mapping[str, Any]]]) -> Plan:
    """The plan as it was flown, with the faults and changes made by hand: the part of each, and its entry."""
    parts = list(parts_of(plan))
    for index, entry in changes:
        ((key, table),) = entry.items()
        made: Any = convert(dict(table), ENTRIES[key], key)
        part = parts[index]
        parts[index] = with_value(part, key, (*value_at(part, key), made))
    return replace(plan, parts=tuple(parts)) if isinstance(plan, Fleet) else parts[0]


def _copy_names(plan: Plan, part: Scenario) -> dict[str, str]:
    """Names of the copies of the files that a part names, by key."""
    return {key: _own(plan, part) + _copy_name(part.file_names[key], file) for key, file in part.files().items()}


def _own(plan: Plan, part: Scenario) -> str:
    """Prefix for the file names of a fleet's part."""
    return prefix(plan, part).replace("/", "-")


def _copy_name(name: str, file: str) -> str:
    """A name without an extension gets that of the file."""
    return name if Path(name).suffix else f"{name}{Path(file).suffix.lower()}"


def _content(key: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{key}: {file}: cannot be read: {error.strerror}") from None


def discard(folder: Path, plan: Plan) -> None:
    """Remove the folder of a flight that never started; other files in it are kept."""
    copies = [_own(plan, part) + name for part in parts_of(plan) for name in part.file_names.values()]
    for name in (SCENARIO, LOG, *copies):
        for path in [folder / name] if Path(name).suffix else folder.glob(f"{name}.*"):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def read_log(folder: Path, plan: Plan) -> Log:
    """The log of a run; an empty one if nothing was recorded."""
    path, streams = folder / LOG, channels(plan)
    if not (path.exists() and path.stat().st_size):
        return Log.empty(streams)
    log, ours = read(path, streams), {stream.name: stream.names for stream in streams}
    other = [name for name, columns in log.columns.items() if not set(ours.get(name, ("",))) <= set(columns)]
    if other:
        raise ConfigError(
            f"{path}: written by a version of Aeroloop with other streams ({other[0]}): use that version for its report"
        )
    return log


def summary_of(plan: Plan, log: Log, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and verdict from the log; also for a flight that was aborted."""
    if isinstance(plan, Fleet):
        return summarise_fleet(plan, log, outcome=outcome)
    return summarise(plan, log, outcome=outcome)


def as_text(summary: Mapping[str, Any]) -> str:
    """The content of summary.json."""
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


def write_summary(folder: Path, plan: Plan, log: Log, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Write summary.json from the log."""
    summary = summary_of(plan, log, outcome)
    keep_summary(folder, summary)
    return summary


def keep_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    _write(folder / SUMMARY, as_text(summary))


def write_report(
    folder: Path, plan: Plan, log: Log, summary: Mapping[str, Any], *, allan_h: float | None = None
) -> Path:
    """Write report.html of a run; with Allan deviations of its IMU at rest for `allan_h` hours."""
    from aeroloop.analysis import page  # imported here: templates and drawing are slow to import
    from aeroloop.analysis.fleet_report import render_fleet
    from aeroloop.analysis.report import render_report

    if isinstance(plan, Fleet):
        if allan_h is not None:
            raise ConfigError(f"--allan: {folder} is a flight of several kinds of aircraft; expected a run of one kind")
        html = render_fleet(plan, log, summary)
    else:
        html = render_report(plan, log, summary, allan_h=allan_h)
    page.write(folder / REPORT, html, "report")
    return folder / REPORT


def report_again(folder: Path, *, allan_h: float | None = None) -> Path:
    """Write report.html of a run from its folder; if there is no summary, also write that, marked incomplete."""
    if _lacks_summary(folder):
        plan = _flown(folder)
        log = read_log(folder, plan)
        return write_report(folder, plan, log, write_summary(folder, plan, log, UNFINISHED), allan_h=allan_h)
    plan, summary = load_run(folder)
    log = read_log(folder, plan)
    with run_summary.attributed_errors(folder / SUMMARY, summary, partial(summary_of, plan, log, UNFINISHED)):
        return write_report(folder, plan, log, summary, allan_h=allan_h)


def _lacks_summary(folder: Path) -> bool:
    """Whether a flight has left a log here without results."""
    if (folder / SUMMARY).exists() or not all((folder / name).is_file() for name in (SCENARIO, LOG)):
        return False
    log = str((folder / LOG).resolve())
    if any(launch.log == log for launch in running.flights()):
        raise ConfigError(f"{folder}: its flight is still running; expected one that has ended")
    return True


def comparison_path(folders: list[Path]) -> Path:
    """Default path of a comparison page: beside the first run."""
    names = [folder.resolve().name for folder in folders]
    stem = f"compare-{'-'.join(names)}"
    if len(stem) > NAME_LENGTH:
        stem = f"compare-{names[0]}-and-{len(names) - 1}-more"
    return folders[0].resolve().parent / f"{stem}.html"


def check_comparison_path(out: Path) -> None:
    """ConfigError where the page of a comparison cannot go there."""
    if out.suffix != ".html":
        raise ConfigError(f"{out}: expected the name of an .html file for the comparison")
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: the folder {out.parent} does not exist")
    if out.name == REPORT and (out.parent / SCENARIO).exists():
        raise ConfigError(f"{out}: is the report of a run; choose another name for the comparison")


def compare_runs(folders: list[Path], out: Path) -> dict[str, Any]:
    """Write the comparison page of runs to `out`; returns its numbers."""
    from aeroloop.analysis import page
    from aeroloop.analysis.compare import Run, compare
    from aeroloop.analysis.compare_page import render
    from aeroloop.analysis.fleet_compare import FleetRun, compare_fleets

    check_comparison_path(out)
    fleets, runs, attributions = [], [], ExitStack()
    for folder in folders:
        plan, summary = load_run(folder)
        name, log = folder.resolve().name, read_log(folder, plan)
        attributions.enter_context(
            run_summary.attributed_errors(folder / SUMMARY, summary, partial(summary_of, plan, log, UNFINISHED))
        )
        if isinstance(plan, Fleet):
            fleets.append(FleetRun(name, plan, log, summary))
        else:
            runs.append(Run(name, plan, log, summary))
    if fleets and runs:
        raise ConfigError(f"{fleets[0].name} flew a fleet and {runs[0].name} did not: nothing to compare")
    with attributions:
        if fleets:
            comparison, html = compare_fleets(fleets)
        else:
            comparison = compare(runs)
            html = render(runs, comparison)
    page.write(out, html, "comparison")
    return comparison


def load_run(folder: Path) -> tuple[Plan, dict[str, Any]]:
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such run; expected a folder that `aeroloop fly` made")
    for name in (SCENARIO, SUMMARY):
        if not (folder / name).is_file():
            unfinished = name == SUMMARY and (folder / LOG).is_file()
            hint = f"; `aeroloop report {folder}` makes it from the log" if unfinished else ""
            raise ConfigError(f"{folder}: not a run, it holds no {name}{hint}")
    return _flown(folder), run_summary.read(folder / SUMMARY)


def _flown(folder: Path) -> Plan:
    """The plan of a run."""
    trust.consent_to_own(folder)
    return load_plan(folder / SCENARIO)


def _write(path: Path, text: str) -> None:
    _write_bytes(path, text.encode())


def _write_bytes(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        # Written to another file first: a partial file must not be taken for a complete one.
        path.unlink(missing_ok=True)
        raise not_written(path, error) from None


def without_none(table: Any) -> Any:
    """TOML has no null: keys without a value are omitted."""
    if isinstance(table, dict):
        return {key: without_none(value) for key, value in table.items() if value is not None}
    if isinstance(table, list | tuple):
        return [without_none(value) for value in table]
    return table
