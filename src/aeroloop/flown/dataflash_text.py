"""ArduPilot's text logs (.log): the rows of a DataFlash log as lines, `NAME, value, value ...`, with scaled numbers."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.flown import dataflash
from aeroloop.flown.ardupilot import COLUMNS, MOST_PARAMETERS, Contents, as_record
from aeroloop.flown.read import Options
from aeroloop.flown.record import FlightRecord

LONGEST_LINE = 4096
LINES_PER_CALL = 20_000
WORDS = "nNZaM"
"""Letters of columns that are text here: modes too are written as names."""
FMT_LABELS = 5  # the first label of a FMT line


@dataclass
class _Columns:
    """What is kept of one message."""

    places: tuple[int, ...]  # of the wanted values in a line
    labels: tuple[str, ...]
    values: tuple[array[float], ...]


def read(path: Path, options: Options) -> FlightRecord:
    try:
        with path.open("rb") as file:
            if file.read(2) == dataflash.MARK:  # tools name both so
                return dataflash.read(path, options)
            file.seek(0)
            contents = parse(file, path.stat().st_size, options)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return as_record(path, "ArduPilot .log", contents)


def parse(file: BinaryIO, size: int, options: Options = Options()) -> Contents:  # noqa: B008  frozen
    contents = Contents()
    labels: dict[str, tuple[str, ...]] = {}
    kept: dict[str, _Columns] = {}
    bad, first_bad, number = 0, "", 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if options.progress is not None and number % LINES_PER_CALL == 0:
            options.progress(file.tell(), size)
        name, *values = line.decode("ascii", "replace").strip().split(",")
        name = name.strip()
        if name == "FMT" and len(values) >= FMT_LABELS:
            described, letters = values[2].strip(), values[3].strip()
            labels[described] = tuple(label.strip() for label in values[FMT_LABELS - 1 :])
            columns = _wanted(described, letters, labels[described])
            if columns is not None:
                kept.setdefault(described, columns)
        elif not _row(name, values, labels, kept, contents):
            bad += 1
            first_bad = first_bad or f"line {number} ({name[:8]})"
    contents.columns = {
        name: {label: np.array(values) for label, values in zip(columns.labels, columns.values, strict=True)}
        for name, columns in kept.items()
        if columns.values and columns.values[0]
    }
    if bad:
        contents.remarks.append(f"{bad} of {number} lines cannot be read, the first of them {first_bad}.")
    if options.progress is not None:
        options.progress(size, size)
    return contents


def _wanted(name: str, letters: str, labels: tuple[str, ...]) -> _Columns | None:
    columns = COLUMNS.get(name, frozenset())
    places = tuple(
        at
        for at, (letter, label) in enumerate(zip(letters, labels, strict=False))
        if label in columns and labels.index(label) == at and letter not in WORDS
    )
    if not places:
        return None
    return _Columns(places, tuple(labels[at] for at in places), tuple(array("d") for _ in places))


def _row(
    name: str,
    values: list[str],
    labels: dict[str, tuple[str, ...]],
    kept: dict[str, _Columns],
    contents: Contents,
) -> bool:
    """Takes in one line; whether it could be read."""
    if name not in labels:
        if not values and name:  # lines before the first FMT name the firmware
            contents.texts.append(name)
        return not values
    contents.rows += 1
    if name == dataflash.TEXT:
        contents.texts.append(values[-1].strip() if values else "")
        return True
    if name == dataflash.PARAMETER:
        return _parameter(labels[name], values, contents)
    own = kept.get(name)
    if own is None:
        return True
    try:
        numbers = [float(values[at]) for at in own.places]
    except (ValueError, IndexError):
        return False
    for column, value in zip(own.values, numbers, strict=True):
        column.append(value)
    return True


def _parameter(labels: tuple[str, ...], values: list[str], contents: Contents) -> bool:
    try:
        name, value = values[labels.index("Name")].strip(), float(values[labels.index("Value")])
    except (ValueError, IndexError):
        return False
    if len(contents.parameters) < MOST_PARAMETERS:
        contents.parameters[name] = value
    return True
