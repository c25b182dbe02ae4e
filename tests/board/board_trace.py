"""One fixed conversation with a board that flies the plain law, and the bytes it answers: golden/board_trace.hex.

Every reaction that the board promises is in it, within the first second, before the board tells how busy it was. `play`
takes any board that step packets reach: the host build and the emulated one must send the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from plain import HOVER, NO_NUMBER, generated

from aeroloop.boards.steps import Boot, Reply, Step
from aeroloop.codegen.images import Generated
from aeroloop.core.signals import Reference
from aeroloop.protocols import interface
from aeroloop.protocols.framing import encode
from aeroloop.protocols.reference import encode_reference

GOLDEN = Path(__file__).parents[1] / "golden" / "board_trace.hex"
HEADER = (
    "# What a board with the plain law says in the conversation of board_trace.py: its mode, and the bytes it sends."
)
MS = 1_000_000
REVISION, HASH = 7, 0x7E7D5E5D
"""Stand for the interface's own, which change with every message; flag and escape must be escaped in them."""

# x, y, z, roll, pitch, yaw, tilts, and their rates; exact in single precision
AT_REST = (1.0, -2.0, 3.0, 0.0, 0.125, 0.5, 0.0, 0.0, 0.25, *(0.0,) * 7)
HELLO = encode(interface.HELLO.pack(REVISION, HASH))
STRANGER = encode(interface.HELLO.pack(REVISION + 1, HASH + 1))
ANSWER = encode(interface.ANSWER.pack(*AT_REST))
DAMAGED = ANSWER[:9] + bytes([ANSWER[9] ^ 1]) + ANSWER[10:]
HIGHER = encode_reference(Reference(13, (1.0, -2.0, 3.5), 0.5, (0.75, 0.0, 0.0), 0.0))


def answer(changed: dict[int, float]) -> bytes:
    return encode(interface.ANSWER.pack(*(changed.get(i, value) for i, value in enumerate(AT_REST))))


def at(t_ms: int, *, references: bytes = b"", link: bytes = b"", timer: bool = False, fault: str = "") -> Step:
    return Step(t_ms * MS, t_ms * MS if timer else None, references, link, fault)


CONVERSATION: tuple[tuple[str, Step], ...] = (
    ("the first timer: start and request", at(0, timer=True)),
    ("no answer: the hover command, and start again", at(12, timer=True)),
    ("hello and the first answer", at(13, link=HELLO + ANSWER)),
    ("the same answer once more: a duplicate", at(14, link=ANSWER)),
    ("timer", at(24, timer=True)),
    ("a reference, and the first half of an answer", at(25, references=HIGHER, link=ANSWER[:30])),
    ("the second half", at(26, link=ANSWER[30:])),
    ("timer, and an answer with a wrong byte in the same step", at(36, link=DAMAGED, timer=True)),
    ("timer: the last command is held", at(48, timer=True)),
    ("an answer with NaN", at(49, link=answer({4: float("nan")}))),
    ("timer: no sensors for longer than the hold time, the safe command", at(60, timer=True)),
    ("an answer that is too far from the last one", at(61, link=answer({0: 9.0}))),
    ("a good one behind garbage", at(62, link=b"\x7d\x00\xff" * 60 + ANSWER)),
    ("timer", at(72, timer=True)),
    ("the law gives no number", at(73, link=answer(NO_NUMBER))),
    ("timer: no references for too long", at(300, timer=True)),
    ("an answer, and the law flies without the reference's rates", at(301, link=ANSWER)),
    (
        "the reference is back",
        at(302, references=encode_reference(Reference(302, (1.0, -2.0, 3.5), 0.5, (0.5, 0, 0), 0))),
    ),
    ("timer and answer in one step", at(312, link=ANSWER, timer=True)),
    ("reset in flight", at(314, fault="reset")),
    ("timer: start, with its reason", at(324, timer=True)),
    ("a bench that speaks another interface", at(325, link=STRANGER + ANSWER)),
    ("timer: the board stays where it is", at(336, timer=True)),
    ("and does not fly", at(337, link=ANSWER)),
    ("timer", at(348, timer=True)),
)
assert HOVER == (10.0, 10.5, 0.0, 0.25), "the golden bytes have it"


def trace_files() -> Generated:
    """What the board of the conversation is built from."""
    return generated(revision=REVISION, interface_hash=HASH)


def play(exchange: Callable[[Step], Reply | Boot]) -> str:
    """The conversation as text; execution times, which are each board's own, are left out."""
    lines = [line for what, step in CONVERSATION for line in _lines(what, step, exchange(step))]
    return "\n".join([HEADER, *lines]) + "\n"


def _lines(what: str, step: Step, record: Reply | Boot) -> list[str]:
    head = f"# {step.t_ns // MS} ms, {what}"
    if isinstance(record, Boot):
        return [head, f"boot {record.cause.name}"]
    parts = dict(zip(("now", "opens"), record.sent, strict=True))
    state = f"{record.mode.name}{' answered' if record.answered else ''}"
    return [head, state, *(f"{name} {part.hex(' ')}" for name, part in parts.items() if part)]
