"""Messages of both sides for tests: frames for the board, and what frames of the board say."""

from __future__ import annotations

from aeroloop.protocols import interface
from aeroloop.protocols.framing import Counters, Deframer, encode

MS = 1_000_000
BY_NUMBER = {message.number: message for message in interface.TILTROTOR.messages if message.sender == "board"}
AT_REST = (1.0, -2.0, 3.0, 0.0, 0.125, 0.5, *(0.0,) * 10)
"""Sensors, exact in single precision."""
HELLO = encode(interface.HELLO.pack(interface.TILTROTOR.revision, interface.TILTROTOR.hash))
STRANGER = encode(interface.HELLO.pack(interface.TILTROTOR.revision, interface.TILTROTOR.hash ^ 1))

Message = tuple[str, tuple[float, ...]]


def answer(changed: dict[int, float] | None = None) -> bytes:
    """Sensors at rest, but for some values by index."""
    return encode(interface.ANSWER.pack(*((changed or {}).get(i, value) for i, value in enumerate(AT_REST))))


def messages(stream: bytes) -> list[Message]:
    """What whole, undamaged frames of the board say."""
    counters = Counters()
    datas = Deframer(interface.COUNTERS.size, counters).feed(stream)
    assert (counters.malformed, counters.bad_checksums) == (0, 0)
    return [(BY_NUMBER[data[0]].name, BY_NUMBER[data[0]].unpack(data)) for data in datas]
