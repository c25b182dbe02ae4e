"""From the messages of a log to standard signals: each reader is a table of rules, and this applies it.

Several rules may name one signal, as formats of different years do: the first whose message has all its columns is
taken. What no rule finds is reported as missing, with everything that was looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.flown.record import Array, Dropped, Missing, Signal, rising, signal

Convert = Callable[..., Array]
"""From the columns of a rule to the signal in its standard unit."""


@dataclass(frozen=True)
class Rule:
    name: str  # of the signal
    message: str
    columns: tuple[str, ...]
    convert: Convert

    @property
    def source(self) -> str:
        return f"{self.message}.{'/'.join(self.columns)}"


@dataclass(frozen=True)
class Message:
    """The rows of one message, as they stand in the log."""

    t_s: Array  # (n,)
    columns: Mapping[str, Array]  # (n,) each


@dataclass(frozen=True)
class Found:
    signals: dict[str, Signal]
    missing: list[Missing]
    dropped: list[Dropped]


def scaled(name: str, message: str, column: str, factor: float = 1.0) -> Rule:
    """The column as it is, or times a factor; a long log is not copied for a factor of one."""
    return Rule(name, message, (column,), lambda values: values if factor == 1.0 else values * factor)


def apply(rules: Iterable[Rule], messages: Mapping[str, Message]) -> Found:
    cleaned: dict[str, Message] = {}
    dropped: list[Dropped] = []
    for name, message in messages.items():
        t_s, columns, left_out = rising(message.t_s, list(message.columns.values()))
        cleaned[name] = Message(t_s, dict(zip(message.columns, columns, strict=True)))
        if left_out:
            dropped.append(Dropped(name, left_out, len(message.t_s)))
    signals: dict[str, Signal] = {}
    sought: dict[str, list[str]] = {}
    for rule in rules:
        if rule.name in signals:
            continue
        sought.setdefault(rule.name, []).append(rule.source)
        found = _found(rule, cleaned)
        if found is not None:
            signals[rule.name] = found
    missing = [
        Missing(name, " or ".join(of_name))
        for name, of_name in sought.items()
        if name not in signals and not _further_channel(name)
    ]
    return Found(signals, missing, dropped)


def _further_channel(name: str) -> bool:
    """Aircraft have as many channels as they need: without the first one only is anything missing."""
    number = name.rpartition("_")[2]
    return number.isdigit() and number != "1"


def _found(rule: Rule, messages: Mapping[str, Message]) -> Signal | None:
    message = messages.get(rule.message)
    if message is None or not len(message.t_s) or any(column not in message.columns for column in rule.columns):
        return None
    values = rule.convert(*(message.columns[column] for column in rule.columns))
    return signal(rule.name, message.t_s, np.asarray(values, np.float64), rule.source)


def attitude(names: Sequence[str], message: str, columns: tuple[str, str, str, str], quat: Convert) -> list[Rule]:
    """Three angles of one quaternion; `quat` makes of its columns (n, 3) roll, pitch, yaw."""
    return [
        Rule(name, message, columns, lambda *parts, axis=axis: quat(np.stack(parts, axis=1))[:, axis])
        for axis, name in enumerate(names)
    ]


def above_start(values: Array) -> Array:
    """Height above the first rows: barometers of different logs have different zeros."""
    return np.asarray(values - np.nanmedian(values[:25]))
