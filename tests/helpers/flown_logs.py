"""Logs made for tests: flight records of band-limited noise, DataFlash rows by hand, ULog files as PX4 writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aeroloop.flown.record import FlightRecord, Signal

Array = NDArray[np.float64]

LETTERS = {
    "n": "4s",
    "N": "16s",
    "Z": "64s",
    "a": "64s",
    "b": "b",
    "B": "B",
    "M": "B",
    "h": "h",
    "H": "H",
    "i": "i",
    "I": "I",
    "q": "q",
    "Q": "Q",
    "g": "e",
    "f": "f",
    "d": "d",
    "c": "h",
    "C": "H",
    "e": "i",
    "E": "I",
    "L": "i",
}


def wave(t_s: Array, seed: int, highest_hz: float = 2.0) -> Array:
    """Band-limited noise that is known at every time: twenty sines."""
    random = np.random.default_rng(seed)
    frequencies, phases = random.uniform(0.1, highest_hz, 20), random.uniform(0, 2 * np.pi, 20)
    return np.asarray(np.sin(2 * np.pi * frequencies * t_s[:, np.newaxis] + phases).sum(axis=1) / np.sqrt(10.0))


def times(duration_s: float, rate_hz: float, start_s: float = 0.0) -> Array:
    return start_s + np.arange(int(duration_s * rate_hz) + 1) / rate_hz


def synthetic(
    duration_s: float = 40.0,
    *,
    name: str = "flown.bin",
    rate_hz: float = 50.0,
    later_s: float = 0.0,
    scale: float = 1.0,
) -> FlightRecord:
    """Attitude that follows its setpoint 0.1 s later; `later_s` shifts the log's clock, `scale` its numbers."""
    t_s = times(duration_s, rate_hz)
    values = {
        "roll": 0.1 * wave(t_s, 1),
        "pitch": 0.1 * wave(t_s, 2),
        "yaw": 1.0 + 0.001 * wave(t_s, 3),
        "roll_setpoint": 0.1 * wave(t_s + 0.1, 1),
        "gyro_x": 0.3 * wave(t_s, 4),
        "height": 10.0 + wave(t_s, 5, 0.3),
        "lat": 47.0 + 1e-4 * wave(t_s, 6, 0.2),
        "north": 10.0 * wave(t_s, 7, 0.2),
        "east": 10.0 * wave(t_s, 8, 0.2),
        "down": -10.0 - wave(t_s, 9, 0.2),
    }
    signals = {key: Signal(key, t_s + later_s, scale * of, f"TEST.{key}") for key, of in values.items()}
    signals["throttle"] = Signal("throttle", t_s + later_s, np.full(len(t_s), 0.5), "TEST.throttle")
    return FlightRecord(Path(name), "test", signals)


def described(number: int, name: str, letters: str, labels: str) -> bytes:
    length = 3 + struct.calcsize("<" + "".join(LETTERS[letter] for letter in letters))
    return b"\xa3\x95\x80" + struct.pack(
        "<BB4s16s64s", number, length, name.encode(), letters.encode(), labels.encode()
    )


def row(number: int, letters: str, *values: float | bytes) -> bytes:
    return b"\xa3\x95" + bytes([number]) + struct.pack("<" + "".join(LETTERS[letter] for letter in letters), *values)


FMT = described(128, "FMT", "BBnNZ", "Type,Length,Name,Format,Columns")


def attitude_log(t_us: Sequence[int], firmware: bytes = b"ArduCopter V4.6.3") -> bytes:
    """A roll of one hundredth of a degree a row, in the format of today."""
    formats = described(1, "ATT", "Qcc", "TimeUS,Roll,Pitch") + described(2, "MSG", "QZ", "TimeUS,Message")
    rows = b"".join(row(1, "Qcc", at, index, -index) for index, at in enumerate(t_us))
    return FMT + formats + row(2, "QZ", 0, firmware) + rows


def ulog(topics: dict[str, tuple[str, list[tuple[float, ...]]]], parameters: dict[str, int] | None = None) -> bytes:
    """Topics by name: fields as ULog writes them (`float[4] q;`) after the timestamp; rows begin with the time, s."""

    def message(kind: bytes, body: bytes) -> bytes:
        return struct.pack("<HB", len(body), kind[0]) + body

    content = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0) + message(b"B", bytes(40))
    for key, value in (parameters or {}).items():
        text = f"int32_t {key}".encode()
        content += message(b"P", bytes([len(text)]) + text + struct.pack("<i", value))
    for name, (fields, _) in topics.items():
        content += message(b"F", f"{name}:uint64_t timestamp;{fields}".encode())
    for number, name in enumerate(topics):
        content += message(b"A", struct.pack("<BH", 0, number) + name.encode())
    codes = {"float": "f", "double": "d", "int32_t": "i", "uint8_t": "B", "uint16_t": "H", "bool": "?"}
    for number, (fields, rows) in enumerate(topics.values()):
        layout = "<Q"
        for field in filter(None, fields.split(";")):
            kind, _, count = field.split()[0].partition("[")
            layout += codes[kind] * int(count.rstrip("]") or 1)
        for at_s, *values in rows:
            content += message(b"D", struct.pack("<H", number) + struct.pack(layout, round(at_s * 1e6), *values))
    return content
