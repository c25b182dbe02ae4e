"""A flight record as an ArduPilot DataFlash log (.bin), for the tools that read those.

Messages, labels and units are those that ArduPilot 4 writes; numbers that it rounds to hundredths are floats here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.flown.dataflash import FMT, FMT_LENGTH, HEAD, MARK, TYPES, Format
from aeroloop.flown.quantities import DEGREE, M_GAUSS
from aeroloop.flown.record import Array, FlightRecord, Signal

PULSES = 14
UNDATED_WEEK = 1.0
"""A record has no date, and tools set their clock by GPS.GWk: the log then begins in January 1980."""


@dataclass(frozen=True)
class Field:
    label: str
    letter: str
    signal: str  # empty: a constant
    factor: float = 1.0  # from the signal's unit to the log's
    turn: float = 0.0  # wrapped into 0 to this, in the log's unit
    constant: float = 0.0
    per_s: float = 0.0  # of the constant, over the log's time


@dataclass(frozen=True)
class Kind:
    name: str
    number: int
    timed_by: str  # the signal whose times its rows have
    fields: tuple[Field, ...]


def _degrees(label: str, signal: str, turn: float = 0.0) -> Field:
    return Field(label, "f", signal, 1 / DEGREE, turn)


_SENSOR = Field("I", "B", "")
_AXES = (("X", "x"), ("Y", "y"), ("Z", "z"))
KINDS: tuple[Kind, ...] = (
    Kind(
        "ATT",
        1,
        "roll",
        (
            _degrees("DesRoll", "roll_setpoint"),
            _degrees("Roll", "roll"),
            _degrees("DesPitch", "pitch_setpoint"),
            _degrees("Pitch", "pitch"),
            _degrees("DesYaw", "yaw_setpoint", 360.0),
            _degrees("Yaw", "yaw", 360.0),
        ),
    ),
    Kind(
        "RATE",
        2,
        "roll_rate_setpoint",
        tuple(_degrees(f"{name[0].upper()}Des", f"{name}_rate_setpoint") for name in ("roll", "pitch", "yaw")),
    ),
    Kind("CTUN", 3, "throttle", (Field("ThO", "f", "throttle"), Field("DAlt", "f", "height_setpoint"))),
    Kind(
        "IMU",
        4,
        "gyro_x",
        (
            _SENSOR,
            *(Field(f"Gyr{label}", "f", f"gyro_{axis}") for label, axis in _AXES),
            *(Field(f"Acc{label}", "f", f"accel_{axis}") for label, axis in _AXES),
        ),
    ),
    Kind(
        "MAG",
        5,
        "mag_x",
        (_SENSOR, *(Field(f"Mag{label}", "f", f"mag_{axis}", 1 / M_GAUSS) for label, axis in _AXES)),
    ),
    Kind("BARO", 6, "height", (_SENSOR, Field("Alt", "f", "height"), Field("Press", "f", "pressure"))),
    Kind(
        "GPS",
        7,
        "lat",
        (
            _SENSOR,
            Field("Status", "B", "", constant=3.0),
            Field("GMS", "I", "", per_s=1000.0),
            Field("GWk", "H", "", constant=UNDATED_WEEK),
            Field("Lat", "L", "lat"),
            Field("Lng", "L", "lon"),
            Field("Alt", "f", "alt"),
            Field("Spd", "f", "speed"),
        ),
    ),
    Kind(
        "XKF1",
        8,
        "north",
        (
            Field("C", "B", ""),
            *(Field(f"V{name[0].upper()}", "f", f"vel_{name}") for name in ("north", "east", "down")),
            *(Field(f"P{name[0].upper()}", "f", name) for name in ("north", "east", "down")),
        ),
    ),
    Kind("RCOU", 9, "pulse_1", tuple(Field(f"C{i}", "H", f"pulse_{i}") for i in range(1, PULSES + 1))),
    Kind("RCIN", 10, "stick_1", tuple(Field(f"C{i}", "H", f"stick_{i}") for i in range(1, PULSES + 1))),
    Kind("ARM", 11, "armed", (Field("ArmState", "B", "armed"),)),
    Kind("MODE", 12, "mode", (Field("Mode", "M", "mode"), Field("ModeNum", "B", "mode"))),
)
PARM, MSG = 20, 21


def write(record: FlightRecord, path: Path) -> None:
    """ConfigError where the file exists."""
    try:
        with path.open("xb") as file:
            file.writelines(blocks(record))
    except FileExistsError:
        raise ConfigError(f"{path}: exists already, and is not overwritten; choose another --out") from None


def blocks(record: FlightRecord) -> Iterator[bytes]:
    """Formats, then the record's own words and parameters, then all rows by time."""
    kinds = [kind for kind in KINDS if kind.timed_by in record]
    formats = [(kind, _format(kind, record)) for kind in kinds]
    yield _described(FMT, Format("FMT", FMT_LENGTH, "BBnNZ", ("Type", "Length", "Name", "Format", "Columns")))
    words = (
        (PARM, Format("PARM", HEAD + 28, "QNf", ("TimeUS", "Name", "Value"))),
        (MSG, Format("MSG", HEAD + 72, "QZ", ("TimeUS", "Message"))),
    )
    yield from (_described(number, own) for number, own in words)
    yield from (_described(kind.number, own) for kind, own in formats)
    start_us = _microseconds(np.array([record.start_s]))[0] if record.signals else 0
    about = f"Aeroloop export of {record.name}"[:40] + (f" ({record.vehicle})" if record.vehicle else "")
    yield _head(MSG) + struct.pack("<Q64s", start_us, about.encode("ascii", "replace"))
    for name, value in record.parameters.items():
        yield _head(PARM) + struct.pack("<Q16sf", start_us, name.encode("ascii", "replace"), value)
    packed = [_packed(kind, own, record) for kind, own in formats]
    if packed:
        rows = [row for rows in packed for row in _split(rows)]
        order = np.argsort(np.concatenate([rows["0"] for rows in packed]), kind="stable")
        yield from (rows[index] for index in order.tolist())


