"""Hashes of a log's streams, by the schemas in the log alone, so that logs of any two versions can be compared."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mcap.stream_reader import StreamReader

PROCESSOR_STREAMS = ("cpu", "task", "pose_cost")
PROCESSOR_COLUMNS = ("latency_s", "work_s")
"""What the emulated processor's instruction count decides: it moves with every change of firmware or compiler."""


def stream_hashes(log: Path) -> dict[str, str]:
    """A hash of each simulated stream that has rows."""
    names: dict[int, tuple[str, list[str]]] = {}
    rows: dict[str, list[list[float]]] = {}
    fields: dict[str, list[str]] = {}
    schemas: dict[int, Any] = {}
    with log.open("rb") as file:
        for record in StreamReader(file).records:
            match type(record).__name__:
                case "Schema" if record.encoding == "jsonschema":  # others are topics for other programs
                    schemas[record.id] = json.loads(record.data)
                case "Channel" if record.metadata.get("simulated") == "true":
                    columns = list(schemas[record.schema_id]["properties"])
                    names[record.id] = (record.topic, columns)
                    fields[record.topic] = columns
                case "Message" if record.channel_id in names:
                    topic, columns = names[record.channel_id]
                    values = json.loads(record.data)
                    row = [math.nan if values[column] is None else values[column] for column in columns]
                    rows.setdefault(topic, []).append(row)
    return hashed({topic: (fields[topic], np.array(values, dtype="<f8")) for topic, values in rows.items()})


def hashed(tables: Mapping[str, tuple[Sequence[str], np.ndarray]]) -> dict[str, str]:
    """A hash of each stream, given its columns and rows."""
    found: dict[str, str] = {}
    for topic, (columns, table) in tables.items():
        measured = [i for i, name in enumerate(columns) if name in PROCESSOR_COLUMNS]
        if topic.rpartition("/")[2] in PROCESSOR_STREAMS:  # of a fleet's part too
            found[f"processor {topic}"] = _hash(table)
            continue
        if measured:
            found[f"processor {topic}"] = _hash(table[:, measured])
        found[topic] = table_hash(columns, table)
    return found


def table_hash(columns: Sequence[str], table: np.ndarray) -> str:
    """Of a stream without what the emulated processor measured of itself."""
    measured = [i for i, name in enumerate(columns) if name in PROCESSOR_COLUMNS]
    return _hash(np.delete(table, measured, axis=1))


def _hash(table: np.ndarray) -> str:
    settled = np.where(np.isnan(table), np.nan, table)
    return f"{len(table)}:{hashlib.sha256(np.ascontiguousarray(settled.astype('<f8')).tobytes()).hexdigest()[:16]}"


def digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
