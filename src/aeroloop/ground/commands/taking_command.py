"""Requests control from a router with several ground stations: CHANGE_OPERATOR_CONTROL until its acknowledgement."""

from __future__ import annotations

from pymavlink.dialects.v20 import common as dialect

from aeroloop.ground.commands.errors import NoAnswerError, RefusedError
from aeroloop.ground.commands.transaction import Partner, Patience, Transaction, read
from aeroloop.protocols.mavlink import Frame, Message

ANSWER = dialect.MAVLINK_MSG_ID_CHANGE_OPERATOR_CONTROL_ACK
ROUTER: Partner = (0, 0)
"""Any ID."""
_REQUEST = 0
_GRANTED = 0
_WHY = {1: "this link may only observe", 2: "this link may only observe", 3: "another program has control"}


class RequestCommand(Transaction[None]):
    def __init__(self, me: Partner, patience: Patience) -> None:
        super().__init__("take command", "operator", ROUTER, me, patience)

    def handle(self, frame: Frame, t_ns: int) -> None:
        """Handle a frame of any sender: the router may have any ID."""
        if not self.done and frame.msg_id in self._reads() and (message := read(frame)) is not None:
            self._take(message, frame, t_ns)

    def _reads(self) -> frozenset[int]:
        return frozenset((ANSWER,))

    def _take(self, message: Message, frame: Frame, t_ns: int) -> None:
        if message.gcs_system_id != self.me[0] or message.control_request != _REQUEST:
            return
        if message.ack == _GRANTED:
            self._finish(None)
        else:
            why = _WHY.get(message.ack, f"answer {message.ack}")
            self._fail(RefusedError(f"{self.what}: the router refused: {why}"))

    def _question(self) -> list[Message]:
        return [dialect.MAVLink_change_operator_control_message(0, _REQUEST, 0, b"")]

    def _give_up(self, t_ns: int) -> None:
        self._fail(NoAnswerError(f"{self.what}: no router answered after {self._tries} tries"))
