"""Message rates set by ground stations: SET_MESSAGE_INTERVAL requests that a vehicle acknowledged.

COMMAND_ACK does not name the message whose rate was set, but vehicles answer in the order of the requests.
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
"""Maximum number of unanswered requests; the oldest are dropped first."""
_ACCEPTED, _IN_PROGRESS = 0, 5
_PARAMS_AT = {MAVLINK[name]: offset(name, "param1") for name in ("COMMAND_LONG", "COMMAND_INT")}
_COMMAND_AT, _RESULT_AT = offset("COMMAND_ACK", "command"), offset("COMMAND_ACK", "result")
_TO_AT = offset("COMMAND_ACK", "target_system")
_PARAMS = struct.Struct("<ff")


class _IntervalRequest(NamedTuple):
    link: int  # of the vehicle
    system: int
    requester: int  # its system
    message: int


class Intervals:
    def __init__(self) -> None:
        self._open: dict[_IntervalRequest, float] = {}  # intervals in us

    def requested(self, decision: Decision, frame: bytes, vehicle: Peer) -> None:
        """A command was forwarded to a vehicle."""
        payload = decision.payload(frame)
        if access.command_of(decision.message, payload) != SET_MESSAGE_INTERVAL:
            return
        at = _PARAMS_AT[decision.message]
        message, interval_us = _PARAMS.unpack(payload[at : at + _PARAMS.size].ljust(_PARAMS.size, b"\0"))
        if not (math.isfinite(interval_us) and message.is_integer() and 0 <= message < 1 << 24):
            return
        request = _IntervalRequest(vehicle.link.number, decision.address(frame)[0], decision.system, int(message))
        self._open[request] = interval_us
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]

    def answered(self, decision: Decision, frame: bytes, vehicle: Peer) -> None:
        """A vehicle has sent an acknowledgement."""
        payload = decision.payload(frame).ljust(_TO_AT + 1, b"\0")
        if int.from_bytes(payload[_COMMAND_AT : _COMMAND_AT + 2], "little") != SET_MESSAGE_INTERVAL:
            return
        result, to = payload[_RESULT_AT], payload[_TO_AT]
        if result == _IN_PROGRESS:
            return
        for request in self._open:
            of_it = request.link == vehicle.link.number and request.system in (0, decision.system)
            if of_it and to in (0, request.requester):
                interval_us = self._open.pop(request)
                if result == _ACCEPTED:
                    vehicle.link.set_rate(decision.system, request.message, _rate_hz(interval_us))
                return


def _rate_hz(interval_us: float) -> float | None:
    """None: the vehicle's default; 0: not sent."""
    if interval_us == 0:
        return None
    return 1e6 / interval_us if interval_us > 0 else 0.0
