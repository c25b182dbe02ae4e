"""A log as plain tables, a file for each stream: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.recording.log import Log

LONGEST_NAME = 120


def units_of(log: Log) -> dict[str, tuple[str, ...]]:
    """Units of each stream's columns; empty if the log does not contain them."""
    known = {stream.name: stream.units for stream in log.streams}
    return {
        name: units if len(units := known.get(name, ())) == len(columns) else ("",) * len(columns)
        for name, columns in log.columns.items()
    }


def file_names(log: Log, ending: str) -> dict[str, str]:
    """Tables of the streams that have rows. A log may be of foreign origin: its names are not used as paths."""
    found: dict[str, str] = {}
    for stream, rows in log.rows.items():
        if not len(rows):
            continue
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", stream).strip(".-")[:LONGEST_NAME] or "stream"
        name, number = f"{stem}{ending}", 2
        while name in found.values():
            name, number = f"{stem}-{number}{ending}", number + 1
        found[stream] = name
    return found


def write_csv(log: Log, folder: Path) -> list[Path]:
    """The first line has names with units, such as `x_m [m]`; a missing value is an empty cell."""
    units = units_of(log)

    def write(path: Path, stream: str, rows: NDArray[np.float64]) -> None:
        with path.open("x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(_titles(log.columns[stream], units[stream]))
            writer.writerows(_cells(rows))

    return _each(log, folder, ".csv", write)


def _titles(columns: tuple[str, ...], units: tuple[str, ...]) -> Iterator[str]:
    return (f"{name} [{unit}]" if unit else name for name, unit in zip(columns, units, strict=True))


def _cells(rows: NDArray[np.float64]) -> Iterator[list[float | str]]:
    for row in rows.tolist():
        yield ["" if value != value else value for value in row]


def write_parquet(log: Log, folder: Path) -> list[Path]:
    """Float64 columns with their unit as metadata; the file's metadata has the stream and the epoch."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow, which is not installed: pip install 'aeroloop[export]'")
    import pyarrow
    from pyarrow import parquet

    units = units_of(log)

    def write(path: Path, stream: str, rows: NDArray[np.float64]) -> None:
        fields = [
            pyarrow.field(name, pyarrow.float64(), metadata={"unit": unit})
            for name, unit in zip(log.columns[stream], units[stream], strict=True)
        ]
        about: Mapping[str, str] = {"stream": stream, "epoch_ns": str(log.epoch_ns)}
        columns = [pyarrow.array(np.ascontiguousarray(column)) for column in rows.T]
        parquet.write_table(pyarrow.table(columns, schema=pyarrow.schema(fields, metadata=about)), path)

    return _each(log, folder, ".parquet", write)


def _each(log: Log, folder: Path, ending: str, write: Callable[[Path, str, NDArray[np.float64]], None]) -> list[Path]:
    written = []
    for stream, name in file_names(log, ending).items():
        path = folder / name
        if path.exists():
            raise ConfigError(f"{path}: exists already, and is not overwritten; choose another --out")
        write(path, stream, log.rows[stream])
        written.append(path)
    return written
