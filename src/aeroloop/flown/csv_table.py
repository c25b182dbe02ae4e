"""CSV tables as flight records, and back.

A column is a signal where its title is the standard name with a unit, as this module writes them: `roll [deg]`. Any
other table needs a mapping, a TOML file:

    time = "Time [ms]"            # the column, with its unit
    [signals]
    roll = "phi [deg]"

An empty cell is no row of that signal, so signals of different rates share one table.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.core.config import Config, convert, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.suggest import did_you_mean
from aeroloop.flown.quantities import BY_NAME, DEGREE, M_GAUSS
from aeroloop.flown.read import Options
from aeroloop.flown.record import Array, Dropped, FlightRecord, Missing, Signal, rising

TIME = "time"
UNITS: dict[str, dict[str, float]] = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "rad": {"rad": 1.0, "deg": DEGREE, "cdeg": DEGREE / 100},
    "rad/s": {"rad/s": 1.0, "deg/s": DEGREE},
    "m/s2": {"m/s2": 1.0, "g": 9.80665, "mg": 9.80665e-3},
    "T": {"T": 1.0, "uT": 1e-6, "nT": 1e-9, "Gauss": 1e-4, "mGauss": M_GAUSS},
    "Pa": {"Pa": 1.0, "hPa": 100.0, "mbar": 100.0, "kPa": 1000.0},
    "m": {"m": 1.0, "cm": 0.01, "mm": 1e-3, "ft": 0.3048},
    "m/s": {"m/s": 1.0, "cm/s": 0.01, "km/h": 1 / 3.6, "kt": 0.514444, "ft/s": 0.3048},
    "deg": {"deg": 1.0, "rad": 1 / DEGREE, "1e-7deg": 1e-7},
    "us": {"us": 1.0},
    "-": {"-": 1.0, "%": 0.01, "permille": 1e-3},
}
"""What a table's unit is in the standard unit of a signal."""
COLUMNS_LISTED = 60


class Mapping(Config, frozen=True):
    """A mapping file; each column may be followed by its unit, as in `Roll [deg]`."""

    time: str
    signals: dict[str, str]


@dataclass(frozen=True)
class Source:
    """Where a signal stands in the table."""

    name: str
    column: int
    factor: float  # from the table's unit to the standard one
    title: str


def read(path: Path, options: Options) -> FlightRecord:
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            rows = csv.reader(file)
            titles = [title.strip() for title in next(rows, [])]
            sources = _sources(path, titles, options.mapping)
            columns, bad = _columns(rows, sources)
    except (OSError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    (_, *named), (time_s, *of_named) = sources, columns
    signals: dict[str, Signal] = {}
    dropped: list[Dropped] = []
    for source, values in zip(named, of_named, strict=True):
        there = ~np.isnan(values) & ~np.isnan(time_s)
        t_s, (kept,), lost = rising(time_s[there], [values[there]])
        if lost:
            dropped.append(Dropped(source.title, lost, int(there.sum())))
        if len(t_s):
            signals[source.name] = Signal(source.name, t_s, kept, source.title)
    if not signals:
        raise ConfigError(f"{path}: the table has no row with a time and a value")
    missing = [Missing(source.name, source.title) for source in named if source.name not in signals]
    remarks = [f"{bad} cells are not numbers and were left out."] if bad else []
    return FlightRecord(path, "CSV", signals, missing=missing, dropped=dropped, remarks=remarks)


def _sources(path: Path, titles: Sequence[str], mapping: Path | None) -> list[Source]:
    """Time first, then the signals."""
    if mapping is not None:
        told = convert(read_toml(mapping), Mapping, str(mapping))
        return [
            _mapped(path, titles, name, title, mapping) for name, title in ((TIME, told.time), *told.signals.items())
        ]
    if not all(map(str.isprintable, titles)):
        raise ConfigError(f"{path}: not a table of text; its first line, the names of the columns, is not printable")
    known = {_parts(title)[0]: title for title in titles if _parts(title)[0] in (TIME, *BY_NAME)}
    if TIME not in known or len(known) < 2:
        listed = ", ".join(titles[:COLUMNS_LISTED]) + (", ..." if len(titles) > COLUMNS_LISTED else "")
        raise ConfigError(
            f"{path}: expected a mapping, --map FILE.toml, that names the columns of time and signals; "
            f"the columns are: {listed or 'none'}"
        )
    names = (TIME, *(name for name in known if name != TIME))
    return [_mapped(path, titles, name, known[name], path) for name in names]


def _mapped(path: Path, titles: Sequence[str], name: str, title: str, where: Path) -> Source:
    if name != TIME and name not in BY_NAME:
        raise ConfigError(f"{where}: signals.{name}: unknown signal{did_you_mean(name, BY_NAME)}")
    column, unit = (title, "") if title in titles and _parts(title)[0] == title else _parts(title)
    matching = [at for at, own in enumerate(titles) if own == title or _parts(own)[0] == column]
    if not matching:
        raise ConfigError(f"{where}: {name}: {path} has no column {column!r}; its columns are: {', '.join(titles)}")
    at = matching[0]
    standard = "s" if name == TIME else BY_NAME[name].unit
    unit = unit or _parts(titles[at])[1] or standard
    if unit not in UNITS[standard]:
        expected = ", ".join(UNITS[standard])
        raise ConfigError(
            f"{where}: {name}: unknown unit {unit!r} of column {titles[at]!r}; expected one of: {expected}"
        )
    return Source(name, at, UNITS[standard][unit], titles[at])


def _parts(title: str) -> tuple[str, str]:
    """A title without its unit, and the unit: `roll [deg]`."""
    name, bracket, unit = title.rstrip().removesuffix("]").rpartition("[")
    return (name.strip(), unit.strip()) if bracket and title.rstrip().endswith("]") else (title.strip(), "")


def _columns(rows: Iterator[list[str]], sources: Sequence[Source]) -> tuple[list[Array], int]:
    values: list[array[float]] = [array("d") for _ in sources]
    bad = 0
    for row in rows:
        for source, column in zip(sources, values, strict=True):
            cell = row[source.column].strip() if source.column < len(row) else ""
            try:
                number = float(cell) if cell else math.nan
            except ValueError:
                number, bad = math.nan, bad + 1
            column.append(number if math.isfinite(number) else math.nan)
    return [np.array(column) * source.factor for source, column in zip(sources, values, strict=True)], bad


def write(record: FlightRecord, path: Path) -> None:
    """All signals in one table with the times of all of them; read back without a mapping."""
    signals = list(record.signals.values())
    times_s = np.unique(np.concatenate([signal.t_s for signal in signals])) if signals else np.empty(0)
    table = np.full((len(times_s), len(signals) + 1), np.nan)
    table[:, 0] = times_s
    for at, signal in enumerate(signals, 1):
        table[np.searchsorted(times_s, signal.t_s), at] = signal.values
    try:
        with path.open("x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([f"{TIME} [s]", *(f"{signal.name} [{signal.unit}]" for signal in signals)])
            writer.writerows(["" if value != value else value for value in row] for row in table.tolist())
    except FileExistsError:
        raise ConfigError(f"{path}: exists already, and is not overwritten; choose another --out") from None
