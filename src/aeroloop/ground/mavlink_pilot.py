"""A pilot at a ground station: asks an autopilot over MAVLink for what stands in the scenario, at its simulated times.

Bytes in, bytes out, time handed in: the same answers give the same questions, so a flight in lockstep repeats.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.ground.mission_messages import item_message
from aeroloop.ground.missions import Item
from aeroloop.ground.orders import Order, PilotConfig
from aeroloop.ground.stick import Deflection
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut, Message
from aeroloop.protocols.px4_modes import PX4_MODES

GROUND_SYSTEM, GROUND_COMPONENT = 255, 190  # as ground stations sign
AUTOPILOT_COMPONENT = 1
HEARTBEAT_NS = NS
STICK_NS = NS // 20
AGAIN_NS = NS // 2
"""How long to wait for an answer, and between two tries."""

_ACK, _REQUEST, _REQUEST_INT, _MISSION_ACK, _HEARTBEAT, _PARAM, _TEXT = (
    dialect.MAVLINK_MSG_ID_COMMAND_ACK,
    dialect.MAVLINK_MSG_ID_MISSION_REQUEST,
    dialect.MAVLINK_MSG_ID_MISSION_REQUEST_INT,
    dialect.MAVLINK_MSG_ID_MISSION_ACK,
    dialect.MAVLINK_MSG_ID_HEARTBEAT,
    dialect.MAVLINK_MSG_ID_PARAM_VALUE,
    dialect.MAVLINK_MSG_ID_STATUSTEXT,
)
_REAL, _WHOLE = dialect.MAV_PARAM_TYPE_REAL32, dialect.MAV_PARAM_TYPE_INT32


@dataclass(frozen=True, slots=True)
class GivenUp:
    """An order that was refused to the end, or never answered."""

    number: int
    order: Order
    reason: str


@dataclass
class _Asked:
    """The order that is being asked for."""

    number: int
    order: Order
    command: int  # MAV_CMD, or 0 for a parameter
    next_ns: int


class MavlinkPilot:
    def __init__(
        self,
        config: PilotConfig,
        items: tuple[Item, ...],
        system: int,
        deflection: Callable[[float], Deflection] | None = None,
    ) -> None:
        """`deflection` is where the stick stands, so many seconds after its recording began."""
        self._config, self._items, self._system = config, items, system
        self._deflection = deflection
        self.counters = MavlinkCounters()
        self.received: dict[int, int] = {}  # message -> how often
        self.given_up: list[GivenUp] = []  # not yet fetched
        self._kinds: dict[str, int] = {}  # of parameters, as the autopilot told them
        self._last_text = ""  # what the autopilot last told its pilot in words
        self._in = MavlinkIn(self.counters, system)
        self._out = MavlinkOut(self.counters, GROUND_SYSTEM, GROUND_COMPONENT)
        self._heard = False
        self._uploaded = not items
        self._upload_ns = 0
        self._heartbeat_ns = self._stick_ns = 0
        self._waiting = list(enumerate(config.orders))
        self._asked: _Asked | None = None
        self._reply: list[Message] = []

    @property
    def done(self) -> bool:
        return not self._waiting and self._asked is None

    def receive(self, chunk: bytes, t_ns: int) -> None:
        for frame in self._in.feed(chunk):
            self.received[frame.msg_id] = self.received.get(frame.msg_id, 0) + 1
            if frame.msg_id == _HEARTBEAT:
                self._heard = True
            elif frame.msg_id in (_REQUEST, _REQUEST_INT):
                self._upload_ns = t_ns + AGAIN_NS
                self._hand_over(frame.message().seq)
            elif frame.msg_id == _MISSION_ACK:
                self._uploaded = self._uploaded or frame.message().type == dialect.MAV_MISSION_ACCEPTED
            elif frame.msg_id == _TEXT:
                text = frame.message()
                if text.severity <= dialect.MAV_SEVERITY_WARNING:
                    self._last_text = text.text
            elif frame.msg_id in (_ACK, _PARAM):
                self._take_answer(frame, t_ns)

    def step(self, t_ns: int) -> bytes:
        """What the pilot sends now."""
        if not self._heard or t_ns >= self._config.heartbeat_until_s * NS:
            return b""
        messages, self._reply = self._reply, []
        if t_ns >= self._heartbeat_ns:
            self._heartbeat_ns = t_ns + HEARTBEAT_NS
            messages.append(_heartbeat())
        if not self._uploaded and t_ns >= self._upload_ns:
            self._upload_ns = t_ns + 2 * AGAIN_NS
            messages.append(dialect.MAVLink_mission_count_message(self._system, AUTOPILOT_COMPONENT, len(self._items)))
        if self._deflection and t_ns >= max(self._stick_ns, round(self._config.stick_start_s * NS)):
            self._stick_ns = t_ns + STICK_NS
            messages.append(self._sticks(t_ns / NS - self._config.stick_start_s))
        messages += self._ask(t_ns)
        return b"".join(map(self._out.pack, messages)) if messages else b""

    def _ask(self, t_ns: int) -> list[Message]:
        if self._asked is None and self._waiting:
            number, order = self._waiting[0]
            ready = self._uploaded or order.do != "mission"
            if t_ns >= order.at_s * NS and (ready or t_ns >= (order.at_s + order.give_up_s) * NS):
                del self._waiting[0]
                self._asked = _Asked(number, order, 0, t_ns)
                self._last_text = ""
        asked = self._asked
        if asked is None or t_ns < asked.next_ns:
            return []
        if t_ns > (asked.order.at_s + asked.order.give_up_s) * NS:
            self.given_up.append(GivenUp(asked.number, asked.order, self._last_text or "it never answered"))
            self._asked = None
            return []
        asked.next_ns = t_ns + AGAIN_NS
        messages, asked.command = self._words(asked.order)
        return messages

    def _words(self, order: Order) -> tuple[list[Message], int]:
        """An order as messages, and the command whose acknowledgement answers it."""
        nan = math.nan
        match order.do:
            case "arm" | "disarm":
                return self._command(dialect.MAV_CMD_COMPONENT_ARM_DISARM, float(order.do == "arm"))
            case "takeoff":
                words, command = self._command(dialect.MAV_CMD_NAV_TAKEOFF, nan, nan, nan, nan, nan, nan, nan)
                height = [self._set("MIS_TAKEOFF_ALT", order.value)] if order.value > 0 else []
                return [*height, *words], command
            case "set":
                return [self._set(order.parameter, order.value)], 0
            case mode:
                main, sub = PX4_MODES[mode]
                enabled = dialect.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
                return self._command(dialect.MAV_CMD_DO_SET_MODE, enabled, main, sub)

    def _command(self, command: int, *params: float) -> tuple[list[Message], int]:
        filled = (*params, *(0.0,) * (7 - len(params)))
        message = dialect.MAVLink_command_long_message(self._system, AUTOPILOT_COMPONENT, command, 0, *filled)
        return [message], command

    def _set(self, name: str, value: float) -> Message:
        kind = self._kinds.get(name, _REAL)
        if kind == _WHOLE and value.is_integer():
            (value,) = struct.unpack("<f", struct.pack("<i", int(value)))
        return dialect.MAVLink_param_set_message(self._system, AUTOPILOT_COMPONENT, name.encode(), value, kind)

    def _take_answer(self, frame: Frame, t_ns: int) -> None:
        asked = self._asked
        if asked is None:
            return
        message = frame.message()
        if frame.msg_id == _PARAM:
            granted = asked.command == 0 and self._stands(message, asked, t_ns)
        else:
            granted = message.command == asked.command and message.result == dialect.MAV_RESULT_ACCEPTED
        if granted:
            self._asked = None

    def _stands(self, message: Message, asked: _Asked, t_ns: int) -> bool:
        """Whether the parameter has the value that was asked for. One of another kind is asked for again as such."""
        name = message.param_id if isinstance(message.param_id, str) else message.param_id.decode()
        if name != asked.order.parameter:
            return False
        value, wanted = message.param_value, asked.order.value
        if message.param_type == _WHOLE:
            (value,) = struct.unpack("<i", struct.pack("<f", value))
        else:
            (wanted,) = struct.unpack("<f", struct.pack("<f", wanted))
        if value == wanted:
            return True
        if self._kinds.get(name, _REAL) != message.param_type:
            self._kinds[name] = message.param_type
            asked.next_ns = t_ns
        return False

    def _hand_over(self, number: int) -> None:
        if not 0 <= number < len(self._items):
            return
        self._reply.append(item_message(self._items[number], number, (self._system, AUTOPILOT_COMPONENT)))

    def _sticks(self, t_s: float) -> Message:
        assert self._deflection is not None
        forward, left, up, yaw = self._deflection(t_s)
        thousand = [round(1000 * x) for x in (forward, -left, 0.5 * (1.0 + up), -yaw)]
        return dialect.MAVLink_manual_control_message(self._system, *thousand, 0)


def _heartbeat() -> Message:
    return dialect.MAVLink_heartbeat_message(
        dialect.MAV_TYPE_GCS, dialect.MAV_AUTOPILOT_INVALID, 0, 0, dialect.MAV_STATE_ACTIVE, 3
    )
