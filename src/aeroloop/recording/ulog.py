"""A log as ULog, the format of PX4's own logs, readable by their tools (PlotJuggler, pyulog).

    magic, version, start | definitions: flags, information, formats | data: subscriptions, rows by time

A stream is a message format, an aircraft an instance of it (multi_id). Times are simulated, in whole microseconds;
columns keep their names, which carry the unit. https://docs.px4.io/main/en/dev_log/ulog_file_format
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.stream import KEYS
from aeroloop.recording.log import Log

MAGIC = b"ULog\x01\x12\x35\x01"
MOST_INSTANCES = 256
_HEAD = struct.Struct("<HB")  # bytes that follow, kind


def write_ulog(log: Log, path: Path) -> None:
    blocks = [MAGIC + struct.pack("<Q", 0), _message(b"B", bytes(40))]
    blocks += [_information("char[8]", "sys_name", b"aeroloop")]
    if log.epoch_ns:
        blocks.append(_information("uint64_t", "time_ref_utc_us", struct.pack("<Q", log.epoch_ns // 1000)))
    subscriptions: list[bytes] = []
    times, records = [], []
    taken: set[str] = set()
    for stream, rows in log.rows.items():
        columns = log.columns[stream]
        if not len(rows) or not columns or columns[0] != KEYS[0]:
            continue
        own = [(index, _name(column)) for index, column in enumerate(columns) if column not in KEYS]
        name = _unique(_name(stream), taken)
        fields = "".join(f"double {column};" for _, column in own)
        blocks.append(_message(b"F", f"{name}:uint64_t timestamp;{fields}".encode()))
        vehicles = rows[:, 1] if columns[1:2] == KEYS[1:] else np.zeros(len(rows))
        for vehicle in np.unique(vehicles).tolist():
            if not 0 <= vehicle < MOST_INSTANCES:
                continue
            number = len(subscriptions)
            subscriptions.append(_message(b"A", struct.pack("<BH", int(vehicle), number) + name.encode()))
            of_vehicle = rows[vehicles == vehicle]
            at_us = np.round(np.maximum(of_vehicle[:, 0], 0.0) * 1e6).astype("<u8")
            layout = np.dtype(
                [("head", "<u2"), ("kind", "u1"), ("id", "<u2"), ("at", "<u8"), ("row", "<f8", (len(own),))]
            )
            packed = np.zeros(len(of_vehicle), layout)
            packed["head"], packed["kind"], packed["id"] = layout.itemsize - _HEAD.size, ord("D"), number
            packed["at"], packed["row"] = at_us, of_vehicle[:, [index for index, _ in own]]
            times.append(at_us)
            raw, size = packed.tobytes(), layout.itemsize
            records += [raw[at : at + size] for at in range(0, len(raw), size)]
    order = np.argsort(np.concatenate(times), kind="stable").tolist() if times else []
    try:
        with path.open("xb") as file:
            file.writelines([*blocks, *subscriptions])
            file.writelines(records[index] for index in order)
    except FileExistsError:
        raise ConfigError(f"{path}: exists already, and is not overwritten; choose another --out") from None


def _message(kind: bytes, body: bytes) -> bytes:
    return _HEAD.pack(len(body), kind[0]) + body


def _information(of_type: str, key: str, value: bytes) -> bytes:
    name = f"{of_type} {key}".encode()
    return _message(b"I", bytes([len(name)]) + name + value)


def _name(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII)[:120] or "_"


def _unique(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free