def _format(kind: Kind, record: FlightRecord) -> Format:
    fields = [field for field in kind.fields if not field.signal or field.signal in record]
    letters = "Q" + "".join(field.letter for field in fields)
    length = HEAD + sum(np.dtype(TYPES[letter][0]).itemsize for letter in letters)
    return Format(kind.name, length, letters, ("TimeUS", *(field.label for field in fields)))


def _described(number: int, own: Format) -> bytes:
    texts = (own.name.encode(), own.letters.encode(), ",".join(own.labels).encode())
    return _head(FMT) + struct.pack("<BB4s16s64s", number, own.length, *texts)


def _head(number: int) -> bytes:
    return MARK + bytes([number])


def _microseconds(t_s: Array) -> NDArray[np.uint64]:
    return np.round(np.maximum(t_s, 0.0) * 1e6).astype("<u8")


def _packed(kind: Kind, own: Format, record: FlightRecord) -> NDArray[np.void]:
    t_s = _row_times(record[kind.timed_by])
    rows = np.zeros(len(t_s), own.layout)
    rows["head"] = np.void(_head(kind.number))
    rows["0"] = _microseconds(t_s)
    by_label = {field.label: field for field in kind.fields}
    for at, label in enumerate(own.labels[1:], 1):
        field = by_label[label]
        if field.signal:
            values = record[field.signal].held(t_s) * field.factor
        else:
            values = field.constant + field.per_s * t_s
        if field.turn:
            values = values % field.turn
        rows[str(at)] = _fitting(values / TYPES[field.letter][1], rows.dtype[str(at)])
    return rows


def _row_times(signal: Signal) -> Array:
    """Of a state only those at which it changes."""
    if signal.quantity.group != "state":
        return signal.t_s
    return signal.t_s[np.concatenate(([True], np.diff(signal.values) != 0.0))]


def _fitting(values: Array, of_type: np.dtype[Any]) -> NDArray[Any]:
    if of_type.kind == "f":
        return values.astype(of_type)
    limits = np.iinfo(of_type)
    return np.clip(np.round(np.nan_to_num(values)), limits.min, limits.max).astype(of_type)


def _split(rows: NDArray[np.void]) -> Iterator[bytes]:
    raw, size = rows.tobytes(), rows.dtype.itemsize
    return (raw[at : at + size] for at in range(0, len(raw), size))
