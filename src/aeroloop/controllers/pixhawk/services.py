"""The MAVLink services of the virtual Pixhawk on its ground links: frames in, bytes out, time as an argument; no I/O.

Every link has its own rates, transfers and numbering, and gets the answers to its own messages. Texts, changed
parameters and reached mission items are sent on all links.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk import landing_targets, offboard_messages, pilot_input
from aeroloop.controllers.pixhawk.command_protocol import Command, CommandProtocol, Handler
from aeroloop.controllers.pixhawk.message_rates import MessageRates
from aeroloop.controllers.pixhawk.mission_geodesy import geodetic_from_local
from aeroloop.controllers.pixhawk.mission_protocol import MissionProtocol
from aeroloop.controllers.pixhawk.parameter_protocol import ParameterProtocol
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.statustext import StatusTexts
from aeroloop.controllers.pixhawk.telemetry import BUILDERS, STREAMS, Geodesy, Readings, Stream, View
from aeroloop.controllers.pixhawk.types import AutopilotInterface, Refusal, Severity, Sticks
from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkOut, Message

COMPONENT = dialect.MAV_COMP_ID_AUTOPILOT1
REACHED_TIMES = 3
"""A reached item is reported this many times, a second apart: a datagram may be lost."""
STICKS_SHOWN_NS = NS
LOOK_NS = 20_000_000
"""Period of the check whether a mission item was reached."""
MOST_WAITING = 64
"""Maximum number of messages from other links that wait for this link's next step."""

_M = dialect
_FTP_NAK, _FTP_UNKNOWN_COMMAND = 129, 7
_UNSUPPORTED = Refusal("", temporary=False, supported=False)


@dataclass(slots=True)
class ServiceCounters:
    """Messages received on a ground link without effect."""

    for_others: int = 0  # addressed to another system or component
    unreadable: int = 0  # the checksum is valid, but pymavlink cannot decode it
    unhandled: int = 0  # messages that are not for an autopilot, or not supported here
    bad_sticks: int = 0
    bad_offboard: int = 0
    bad_landing_targets: int = 0


class Services:
    """The MAVLink services of one aircraft on several links."""

    def __init__(
        self,
        logic: AutopilotInterface,
        parameters: Parameters,
        readings: Callable[[], Readings],
        *,
        system: int,
        links: int = 1,
        geodesy: Geodesy = geodetic_from_local,
    ) -> None:
        self._logic = logic
        self._readings = readings
        self._system = system
        self._geodesy = geodesy
        self.links = tuple(GroundLink(logic, parameters, system, geodesy, self) for _ in range(links))
        self.sticks: Sticks | None = None
        self._sticks_ns = 0
        self._reached = -1
        self._reached_left = 0
        self._reached_ns = 0
        self._look_ns = 0
        self.setter: GroundLink | None = None  # the link that is changing a parameter: it gets its own answer
        self.on_text: Callable[[int, Severity, str], None] = lambda t_ns, severity, text: None
        """Called with each text for the pilot."""
        parameters.watch(self._tell_changed)

    @property
    def bad_landing_targets(self) -> int:
        """On all links."""
        return sum(link.counters.bad_landing_targets for link in self.links)

    def receive(self, link: int, frame: Frame, t_ns: int) -> bytes:
        """The immediate answers, on the same link."""
        return self.links[link].receive(frame, t_ns)

    def step(self, t_ns: int) -> list[bytes]:
        """The messages due on each link."""
        for severity, text in self._logic.take_texts():
            self.on_text(t_ns, severity, text)
            for link in self.links:
                link.queue(link.texts.messages(severity, text))
        if t_ns >= self._look_ns:
            self._look_ns = t_ns + LOOK_NS
            self._tell_reached(t_ns)
        if self.sticks is not None and t_ns - self._sticks_ns > STICKS_SHOWN_NS:
            self.sticks = None
        view, told = None, []
        for link in self.links:
            rows = link.rates.due(t_ns)
            if rows and view is None:
                view = self.view(t_ns)
            told.append(link.step(t_ns, rows, view))
        return told

    def view(self, t_ns: int) -> View:
        count = len(self._logic.mission)
        return View(t_ns, self._logic.status, self._readings(), self._geodesy, self.sticks, count, self._system)

    def take_sticks(self, sticks: Sticks, t_ns: int) -> None:
        self.sticks, self._sticks_ns = sticks, t_ns
        self._logic.sticks(sticks)

    def _tell_changed(self, name: str) -> None:
        for link in self.links:
            if link is not self.setter:
                link.queue([link.parameters.value(name)])

    def _tell_reached(self, t_ns: int) -> None:
        reached = self._logic.mission_reached
        if reached != self._reached:
            self._reached, self._reached_ns = reached, t_ns
            self._reached_left = REACHED_TIMES if reached >= 0 else 0
        if self._reached_left and t_ns >= self._reached_ns:
            self._reached_left -= 1
            self._reached_ns = t_ns + NS
            for link in self.links:
                link.queue([_M.MAVLink_mission_item_reached_message(reached)])


