"""Faults of a board, or of one of several, injected in simulated time.

What a board sends is changed at the plant's end of its link (`FaultyOutput`), before anything reads it. What the board
must do itself (hang, reset, slow work, references of another place) reaches it beside the link, with the baton.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from aeroloop.core.faults import INSTANT, Switch, Switched
from aeroloop.exchanges.barriers import BatonBarrier
from aeroloop.protocols import interface
from aeroloop.protocols.framing import Counters, Deframer, encode

BY_BATON = ("hang", "reset", "slow", "reference_bias")
"""Faults that the board has itself; only in lockstep is there a baton."""
CHANGED = ("stuck", "bias", "babbling", "nan", "wrong_image")
"""Faults of what it sends."""
BABBLE_FRAMES = 40
"""Wrong commands that a babbling board sends in a control period, each with as many bytes of noise."""
_MICRO = 1_000_000
_LONGEST = 255


def encoded(kind: str, *, on: bool, value: float) -> int:
    """A fault as a number of the baton; the value to a millionth."""
    return round(value * _MICRO) << 16 | on << 8 | BY_BATON.index(kind) + 1


def decoded(code: int) -> tuple[str, bool, float]:
    return BY_BATON[(code & 0xFF) - 1], bool(code >> 8 & 0xFF), (code >> 16) / _MICRO


def passed_on(switch: Switch, barrier: BatonBarrier | None) -> Switched:
    """Pass a fault of the only board on to it; without a baton it has a plan of its own."""
    if barrier is not None and (switch.on or switch.kind not in INSTANT):
        barrier.fail(encoded(switch.kind, on=switch.on, value=switch.values[0]))
    return Switched(0, switch.values if switch.on else ())


class FaultyOutput:
    """The bytes of a board with the faults that are on."""

    def __init__(self, seed: int) -> None:
        self._on: dict[str, tuple[int, float]] = {}  # index of the command's element, and value
        self._last: bytes | None = None  # its last command
        self._deframer = Deframer(_LONGEST, Counters())
        self._random = random.Random(seed)

    def switch(self, kind: str, *, on: bool, element: int, value: float) -> None:
        if on:
            self._on[kind] = element, value
        else:
            self._on.pop(kind, None)
        self._last = None

    def changed(self, chunk: bytes) -> bytes:
        if not self._on or not chunk:
            return chunk
        return b"".join(self._message(data) for data in self._deframer.feed(chunk))

    def _message(self, data: bytes) -> bytes:
        if data[0] == interface.START.number and len(data) == interface.START.size and "wrong_image" in self._on:
            cause, revision, table, image, uptime_ms = interface.START.unpack(data)
            data = interface.START.pack(cause, revision, int(table) ^ 1, image, uptime_ms)
        if data[0] != interface.ACTUATORS.number or len(data) != interface.ACTUATORS.size:
            return encode(data)
        if "stuck" in self._on:
            data = self._last = self._last or data
        for kind, change in _CHANGES.items():
            if kind in self._on:
                element, value = self._on[kind]
                row = list(interface.ACTUATORS.unpack(data))
                row[element] = change(row[element], value)
                data = interface.ACTUATORS.pack(*row)
        return (self._babble(data) if "babbling" in self._on else b"") + encode(data)

    def _babble(self, data: bytes) -> bytes:
        row, frames = interface.ACTUATORS.unpack(data), []
        for _ in range(BABBLE_FRAMES):
            wrong = interface.ACTUATORS.pack(*(value * self._random.uniform(0.5, 1.5) for value in row))
            frames += [encode(wrong), self._random.randbytes(len(wrong))]
        return b"".join(frames)


_CHANGES: dict[str, Callable[[float, float], float]] = {
    "bias": lambda value, bias: value + bias,
    "nan": lambda value, _: math.nan,
}
