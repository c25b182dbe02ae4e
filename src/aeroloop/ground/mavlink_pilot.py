"""Sends the scenario's commands to an autopilot over MAVLink at their simulated times, like a ground station.

Bytes in, bytes out, time passed in: the same answers give the same messages, so a flight in lockstep repeats.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Event
from aeroloop.ground.mission_messages import item_message
from aeroloop.ground.missions import Item
from aeroloop.ground.pilot_commands import ARDUPILOT_TAKEOFF_M, PLANE_TAKEOFF, PilotCommand, PilotConfig
from aeroloop.ground.stick import Deflection
from aeroloop.protocols.flight_modes import Firmware, firmware, mode_params
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut, Message

GROUND_SYSTEM, GROUND_COMPONENT = 255, 190  # IDs as used by ground stations
AUTOPILOT_COMPONENT = 1
HEARTBEAT_NS = NS
STICK_NS = NS // 20
AGAIN_NS = NS // 2
"""Timeout of an answer, and time between two tries."""

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
class AbandonedCommand:
    """A command that was refused until its timeout, or never answered."""

    number: int
    pilot_command: PilotCommand
    reason: str


@dataclass(frozen=True, slots=True)
class Done:
    """A command was sent for the first time, or acknowledged."""

    t_ns: int
    event: Event
    number: int  # index of the command


@dataclass
class _Pending:
    """The command in progress."""

    number: int
    pilot_command: PilotCommand
    command: int  # MAV_CMD, or 0 for a parameter
    next_ns: int
    sent: bool = False


class MavlinkPilot:
    def __init__(
        self,
        config: PilotConfig,
        items: tuple[Item, ...],
        system: int,
        deflection: Callable[[float], Deflection] | None = None,
        places: Mapping[int, Vec3] | None = None,
    ) -> None:
        """`deflection` is the stick's position, so many seconds after its recording began; `places` are the targets of
        the `goto` commands, by their indices: degrees, and metres above mean sea level."""
        self._config, self._items, self._system = config, items, system
        self._deflection, self._places = deflection, places or {}
        self.counters = MavlinkCounters()
        self.received: dict[int, int] = {}  # message -> count
        self.given_up: list[AbandonedCommand] = []  # not yet fetched
        self.done_so_far: list[Done] = []  # not yet fetched
        self._kinds: dict[str, int] = {}  # types of parameters, as reported by the autopilot
        self._last_text = ""  # last STATUSTEXT of the autopilot
        self._in = MavlinkIn(self.counters, system)
        self._out = MavlinkOut(self.counters, GROUND_SYSTEM, GROUND_COMPONENT)
        self._heard = False
        self._firmware: Firmware | None = None  # of an autopilot whose modes are known
        self._uploaded = not items
        self._upload_ns = 0
        self._heartbeat_ns = self._stick_ns = 0
        self._waiting = list(enumerate(config.commands))
        self._pending: _Pending | None = None
        self._reply: list[Message] = []

    @property
    def done(self) -> bool:
        return not self._waiting and self._pending is None

    def receive(self, chunk: bytes, t_ns: int) -> None:
        for frame in self._in.feed(chunk):
            self.handle(frame, t_ns)

    def handle(self, frame: Frame, t_ns: int) -> None:
        """Handle a frame of its autopilot."""
        self.received[frame.msg_id] = self.received.get(frame.msg_id, 0) + 1
        if frame.msg_id == _HEARTBEAT:
            self._hear_heartbeat(frame.message())
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

    def _hear_heartbeat(self, message: Message) -> None:
        self._firmware = firmware(message.autopilot, message.type)
        if not self._heard and self._items and self._is_ardupilot:
            # ArduPilot keeps its home as the first item, whatever is sent there.
            self._items = (Item(dialect.MAV_CMD_NAV_WAYPOINT), *self._items)
        self._heard = True

    @property
    def _is_ardupilot(self) -> bool:
        return self._firmware is not None and self._firmware.is_ardupilot

    def step(self, t_ns: int) -> bytes:
        """Messages to send now."""
        if not self._heard:
            self._give_up_unheard(t_ns)
            return b""
        if t_ns >= self._config.heartbeat_until_s * NS:
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
        messages += self._send_due(t_ns)
        return b"".join(map(self._out.pack, messages)) if messages else b""

    def _give_up_unheard(self, t_ns: int) -> None:
        while self._waiting and t_ns > (self._waiting[0][1].at_s + self._waiting[0][1].give_up_s) * NS:
            number, pilot_command = self._waiting.pop(0)
            self.given_up.append(AbandonedCommand(number, pilot_command, "no telemetry of an autopilot was received"))

    def _send_due(self, t_ns: int) -> list[Message]:
        if self._pending is None and self._waiting:
            number, pilot_command = self._waiting[0]
            ready = self._uploaded or pilot_command.do != "mission"
            give_up_ns = (pilot_command.at_s + pilot_command.give_up_s) * NS
            if t_ns >= pilot_command.at_s * NS and (ready or t_ns >= give_up_ns):
                del self._waiting[0]
                self._pending = _Pending(number, pilot_command, 0, t_ns)
                self._last_text = ""
        pending = self._pending
        if pending is None or t_ns < pending.next_ns:
            return []
        if t_ns > (pending.pilot_command.at_s + pending.pilot_command.give_up_s) * NS:
            reason = self._last_text or "no answer"
            self.given_up.append(AbandonedCommand(pending.number, pending.pilot_command, reason))
            self._pending = None
            return []
        pending.next_ns = t_ns + AGAIN_NS
        messages, pending.command = self._words(pending.number, pending.pilot_command)
        if not pending.sent:
            pending.sent = True
            self.done_so_far.append(Done(t_ns, Event.COMMAND_SENT, pending.number))
        return messages

    def _words(self, number: int, pilot_command: PilotCommand) -> tuple[list[Message], int]:
        """A command as messages, and the MAV_CMD whose acknowledgement answers it."""
        nan = math.nan
        match pilot_command.do:
            case "arm" | "disarm":
                return self._command(dialect.MAV_CMD_COMPONENT_ARM_DISARM, float(pilot_command.do == "arm"))
            case "takeoff" if self._firmware is Firmware.COPTER:
                guided, _ = self._mode("guided")
                height_m = pilot_command.value or ARDUPILOT_TAKEOFF_M
                words, command = self._command(dialect.MAV_CMD_NAV_TAKEOFF, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, height_m)
                return [*guided, *words], command
            case "takeoff" if self._firmware is Firmware.PLANE:
                words, command = self._mode("takeoff")
                return [
                    *([self._set(PLANE_TAKEOFF, pilot_command.value)] if pilot_command.value > 0 else []),
                    *words,
                ], command
            case "takeoff":
                words, command = self._command(dialect.MAV_CMD_NAV_TAKEOFF, nan, nan, nan, nan, nan, nan, nan)
                height = [self._set("MIS_TAKEOFF_ALT", pilot_command.value)] if pilot_command.value > 0 else []
                return [*height, *words], command
            case "goto":
                return self._go_to(*self._places[number])
            case "set":
                return [self._set(pilot_command.parameter, pilot_command.value)], 0
            case mode:
                return self._mode(mode)

    def _mode(self, name: str) -> tuple[list[Message], int]:
        """Nothing for a mode that this autopilot has not: the command is abandoned after its time."""
        of = self._firmware or Firmware.PX4
        numbers = mode_params(of, name)
        if numbers is None:
            self._last_text = f"{of.value} has no mode {name}"
            return [], dialect.MAV_CMD_DO_SET_MODE
        enabled = dialect.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
        return self._command(dialect.MAV_CMD_DO_SET_MODE, enabled, *numbers)

    def _command(self, command: int, *params: float) -> tuple[list[Message], int]:
        filled = (*params, *(0.0,) * (7 - len(params)))
        message = dialect.MAVLink_command_long_message(self._system, AUTOPILOT_COMPONENT, command, 0, *filled)
        return [message], command

    def _go_to(self, lat_deg: float, lon_deg: float, alt_m: float) -> tuple[list[Message], int]:
        command, frame = dialect.MAV_CMD_DO_REPOSITION, dialect.MAV_FRAME_GLOBAL
        how = (-1.0, dialect.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0.0, math.nan)
        place = round(lat_deg * 1e7), round(lon_deg * 1e7), alt_m
        to = self._system, AUTOPILOT_COMPONENT
        return [dialect.MAVLink_command_int_message(*to, frame, command, 0, 0, *how, *place)], command

    def _set(self, name: str, value: float) -> Message:
        kind = self._kinds.get(name, _REAL)
        if kind == _WHOLE and value.is_integer() and not self._is_ardupilot:
            (value,) = struct.unpack("<f", struct.pack("<i", int(value)))
        return dialect.MAVLink_param_set_message(self._system, AUTOPILOT_COMPONENT, name.encode(), value, kind)

    def _take_answer(self, frame: Frame, t_ns: int) -> None:
        pending = self._pending
        if pending is None:
            return
        message = frame.message()
        if frame.msg_id == _PARAM:
            granted = pending.command == 0 and self._stands(message, pending, t_ns)
        else:
            granted = message.command == pending.command and message.result == dialect.MAV_RESULT_ACCEPTED
        if granted:
            self.done_so_far.append(Done(t_ns, Event.COMMAND_ACCEPTED, pending.number))
            self._pending = None

    def _stands(self, message: Message, pending: _Pending, t_ns: int) -> bool:
        """Whether the parameter has the requested value. If its type differs it is requested again with that type."""
        name = message.param_id if isinstance(message.param_id, str) else message.param_id.decode()
        if name != pending.pilot_command.parameter:
            return False
        value, wanted = message.param_value, pending.pilot_command.value
        if message.param_type == _WHOLE and not self._is_ardupilot:
            (value,) = struct.unpack("<i", struct.pack("<f", value))
        else:
            (wanted,) = struct.unpack("<f", struct.pack("<f", wanted))
        if value == wanted:
            return True
        if self._kinds.get(name, _REAL) != message.param_type:
            self._kinds[name] = message.param_type
            pending.next_ns = t_ns
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
