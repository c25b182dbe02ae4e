"""Step packets: what lockstep exchanges with a board's firmware. Pure packing; `port/lockstep.c` is the other side.

bench -> board   kind 1, flags, sizes, time, time of the timer; reference bytes, link bytes
board -> bench   kind 1 reply or 2 boot, flags, mode, sizes, busy time; bytes for now, bytes that open a cycle
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import Mode, ResetCause

MOST_BYTES = 1024
"""Of each kind in one packet."""
MOST_OPENING_BYTES = 64

STEP, REPLY, BOOT = 1, 1, 2
TIMER = 1
FAULT_FLAGS = {"": 0, "hang": 2, "reset": 4}
ANSWERED = 1

_STEP = struct.Struct("<BBHHHQQ")
_REPLY = struct.Struct("<BBBBHHI")
LONGEST_REPLY = _REPLY.size + MOST_BYTES + MOST_OPENING_BYTES


@dataclass(frozen=True, slots=True)
class Step:
    t_ns: int
    timer_ns: int | None  # when the timer was due, if it is
    references: bytes = b""
    link: bytes = b""
    fault: str = ""

    def pack(self) -> bytes:
        flags = (TIMER if self.timer_ns is not None else 0) | FAULT_FLAGS[self.fault]
        sizes = len(self.references), len(self.link)
        if max(sizes) > MOST_BYTES:
            raise ValueError(f"a step takes {MOST_BYTES} bytes of each kind, not {max(sizes)}")
        return _STEP.pack(STEP, flags, *sizes, 0, self.t_ns, self.timer_ns or 0) + self.references + self.link


@dataclass(frozen=True, slots=True)
class Reply:
    answered: bool
    mode: Mode
    now: bytes
    opening: bytes
    busy_ns: int


@dataclass(frozen=True, slots=True)
class Boot:
    cause: ResetCause
    sent: bytes = b""


def unpack(record: bytes) -> Reply | Boot:
    try:
        kind, flags, mode, zero, n_now, n_opening, busy_ns = _REPLY.unpack_from(record)
        if kind == BOOT and len(record) == _REPLY.size:
            return Boot(ResetCause(flags))
        if kind != REPLY or zero or len(record) != _REPLY.size + n_now + n_opening:
            raise ValueError(f"kind {kind}, {len(record)} bytes")
        if n_now > MOST_BYTES or n_opening > MOST_OPENING_BYTES:
            raise ValueError(f"{n_now} and {n_opening} bytes, where {MOST_BYTES} and {MOST_OPENING_BYTES} are the most")
        bytes_out = record[_REPLY.size :]
        return Reply(bool(flags & ANSWERED), Mode(mode), bytes_out[:n_now], bytes_out[n_now:], busy_ns)
    except (struct.error, ValueError) as error:
        raise LinkError(f"the emulated board's answer makes no sense: {error}", root_cause=True) from None