class GroundLink:
    """One of the links; several ground stations may share it."""

    def __init__(
        self,
        logic: AutopilotInterface,
        parameters: Parameters,
        system: int,
        geodesy: Geodesy,
        services: Services,
    ) -> None:
        self.counters = ServiceCounters()
        self.wire = MavlinkCounters()
        self.rates = MessageRates(STREAMS)
        self.texts = StatusTexts()
        self.missions = MissionProtocol(logic, self.texts)
        self.parameters = ParameterProtocol(parameters, self.texts)
        self._logic = logic
        self._system = system
        self._services = services
        self._out = MavlinkOut(self.wire, system, COMPONENT)
        self._waiting: list[Message] = []
        self._requested: list[Message] = []  # by the command being handled
        self._t_ns = 0
        self._offboard_refused = ""  # reason of the last refused offboard setpoint
        self._target_refused = ""  # and of the last refused landing target
        others: dict[int, Handler] = {
            _M.MAV_CMD_SET_MESSAGE_INTERVAL: self._set_interval,
            _M.MAV_CMD_GET_MESSAGE_INTERVAL: self._get_interval,
            _M.MAV_CMD_REQUEST_MESSAGE: lambda command: self._request(command.params[0]),
            _M.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES: lambda _: self._request(_M.MAVLINK_MSG_ID_AUTOPILOT_VERSION),
            _M.MAV_CMD_GET_HOME_POSITION: lambda _: self._request(_M.MAVLINK_MSG_ID_HOME_POSITION),
        }
        self._commands = CommandProtocol(logic, parameters, geodesy, self.texts, others, self.missions.set_current)

    def number_by(self, out: MavlinkOut) -> None:
        """Send with the numbers of another sender on the same link."""
        self._out = out

    def receive(self, frame: Frame, t_ns: int) -> bytes:
        self._t_ns = t_ns
        try:
            message = frame.message()
        except _M.MAVError:
            self.counters.unreadable += 1
            return b""
        if (frame.system, frame.component) == (self._system, COMPONENT) or not self._is_meant(message):
            self.counters.for_others += 1
            return b""
        answers = self._answers(message, (frame.system, frame.component), t_ns)
        return b"".join(map(self._out.pack, answers))

    def step(self, t_ns: int, rows: list[Stream], view: View | None) -> bytes:
        messages = [*self._waiting, *self.parameters.step(t_ns), *self.missions.step(t_ns)]
        self._waiting.clear()
        if view is not None:
            messages += [message for row in rows if (message := row.build(view)) is not None]
        return b"".join(map(self._out.pack, messages)) if messages else b""

    def queue(self, messages: list[Message]) -> None:
        """Queue messages before the next step's telemetry; if there are too many, the oldest are dropped."""
        self._waiting += messages
        del self._waiting[:-MOST_WAITING]

    def _is_meant(self, message: Message) -> bool:
        system = getattr(message, "target_system", 0)
        kind = message.get_type()
        if kind == "MANUAL_CONTROL":
            system = message.target
        if kind == "COMMAND_ACK":  # its target is an extension field and often 0
            return True
        return system in (0, self._system) and getattr(message, "target_component", 0) in (0, COMPONENT)

    def _answers(self, message: Message, sender: tuple[int, int], t_ns: int) -> list[Message]:
        kind = message.get_type()
        if kind in ("COMMAND_LONG", "COMMAND_INT"):
            self._requested = []
            return [*self._commands.handle(message, sender), *self._requested]
        if (answers := self.missions.handle(message, sender, t_ns)) is not None:
            return answers
        self._services.setter = self
        answers = self.parameters.handle(message, sender, t_ns)
        self._services.setter = None
        if answers is not None:
            return answers
        if kind == "HEARTBEAT":
            if message.type == _M.MAV_TYPE_GCS:
                self._logic.note_ground_station()
            return []
        if kind in ("MANUAL_CONTROL", "RC_CHANNELS_OVERRIDE"):
            self._take_sticks(message, t_ns)
            return []
        if kind in offboard_messages.KINDS:
            return self._take_offboard(message)
        if kind == "LANDING_TARGET":
            return self._take_landing_target(message)
        if kind == "SET_MODE":
            refusal = self._commands.set_mode(message.base_mode, message.custom_mode)
            return self.texts.messages(Severity.WARNING, refusal.reason) if refusal else []
        if kind == "REQUEST_DATA_STREAM":
            rate_Hz = min(message.req_message_rate, 1000) if message.start_stop else 0
            self.rates.set_group(message.req_stream_id, rate_Hz, t_ns)
            return []
        return self._answer_requests(kind, message, sender, t_ns)

    def _answer_requests(self, kind: str, message: Message, sender: tuple[int, int], t_ns: int) -> list[Message]:
        if kind == "TIMESYNC":
            return [] if message.tc1 else [_M.MAVLink_timesync_message(t_ns, message.ts1)]
        if kind == "PING":
            asks = message.target_system == 0 and message.target_component == 0
            return [_M.MAVLink_ping_message(message.time_usec, message.seq, *sender)] if asks else []
        if kind == "FILE_TRANSFER_PROTOCOL":
            return [_no_files(message, sender)]
        if kind == "LOG_REQUEST_LIST":
            return [_M.MAVLink_log_entry_message(0, 0, 0, 0, 0)]
        self.counters.unhandled += 1
        return []

    def _take_sticks(self, message: Message, t_ns: int) -> None:
        manual = message.get_type() == "MANUAL_CONTROL"
        read = pilot_input.from_manual_control if manual else pilot_input.from_rc_override
        if (sticks := read(message)) is None:
            self.counters.bad_sticks += 1
        else:
            self._services.take_sticks(sticks, t_ns)

    def _take_offboard(self, message: Message) -> list[Message]:
        """The reason for refusing a stream of setpoints is sent once."""
        status = self._logic.status
        target = offboard_messages.target_from(message, status.origin, status.home_W)
        refusal = target if isinstance(target, Refusal) else self._logic.offboard(target)
        before, self._offboard_refused = self._offboard_refused, "" if refusal is None else refusal.reason
        if refusal is None:
            return []
        self.counters.bad_offboard += 1
        return self.texts.messages(Severity.WARNING, refusal.reason) if refusal.reason != before else []

    def _take_landing_target(self, message: Message) -> list[Message]:
        """As for setpoints: the reason is sent once."""
        target = landing_targets.target_from(message)
        refusal = target if isinstance(target, Refusal) else self._logic.landing_target(target)
        before, self._target_refused = self._target_refused, "" if refusal is None else refusal.reason
        if refusal is None:
            return []
        self.counters.bad_landing_targets += 1
        return self.texts.messages(Severity.WARNING, refusal.reason) if refusal.reason != before else []

    def _set_interval(self, command: Command) -> Refusal | None:
        number, interval_us = _whole(command.params[0]), command.params[1]
        if math.isnan(interval_us) or interval_us > 1e9:
            return Refusal(f"An interval of {interval_us:g} us", temporary=False)
        return None if self.rates.set_interval(number, interval_us, self._t_ns) else _UNSUPPORTED

    def _get_interval(self, command: Command) -> Refusal | None:
        number = _whole(command.params[0])
        interval_us = self.rates.interval_us(number)
        if interval_us is None:
            return _UNSUPPORTED
        self._requested.append(_M.MAVLink_message_interval_message(number, interval_us))
        return None

    def _request(self, number: float) -> Refusal | None:
        build = BUILDERS.get(_whole(number))
        if build is None:
            return _UNSUPPORTED
        message = build(self._services.view(self._t_ns))
        if message is None:
            return Refusal("Requested message is not available yet")
        self._requested.append(message)
        return None


def _whole(value: float) -> int:
    """-1, which no message has, for an invalid message number."""
    return int(value) if math.isfinite(value) and value >= 0 else -1


def _no_files(message: Message, sender: tuple[int, int]) -> Message:
    """There is no file system: every request is answered as an unknown command."""
    payload = bytes(message.payload)
    number = int.from_bytes(payload[:2], "little") + 1 & 0xFFFF
    answer = bytearray(251)
    answer[:2] = number.to_bytes(2, "little")
    answer[2:6] = payload[2], _FTP_NAK, 1, payload[3]
    answer[12] = _FTP_UNKNOWN_COMMAND
    return _M.MAVLink_file_transfer_protocol_message(0, *sender, list(answer))
