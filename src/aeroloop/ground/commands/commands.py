"""MAVLink's command protocol, from the ground: COMMAND_LONG or COMMAND_INT until COMMAND_ACK."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.ground.commands.errors import NoAnswerError
from aeroloop.ground.commands.transaction import Partner, Patience, Transaction, enum_words
from aeroloop.ground.missions import OPEN
from aeroloop.protocols.mavlink import Frame, Message

ACK = dialect.MAVLINK_MSG_ID_COMMAND_ACK
_READS = frozenset((ACK,))


@dataclass(frozen=True, slots=True)
class Command:
    """Up to seven parameters; 5 and 6 are degrees where they are a position. NaN leaves one open."""

    number: int
    params: tuple[float, ...] = ()
    frame: int | None = None  # frame of the position: sent as COMMAND_INT, which has centimetre resolution

    def message(self, to: Partner, confirmation: int, whole: bool) -> Message:
        p = (*self.params, *(0.0,) * (7 - len(self.params)))
        if not whole:
            return dialect.MAVLink_command_long_message(*to, self.number, min(confirmation, 255), *p)
        frame = dialect.MAV_FRAME_GLOBAL if self.frame is None else self.frame
        x, y = (OPEN if math.isnan(value) else round(value * 1e7) for value in p[4:6])
        return dialect.MAVLink_command_int_message(*to, frame, self.number, 0, 0, *p[:4], x, y, p[6])


@dataclass(slots=True)
class LateAcknowledgements:
    """Acknowledgements of an earlier command with the same number that may still arrive.

    COMMAND_ACK identifies the command only by its number, so a late one for `arm` looks like one for `disarm`.
    """

    count: int = 0
    until_ns: int = 0


class CommandTransaction(Transaction[None]):
    def __init__(
        self,
        what: str,
        command: Command,
        peer: Partner,
        me: Partner,
        patience: Patience,
    ) -> None:
        super().__init__(what, key_of(command.number), peer, me, patience)
        self._command = command
        self._whole = command.frame is not None
        self._switched = False
        self._strays = LateAcknowledgements()
        self._unanswered = 0
        self._end_ns = 0
        self._working = False

    def begin(self, t_ns: int, strays: LateAcknowledgements | None = None) -> None:
        """Start later if answers to an older command are still pending."""
        self._end_ns = t_ns + round(self.patience.longest_s * NS)
        if strays is not None and strays.count > 0 and strays.until_ns > t_ns:
            self._strays, self.next_ns = strays, strays.until_ns
        else:
            self._send_request(t_ns)

    def strays(self, t_ns: int) -> LateAcknowledgements:
        """Acknowledgements that may still arrive after the end."""
        return LateAcknowledgements(self._unanswered, t_ns + round(2 * self.patience.answer_s * NS))

    def _reads(self) -> frozenset[int]:
        return _READS

    def _question(self) -> list[Message]:
        self._unanswered += 1
        self._strays = LateAcknowledgements()
        return [self._command.message(self.peer, self._tries - 1, self._whole)]

    def _again(self, t_ns: int) -> None:
        if self._working:
            self._fail(NoAnswerError(f"{self.what}: system {self.peer[0]} reported progress, then stopped answering"))
        else:
            self._send_request(t_ns)

    def _take(self, message: Message, frame: Frame, t_ns: int) -> None:
        if message.command != self._command.number:
            return
        result = message.result
        if result == dialect.MAV_RESULT_IN_PROGRESS:
            if self._unanswered:
                self._working = True
                self.next_ns = min(self._end_ns, t_ns + round(self.patience.progress_s * NS))
            return
        if not self._unanswered:  # of an older command
            self._strays.count -= 1
            if self._strays.count <= 0:
                self.next_ns = t_ns
            return
        self._unanswered -= 1
        other_form = dialect.MAV_RESULT_COMMAND_LONG_ONLY if self._whole else dialect.MAV_RESULT_COMMAND_INT_ONLY
        if result == dialect.MAV_RESULT_ACCEPTED:
            self._finish(None)
        elif result == other_form and not self._switched:
            self._switched, self._whole = True, not self._whole
            self._request_next(t_ns)
        else:
            self._refuse(enum_words("MAV_RESULT", result), t_ns)


def key_of(number: int) -> str:
    return f"command {number}"
