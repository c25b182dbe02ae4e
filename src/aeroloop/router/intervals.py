"""Rates that ground stations have set: what SET_MESSAGE_INTERVAL asked of a vehicle, once that has agreed.

COMMAND_ACK does not say which message it is about, but vehicles answer in the order of the questions.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from aeroloop.router import access
from aeroloop.router.decisions import Decision
from aeroloop.router.messages import MAVLINK
from aeroloop.router.peers import Peer
from aeroloop.router.targets import offset

SET_MESSAGE_INTERVAL = 511
ACK = MAVLINK["COMMAND_ACK"]
MOST_OPEN = 64
"""Questions that nobody has answered; the oldest are forgotten first."""
_ACCEPTED, _IN_PROGRESS = 0, 5
_PARAMS_AT = {MAVLINK[name]: offset(name, "param1") for name in ("COMMAND_LONG", "COMMAND_INT")}
_COMMAND_AT, _RESULT_AT = offset("COMMAND_ACK", "command"), offset("COMMAND_ACK", "result")
_TO_AT = offset("COMMAND_ACK", "target_system")
_PARAMS = struct.Struct("<ff")


class _Question(NamedTuple):
    line: int  # of the vehicle
    system: int
    asker: int  # system
    message: int


class Intervals:
    def __init__(self) -> None:
        self._open: dict[_Question, float] = {}  # intervals in us

    def asked(self, decision: Decision, frame: bytes, vehicle: Peer) -> None:
        """A command was passed on to a vehicle."""
        payload = decision.payload(frame)
        if access.command_of(decision.message, payload) != SET_MESSAGE_INTERVAL:
            return
        at = _PARAMS_AT[decision.message]
        message, interval_us = _PARAMS.unpack(payload[at : at + _PARAMS.size].ljust(_PARAMS.size, b"\0"))
        if not (math.isfinite(interval_us) and message.is_integer() and 0 <= message < 1 << 24):
            return
        question = _Question(vehicle.line.number, decision.address(frame)[0], decision.system, int(message))
        self._open[question] = interval_us
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]

    def answered(self, decision: Decision, frame: bytes, vehicle: Peer) -> None:
        """A vehicle acknowledges something."""
        payload = decision.payload(frame).ljust(_TO_AT + 1, b"\0")
        if int.from_bytes(payload[_COMMAND_AT : _COMMAND_AT + 2], "little") != SET_MESSAGE_INTERVAL:
            return
        result, to = payload[_RESULT_AT], payload[_TO_AT]
        if result == _IN_PROGRESS:
            return
        for question in self._open:
            of_it = question.line == vehicle.line.number and question.system in (0, decision.system)
            if of_it and to in (0, question.asker):
                interval_us = self._open.pop(question)
                if result == _ACCEPTED:
                    vehicle.line.set_rate(decision.system, question.message, _rate_hz(interval_us))
                return


def _rate_hz(interval_us: float) -> float | None:
    """None for the vehicle's own choice, 0 for none at all."""
    if interval_us == 0:
        return None
    return 1e6 / interval_us if interval_us > 0 else 0.0
