"""Step packets of the fixed wing's board: each grants one control period of processor time; `port/budget.c` is the
other side. Pure packing.

bench -> board   kind 1, flags, sizes, when the period begins; bytes of the simulator's line, of the ground's line
board -> bench   kind 1 reply or 2 boot, flags, sizes, busy and spent time, frames refused; bytes of both lines
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from aeroloop.boards.steps import BOOT, FAULT_FLAGS, REPLY, STEP, Boot
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import ResetCause

MOST_IN, MOST_HILS, MOST_COMM = 512, 256, 2048
"""Bytes in one period: of each line to the board, and of its two lines from it."""
SPENT = 1

_STEP = struct.Struct("<BBHHHQ")
_REPLY = struct.Struct("<BBHHHIII")
HEADER = _REPLY.size
LONGEST_REPLY = _REPLY.size + MOST_HILS + MOST_COMM


@dataclass(frozen=True, slots=True)
class WingStep:
    t_ns: int
    hils: bytes = b""
    comm: bytes = b""
    fault: str = ""

    def pack(self) -> bytes:
        sizes = len(self.hils), len(self.comm)
        if max(sizes) > MOST_IN:
            raise ValueError(f"a line takes {MOST_IN} bytes in a period, not {max(sizes)}")
        return _STEP.pack(STEP, FAULT_FLAGS[self.fault], *sizes, 0, self.t_ns) + self.hils + self.comm


@dataclass(frozen=True, slots=True)
class WingReply:
    hils: bytes
    comm: bytes
    busy_ns: int  # execution time of all tasks in this period
    spent_ns: int  # of the period; what is left of it was idle
    unfinished: bool  # the period was spent, and there is more to do
    refused: int  # frames since the start that were no good, on both lines


def reply_size(header: bytes) -> int:
    """Of the whole record that begins with these bytes."""
    _, _, n_hils, n_comm, *_ = _REPLY.unpack_from(header)
    return int(_REPLY.size + n_hils + n_comm)


def unpack(record: bytes) -> WingReply | Boot:
    try:
        kind, flags, n_hils, n_comm, zero, busy_ns, spent_ns, refused = _REPLY.unpack_from(record)
        if zero or len(record) != _REPLY.size + n_hils + n_comm or n_hils > MOST_HILS or n_comm > MOST_COMM:
            raise ValueError(f"kind {kind}, {len(record)} bytes for {n_hils} and {n_comm}")
        if kind == BOOT:
            return Boot(ResetCause(flags), record[_REPLY.size :])
        if kind != REPLY:
            raise ValueError(f"kind {kind}")
    except (struct.error, ValueError) as error:
        raise LinkError(f"the emulated board's answer makes no sense: {error}", root_cause=True) from None
    sent = record[_REPLY.size :]
    return WingReply(sent[:n_hils], sent[n_hils:], busy_ns, spent_ns, bool(flags & SPENT), refused)
