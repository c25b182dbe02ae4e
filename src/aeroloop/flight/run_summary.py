"""The summary.json of a run, which may have been changed: read and checked; errors that it causes name its key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from aeroloop.core.errors import ConfigError

KEYS = ("scenario", "loop", "pace", "exit_code", "ended", "checks", "metrics", "timing", "links", "events", "versions")
"""The part of a summary that a report requires."""


class _Check(Struct):
    name: str
    value: float | None
    limit: str
    ok: bool


class _Event(Struct):
    t_s: float
    event: str


class _Common(Struct):
    """Keys of every summary; older versions may lack those with a default."""

    scenario: str
    loop: str
    pace: str
    exit_code: int
    ended: str
    checks: list[_Check]
    metrics: dict[str, float | None]
    timing: dict[str, Any]
    links: dict[str, dict[str, Any] | None]
    events: list[_Event]
    versions: dict[str, str]
    seed: int = 0
    duration_s: float | None = None
    real_time_factor: float | None = None
    error: str | None = None
    events_total: int = 0
    log_sha256: str = ""
    log_truncated: bool = False
    aircraft: list[dict[str, Any]] = []


def read(path: Path) -> dict[str, Any]:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ConfigError(f"{path}: expected JSON: {error}") from None
    missing = [key for key in KEYS if not (isinstance(summary, dict) and key in summary)]
    if missing:
        raise ConfigError(f"{path}: expected the summary of a flight, with the key {missing[0]}")
    try:
        msgspec.convert(summary, _Common)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        key = where.strip("`").removeprefix("$.")
        raise ConfigError(f"{path}: {key}: {what[0].lower()}{what[1:]}") from None
    found: dict[str, Any] = summary
    return found


@contextmanager
def attributed_errors(path: Path, summary: dict[str, Any], expected: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Errors in this context that are caused by a difference between the summary and that of its log: ConfigError names
    the key."""
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        if key := _differs(summary, expected()):
            raise ConfigError(f"{path}: {key}: not as `aeroloop fly` writes it") from None
        raise


def _differs(found: Any, expected: Any, key: str = "") -> str:
    """The first key whose value is missing or has another type; empty: none."""
    if _kind(found) is not _kind(expected):
        return "" if key == "error" else key
    if isinstance(expected, dict):
        for name, value in expected.items():
            inner = f"{key}.{name}" if key else str(name)
            if name not in found:
                return inner
            if wrong := _differs(found[name], value, inner):
                return wrong
    elif isinstance(expected, list) and expected:
        for index, value in enumerate(found):
            if wrong := _differs(value, expected[min(index, len(expected) - 1)], f"{key}[{index}]"):
                return wrong
    return ""


def _kind(value: Any) -> type:
    """A number that was not measured is null."""
    return float if value is None or (isinstance(value, int) and not isinstance(value, bool)) else type(value)
