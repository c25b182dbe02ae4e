"""Step packets that lockstep exchanges with a board's firmware. Pure packing; `port/packet.c` is the other side.

bench -> board   kind 1, flags, sizes, time, time of the timer; bytes of the ground, bytes of the link
board -> bench   kind 1 reply or 2 boot, flags, mode, sizes, busy and spent time, frames refused; bytes of two kinds

Without `grant` a step takes no time: the board runs until it is idle, and its bytes are those to send now and those
that open a cycle. With it each step grants one control period of processor time, and the bytes are those of the
simulator's link and of the ground's.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import Mode, ResetCause

MOST_BYTES, MOST_GRANTED_BYTES = 1024, 512
"""Maximum bytes of each link to the board in one packet, without and with `grant`."""
MOST_SENT = 2304
"""Maximum bytes of both kinds from the board."""

STEP, REPLY, BOOT = 1, 1, 2
TIMER, GRANT = 1, 8
FAULT_FLAGS = {"": 0, "hang": 2, "reset": 4}
ANSWERED, SPENT = 1, 2

_STEP = struct.Struct("<BBHHHQQ")
_REPLY = struct.Struct("<BBBBHHIII")
REPLY_HEADER = _REPLY.size
LONGEST_REPLY = REPLY_HEADER + MOST_SENT


@dataclass(frozen=True, slots=True)
class Step:
    t_ns: int
    timer_ns: int | None  # when the timer was due, if it is
    ground: bytes = b""  # references, or user commands
    link: bytes = b""
    fault: str = ""
    grant: bool = False

    def pack(self) -> bytes:
        flags = FAULT_FLAGS[self.fault] | (TIMER if self.timer_ns is not None else 0) | (GRANT if self.grant else 0)
        sizes = len(self.ground), len(self.link)
        most = MOST_GRANTED_BYTES if self.grant else MOST_BYTES
        if max(sizes) > most:
            raise ValueError(f"a step takes {most} bytes of each link, not {max(sizes)}")
        return _STEP.pack(STEP, flags, *sizes, 0, self.t_ns, self.timer_ns or 0) + self.ground + self.link


@dataclass(frozen=True, slots=True)
class Reply:
    sent: tuple[bytes, bytes]
    answered: bool  # a command for this cycle's sensors is among them
    unfinished: bool  # the granted period is used up, and there is more work
    mode: Mode
    busy_ns: int  # execution time of all tasks
    spent_ns: int  # of the granted period; the rest was idle
    refused: int  # invalid frames since the start


@dataclass(frozen=True, slots=True)
class Boot:
    cause: ResetCause
    sent: bytes = b""  # with its start


def reply_size(header: bytes) -> int:
    """Size of the whole record that begins with these bytes."""
    *_, n_first, n_second = _REPLY.unpack(header)[:6]
    return int(REPLY_HEADER + n_first + n_second)


def unpack(record: bytes) -> Reply | Boot:
    try:
        kind, flags, mode, zero, n_first, n_second, busy_ns, spent_ns, refused = _REPLY.unpack_from(record)
        whole = len(record) == REPLY_HEADER + n_first + n_second <= LONGEST_REPLY
        if kind not in (REPLY, BOOT) or zero or not whole:
            raise ValueError(f"kind {kind}, {len(record)} bytes for {n_first} and {n_second}")
        first, second = record[REPLY_HEADER : REPLY_HEADER + n_first], record[REPLY_HEADER + n_first :]
        if kind == BOOT:
            return Boot(ResetCause(flags), first + second)
        answered, unfinished = bool(flags & ANSWERED), bool(flags & SPENT)
        return Reply((first, second), answered, unfinished, Mode(mode), busy_ns, spent_ns, refused)
    except (struct.error, ValueError) as error:
        raise LinkError(f"the emulated board's answer is invalid: {error}", root_cause=True) from None
