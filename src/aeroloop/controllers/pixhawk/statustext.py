"""STATUSTEXT messages, split into chunks of the message's size."""

from __future__ import annotations

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.types import Severity
from aeroloop.protocols.mavlink import Message

ROOM = 50
LONGEST = 4 * ROOM


class StatusTexts:
    """Numbers the long ones, so that their chunks can be joined."""

    def __init__(self) -> None:
        self._number = 0

    def messages(self, severity: Severity, text: str) -> list[Message]:
        octets = text.encode("ascii", "replace")[:LONGEST]
        pieces = [octets[at : at + ROOM] for at in range(0, len(octets), ROOM)]
        number = 0
        if len(pieces) > 1:
            self._number = number = self._number % 65535 + 1
            if len(pieces[-1]) == ROOM:
                pieces.append(b"")  # a chunk that is not full ends the text
        return [
            dialect.MAVLink_statustext_message(severity, piece, number, place) for place, piece in enumerate(pieces)
        ]
