"""Reassembles STATUSTEXT: long texts are sent in chunks, and chunks get lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink import Frame

ROOM = 50
MOST_PIECES = 20
MOST_OPEN = 8
PATIENCE_NS = NS // 2
"""Timeout of missing chunks."""
GAP = "..."

TEXT = dialect.MAVLINK_MSG_ID_STATUSTEXT


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the autopilot to its pilot."""

    t_ns: int
    severity: int  # MAV_SEVERITY: 0 is the worst, 6 is for information
    words: str


@dataclass(slots=True)
class _Open:
    severity: int
    since_ns: int
    pieces: dict[int, bytes] = field(default_factory=dict)
    last: int = -1  # index of the last chunk, once received


class Texts:
    """Texts of one sender."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}

    def handle(self, frame: Frame, t_ns: int) -> list[Text]:
        """The texts that a STATUSTEXT completes."""
        severity, piece = frame.payload[0], frame.payload[1 : 1 + ROOM]
        number, place = int.from_bytes(frame.payload[51:53], "little"), frame.payload[53]
        ends = b"\0" in piece
        piece = piece.split(b"\0")[0]
        if number == 0:
            return [_text(severity, t_ns, piece)] if piece else []
        told = self._made_room(t_ns) if number not in self._open else []
        sentence = self._open.setdefault(number, _Open(severity, t_ns))
        if place < MOST_PIECES:
            sentence.pieces[place] = piece
            if ends:
                sentence.last = place
        if sentence.last >= 0 and len(sentence.pieces) > sentence.last:
            told.append(self._closed(number))
        return told

    def step(self, t_ns: int) -> list[Text]:
        """Texts whose missing chunks have timed out."""
        late = [number for number, text in self._open.items() if t_ns - text.since_ns >= PATIENCE_NS]
        return [self._closed(number) for number in late]

    @property
    def next_ns(self) -> int | None:
        return min((text.since_ns + PATIENCE_NS for text in self._open.values()), default=None)

    def _made_room(self, t_ns: int) -> list[Text]:
        return [self._closed(next(iter(self._open)))] if len(self._open) >= MOST_OPEN else []

    def _closed(self, number: int) -> Text:
        sentence = self._open.pop(number)
        words, at = b"", 0
        for place, piece in sorted(sentence.pieces.items()):
            words += (GAP.encode() if place != at else b"") + piece
            at = place + 1
        if sentence.last < 0:
            words += GAP.encode()
        return _text(sentence.severity, sentence.since_ns, words)


def _text(severity: int, t_ns: int, octets: bytes) -> Text:
    words = octets.decode("utf-8", "replace")
    return Text(t_ns, severity, "".join(letter if letter.isprintable() else "?" for letter in words).strip())
