"""MAVLink interface of an aircraft on one of our boards: rows of the flight and frames in, bytes out; no I/O.

Its board takes references, goals or nothing, on its own links. So telemetry is sent over MAVLink, and every command is
refused as the protocols define: no parameters, an empty mission, unsupported commands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.law.telemetry_messages import (
    BUILDERS,
    SCHEDULED_MESSAGES,
    Aircraft,
    Row,
    ScheduledMessage,
    View,
)
from aeroloop.controllers.pixhawk.message_rates import MessageRates
from aeroloop.core.signals import NS, Event
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut, Message

COMPONENT = dialect.MAV_COMP_ID_AUTOPILOT1
NO_COMMANDS = "this aircraft takes no commands over MAVLink"
NO_PARAMETERS = "this board has no parameters: see the scenario"
SAID_AGAIN_NS = NS
"""Minimum time between two equal texts."""
_D = dialect
_EVENTS = ("event", "board_event")
_CALM = frozenset({Event.STARTED, Event.SENSORS_BACK, Event.REFERENCE_BACK})
_UNANSWERED = frozenset({"SET_MODE", "MANUAL_CONTROL", "RC_CHANNELS_OVERRIDE", "SET_ATTITUDE_TARGET"})
"""Commands without an acknowledgement in the protocol, besides SET_POSITION_TARGET_*: refused with a text."""
_MISSION_REFUSED = frozenset(
    {"MISSION_COUNT", "MISSION_CLEAR_ALL", "MISSION_SET_CURRENT", "MISSION_WRITE_PARTIAL_LIST"}
)


class BoardTelemetry:
    """The telemetry of one aircraft on one link. Times are wall-clock times; those in messages are the flight's."""

    def __init__(self, aircraft: Aircraft) -> None:
        self._aircraft = aircraft
        self.counters = MavlinkCounters()
        self._in = MavlinkIn(self.counters)
        self._out = MavlinkOut(self.counters, aircraft.system, COMPONENT)
        self._rates: MessageRates[ScheduledMessage] = MessageRates(SCHEDULED_MESSAGES)
        self._rows: dict[str, Row] = {}
        self._ground_m: float | None = None
        self._waiting: list[Message] = []
        self._said_ns: dict[str, int] = {}

    def take(self, stream: str, names: Sequence[str], row: Sequence[float], t_ns: int) -> None:
        """Accept a row of the flight."""
        values = dict(zip(names, row, strict=True))
        if stream in _EVENTS:
            self._tell_event(int(values["code"]), values["value"], t_ns)
            return
        self._rows[stream] = values
        if self._ground_m is None and math.isfinite(ground_m := values.get("ground_m", math.nan)):
            self._ground_m = ground_m

    def receive(self, chunk: bytes, t_ns: int) -> bytes:
        """Handle bytes of ground stations; returns the answers."""
        answers = [message for frame in self._in.feed(chunk) for message in self._answers(frame, t_ns)]
        return b"".join(map(self._out.pack, answers))

    def step(self, t_ns: int) -> bytes:
        """The messages that are due."""
        messages, self._waiting = self._waiting, []
        due = self._rates.due(t_ns)
        if due:
            view = self._view()
            messages += [message for scheduled in due if (message := scheduled.build(view)) is not None]
        return b"".join(map(self._out.pack, messages))

    def _view(self) -> View:
        return View(self._aircraft, self._rows, self._ground_m or 0.0)

    def _tell_event(self, code: int, value: float, t_ns: int) -> None:
        try:
            event = Event(code)
        except ValueError:  # an external family may have its own events
            return
        severity = _D.MAV_SEVERITY_INFO if event in _CALM else _D.MAV_SEVERITY_WARNING
        self._say(f"{event.name.lower().replace('_', ' ')}", t_ns, severity, f" ({value:.6g})")

    def _say(self, text: str, t_ns: int, severity: int = _D.MAV_SEVERITY_WARNING, rest: str = "") -> None:
        if t_ns - self._said_ns.get(text, -SAID_AGAIN_NS) >= SAID_AGAIN_NS:
            self._said_ns[text] = t_ns
            self._waiting.append(
                _D.MAVLink_statustext_message(severity, f"{text}{rest}".encode("ascii", "replace")[:50])
            )

    def _answers(self, frame: Frame, t_ns: int) -> list[Message]:
        try:
            message = frame.message()
        except _D.MAVError:
            return []
        sender = frame.system, frame.component
        if sender == (self._aircraft.system, COMPONENT) or not self._is_meant(message):
            return []
        kind: str = message.get_type()
        if kind in ("COMMAND_LONG", "COMMAND_INT"):
            return self._obey(message, sender, t_ns)
        if kind.startswith("MISSION_"):
            return _of_missions(kind, message, sender)
        if kind == "PARAM_REQUEST_LIST":
            self._say(NO_PARAMETERS, t_ns, _D.MAV_SEVERITY_NOTICE)
        elif kind in ("PARAM_REQUEST_READ", "PARAM_SET"):
            name, index = message.param_id.encode("ascii", "replace"), getattr(message, "param_index", -1)
            return [_D.MAVLink_param_error_message(*sender, name, index, _D.MAV_PARAM_ERROR_DOES_NOT_EXIST)]
        elif kind == "REQUEST_DATA_STREAM":
            rate_Hz = min(message.req_message_rate, 1000) if message.start_stop else 0
            self._rates.set_group(message.req_stream_id, rate_Hz, t_ns)
        elif kind == "TIMESYNC" and not message.tc1:
            return [_D.MAVLink_timesync_message(t_ns, message.ts1)]
        elif kind == "PING" and message.target_system == 0 and message.target_component == 0:
            return [_D.MAVLink_ping_message(message.time_usec, message.seq, *sender)]
        elif kind in _UNANSWERED or kind.startswith("SET_POSITION_TARGET"):
            self._say(NO_COMMANDS, t_ns)
        return []

    def _is_meant(self, message: Message) -> bool:
        system = getattr(message, "target_system", getattr(message, "target", 0))
        return system in (0, self._aircraft.system) and getattr(message, "target_component", 0) in (0, COMPONENT)

    def _obey(self, message: Message, sender: tuple[int, int], t_ns: int) -> list[Message]:
        """Only requests for messages and their rates are accepted."""
        number = int(message.param1) if math.isfinite(message.param1) else -1
        told: list[Message] = []
        result = _D.MAV_RESULT_UNSUPPORTED
        if message.command == _D.MAV_CMD_REQUEST_MESSAGE and number in BUILDERS:
            built = BUILDERS[number](self._view())
            told = [built] if built is not None else []
            result = _D.MAV_RESULT_ACCEPTED if told else _D.MAV_RESULT_TEMPORARILY_REJECTED
        elif message.command == _D.MAV_CMD_SET_MESSAGE_INTERVAL:
            offered = math.isfinite(message.param2) and self._rates.set_interval(number, message.param2, t_ns)
            result = _D.MAV_RESULT_ACCEPTED if offered else _D.MAV_RESULT_UNSUPPORTED
        else:
            self._say(NO_COMMANDS, t_ns)
        return [_D.MAVLink_command_ack_message(message.command, result, 0, 0, *sender), *told]


def _of_missions(kind: str, message: Message, sender: tuple[int, int]) -> list[Message]:
    """The mission is empty, and none is accepted."""
    of_kind = getattr(message, "mission_type", 0)
    if kind == "MISSION_REQUEST_LIST":
        return [_D.MAVLink_mission_count_message(*sender, 0, of_kind)]
    if kind in ("MISSION_REQUEST", "MISSION_REQUEST_INT"):
        return [_D.MAVLink_mission_ack_message(*sender, _D.MAV_MISSION_INVALID_SEQUENCE, of_kind)]
    if kind in _MISSION_REFUSED:
        return [_D.MAVLink_mission_ack_message(*sender, _D.MAV_MISSION_UNSUPPORTED, of_kind)]
    return []
