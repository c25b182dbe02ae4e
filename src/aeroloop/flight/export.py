"""Export of a run to other formats: tables, ULog, a Foxglove layout, and MCAP for logs without the well-known
topics."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import foxglove
import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan, parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import Stream
from aeroloop.core.streams import logged, streams_of
from aeroloop.flight.described import described, names
from aeroloop.flight.results import LOG, SCENARIO
from aeroloop.flown import csv_table, dataflash_writer, own_run
from aeroloop.recording.layout import layout
from aeroloop.recording.log import CLOCK, STREAMS, Log, LogWriter, part_of, read
from aeroloop.recording.tables import write_csv, write_parquet
from aeroloop.recording.ulog import write_ulog
from aeroloop.recording.well_known import Take, WellKnownTopics

FORMATS = ("csv", "parquet", "ulg", "bin", "signals", "mcap", "layout")
SIGNAL_WRITERS = {"bin": dataflash_writer.write, "signals": csv_table.write}
"""Formats of one aircraft's standard signals; of several aircraft the first."""
NEEDS_PLAN = ("mcap", "layout")


def export_run(run: Path, formats: Sequence[str], out: Path | None) -> list[Path]:
    """`run`: a folder written by a flight, or a log; returns the files written."""
    log_path = run / LOG if run.is_dir() else run
    if not log_path.is_file():
        raise ConfigError(f"{run}: expected a folder that `aeroloop fly` made, or a log such as {LOG}")
    wants_plan = [name for name in formats if name in NEEDS_PLAN]
    if wants_plan and not (run / SCENARIO).is_file():
        raise ConfigError(f"--{wants_plan[0]}: expected the folder of a run, with its {SCENARIO}, not {run}")
    log = read(log_path)
    folder = out or (run / "export" if run.is_dir() else run.with_name(f"{run.stem}-export"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for name in formats for path in _written(name, run, log, folder)]
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from None


def _written(name: str, run: Path, log: Log, folder: Path) -> list[Path]:
    if name == "csv":
        return write_csv(log, folder)
    if name == "parquet":
        return write_parquet(log, folder)
    path = (
        folder
        / {
            "ulg": "flight.ulg",
            "bin": "flight.bin",
            "signals": "signals.csv",
            "mcap": LOG,
            "layout": "foxglove-layout.json",
        }[name]
    )
    if path.exists():
        raise ConfigError(f"{path}: exists already, and is not overwritten; choose another --out")
    if name == "ulg":
        write_ulog(log, path)
    elif name in SIGNAL_WRITERS:
        SIGNAL_WRITERS[name](own_run.from_log(log, run / LOG if run.is_dir() else run), path)
    else:
        plan = load_plan(run / SCENARIO)
        parts = [FlownPart(part, before, part_of(log, before)) for part, before in _prefixed(plan)]
        if name == "mcap":
            write_log(path, parts, log.epoch_ns)
        else:
            path.write_text(layout(aircraft_names(plan), parts[0].prefix, _topics(parts)), encoding="utf-8")
    return [path]


def aircraft_names(plan: Plan) -> tuple[str, ...]:
    """The names in topics and frames."""
    return tuple(name for part, before in _prefixed(plan) for name in names(before, part.aircraft.count))


def _topics(parts: Sequence[FlownPart]) -> set[str]:
    """Those of a log: its streams, and what is derived from them."""
    context = foxglove.Context()
    about = described([(part.scenario, part.prefix) for part in parts])
    own = [[stream for stream in streams_of(part.scenario) if stream.name in part.log.columns] for part in parts]
    derived = [WellKnownTopics(context, *each).topics for each in zip(own, about, strict=True)]
    return set().union(*derived, *({f"{part.prefix}{name}" for name in part.log.columns} for part in parts))


def _prefixed(plan: Plan) -> list[tuple[Scenario, str]]:
    return [(part, prefix(plan, part)) for part in parts_of(plan)]


@dataclass(frozen=True)
class FlownPart:
    scenario: Scenario
    prefix: str  # prefix of its channels; empty for a single scenario
    log: Log  # its own, without the prefix


def write_log(path: Path, parts: Sequence[FlownPart], epoch_ns: int = 0) -> None:
    """The rows of a flight by time, as a recorder writes them, with the derived topics: the log hash is the same."""
    own = [_streams(part, path) for part in parts]
    channels = [
        replace(stream, name=f"{part.prefix}{stream.name}")
        for part, streams in zip(parts, own, strict=True)
        for stream in streams
    ]
    writer = LogWriter(path, channels)
    about = described([(part.scenario, part.prefix) for part in parts])
    topics = [WellKnownTopics(writer.context, *each) for each in zip(own, about, strict=True)]
    writer.begin(epoch_ns)
    for each in topics:
        each.begin(epoch_ns)
    by_channel = iter(channels)
    rows = [
        _rows(part.log.rows[stream.name], next(by_channel), each.taker(stream.name))
        for part, streams, each in zip(parts, own, topics, strict=True)
        for stream in streams
    ]
    for row, channel, take in heapq.merge(*rows, key=lambda item: item[0][0]):
        writer.write(channel, row)
        if take is not None:
            take(row)
    for each in topics:
        each.finish()
    for name, values in parts[0].log.metadata.items():
        if name not in (STREAMS, CLOCK):
            writer.write_metadata(name, values)
    writer.close()


def _streams(part: FlownPart, path: Path) -> Sequence[Stream]:
    """The streams of its log, in order; ConfigError if they are not ours."""
    ours = {stream.name: stream for stream in logged(streams_of(part.scenario))}
    names = [stream.name for stream in part.log.streams]
    other = [name for name in names if name not in ours or part.log.columns[name] != ours[name].names]
    if other:
        raise ConfigError(f"{path}: the log was written by a version of Aeroloop with other streams ({other[0]})")
    return [ours[name] for name in names]


def _rows(
    rows: NDArray[np.float64], channel: Stream, take: Take | None
) -> Iterator[tuple[tuple[float, ...], Stream, Take | None]]:
    return ((tuple(row), channel, take) for row in rows.tolist())
