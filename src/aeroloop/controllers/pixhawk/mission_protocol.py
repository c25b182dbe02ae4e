"""MAVLink's mission protocol: upload and download item by item; time is an argument.

An upload is passed to the flight logic when it is complete, so that an aborted one leaves the old mission unchanged.
Fences and rally points are not flown here: their lists are empty and cannot be written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.limits import LATITUDE, LONGITUDE, MAX_ITEMS
from aeroloop.controllers.pixhawk.mission import Field, Problem, item_problem, vertical_limit
from aeroloop.controllers.pixhawk.statustext import StatusTexts
from aeroloop.controllers.pixhawk.types import AutopilotInterface, MissionItem, Refusal, Severity
from aeroloop.protocols.mavlink import Message

RETRY_NS = 250_000_000
GIVE_UP_NS = 5_000_000_000
"""PX4's times without progress until an item is requested again, and until the upload is aborted."""

Partner = tuple[int, int]

_M = dialect
_MISSION, _FENCE, _RALLY, _ALL = 0, 1, 2, 255
_OPEN = 2**31 - 1
"""A coordinate that its sender left open."""
_GLOBAL = frozenset(
    (
        _M.MAV_FRAME_GLOBAL,
        _M.MAV_FRAME_GLOBAL_INT,
        _M.MAV_FRAME_GLOBAL_RELATIVE_ALT,
        _M.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
    )
)
_NEEDS_PLACE = frozenset(
    (_M.MAV_CMD_NAV_WAYPOINT, _M.MAV_CMD_NAV_LOITER_UNLIM, _M.MAV_CMD_NAV_LOITER_TIME, _M.MAV_CMD_NAV_LOITER_TURNS)
)


class ItemError(Exception):
    """An item that cannot be flown: MAV_MISSION_RESULT and a sentence."""

    def __init__(self, result: int, reason: str) -> None:
        super().__init__(reason)
        self.result = result
        self.reason = reason


@dataclass(slots=True)
class _Upload:
    partner: Partner
    count: int
    progress_ns: int
    requested_ns: int
    items: list[MissionItem] = field(default_factory=list)


class MissionProtocol:
    """The mission protocol on one link."""

    def __init__(self, logic: AutopilotInterface, texts: StatusTexts) -> None:
        self._logic = logic
        self._texts = texts
        self._upload: _Upload | None = None
        # The mission being downloaded, even if it changes meanwhile.
        self._listed: tuple[MissionItem, ...] | None = None
        self._handlers = {
            "MISSION_COUNT": self._count,
            "MISSION_ITEM_INT": self._item,
            "MISSION_ITEM": self._item,
            "MISSION_REQUEST_LIST": self._list,
            "MISSION_REQUEST_INT": self._request,
            "MISSION_REQUEST": self._request,
            "MISSION_ACK": self._ended,
            "MISSION_CLEAR_ALL": self._clear,
            "MISSION_SET_CURRENT": self._set_current,
            "MISSION_WRITE_PARTIAL_LIST": self._partial,
            "MISSION_REQUEST_PARTIAL_LIST": self._partial,
        }

    @property
    def uploading(self) -> bool:
        return self._upload is not None

    def handle(self, message: Message, sender: Partner, t_ns: int) -> list[Message] | None:
        """Returns the answers; None if the message belongs to another protocol."""
        handler = self._handlers.get(message.get_type())
        return None if handler is None else handler(message, sender, t_ns)

    def step(self, t_ns: int) -> list[Message]:
        """Request a missing item again, and abort after the timeout."""
        upload = self._upload
        if upload is None or t_ns - upload.requested_ns < RETRY_NS:
            return []
        if t_ns - upload.progress_ns >= GIVE_UP_NS:
            self._upload = None
            number = len(upload.items)
            told = self._texts.messages(Severity.WARNING, f"Mission upload aborted: item {number} not received")
            return [_ack(upload.partner, _M.MAV_MISSION_OPERATION_CANCELLED), *told]
        return [self._request_item(upload, t_ns)]

    def _count(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        if message.mission_type != _MISSION:
            empty = message.mission_type in (_FENCE, _RALLY) and message.count == 0
            result = _M.MAV_MISSION_ACCEPTED if empty else _M.MAV_MISSION_UNSUPPORTED
            return [_ack(sender, result, message.mission_type)]
        if self._upload is not None and self._upload.partner != sender:
            return [_ack(sender, _M.MAV_MISSION_ERROR), *self._warn("Another mission upload is in progress")]
        self._upload = None
        if message.count > MAX_ITEMS:
            reason = f"A mission has at most {MAX_ITEMS} items"
            return [_ack(sender, _M.MAV_MISSION_NO_SPACE), *self._warn(reason)]
        if message.count == 0:
            return self._finish((), sender)
        self._upload = _Upload(sender, message.count, t_ns, t_ns)
        return [self._request_item(self._upload, t_ns)]

    def _item(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        upload = self._upload
        if message.mission_type != _MISSION:
            return [_ack(sender, _M.MAV_MISSION_UNSUPPORTED, message.mission_type)]
        if upload is None or upload.partner != sender:
            return []  # a late repetition, or of another sender
        if message.seq != len(upload.items):
            # Already received, or an earlier one was lost: the retry timer requests the missing one.
            return []
        try:
            item = item_from(message)
            if problem := item_problem(item, message.seq, upload.count):
                raise ItemError(_result(problem), problem.reason)
        except ItemError as error:
            self._upload = None
            return [_ack(sender, error.result), *self._warn(f"Mission item {message.seq}: {error.reason}")]
        upload.items.append(item)
        upload.progress_ns = t_ns
        if len(upload.items) < upload.count:
            return [self._request_item(upload, t_ns)]
        self._upload = None
        return self._finish(tuple(upload.items), sender)

    def _finish(self, items: tuple[MissionItem, ...], sender: Partner, mission_type: int = _MISSION) -> list[Message]:
        refusal = self._logic.set_mission(items)
        if refusal is None:
            return [_ack(sender, _M.MAV_MISSION_ACCEPTED, mission_type)]
        result = _M.MAV_MISSION_DENIED if refusal.supported else _M.MAV_MISSION_UNSUPPORTED
        return [_ack(sender, result, mission_type), *self._warn(refusal.reason)]

    def _list(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        count = 0
        if message.mission_type == _MISSION:
            self._listed = self._logic.mission
            count = len(self._listed)
        elif message.mission_type not in (_FENCE, _RALLY):
            return [_ack(sender, _M.MAV_MISSION_UNSUPPORTED, message.mission_type)]
        return [_M.MAVLink_mission_count_message(*sender, count, message.mission_type)]

    def _request(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        items = self._listed if self._listed is not None else self._logic.mission
        if message.mission_type != _MISSION:
            return [_ack(sender, _M.MAV_MISSION_UNSUPPORTED, message.mission_type)]
        if not 0 <= message.seq < len(items):
            return [_ack(sender, _M.MAV_MISSION_INVALID_SEQUENCE)]
        item = items[message.seq]
        current = message.seq == self._logic.status.mission_current
        if message.get_type() == "MISSION_REQUEST":
            return [_old_item(item, message.seq, current, sender)]
        return [_item_int(item, message.seq, current, sender)]

    def _ended(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        """The download is complete, or the sender of an upload cancels it."""
        self._listed = None
        if self._upload is not None and self._upload.partner == sender:
            self._upload = None
        return []

    def _clear(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        if message.mission_type in (_FENCE, _RALLY):
            return [_ack(sender, _M.MAV_MISSION_ACCEPTED, message.mission_type)]
        if message.mission_type not in (_MISSION, _ALL):
            return [_ack(sender, _M.MAV_MISSION_UNSUPPORTED, message.mission_type)]
        if self._upload is not None:
            if self._upload.partner != sender:
                return [_ack(sender, _M.MAV_MISSION_ERROR, message.mission_type)]
            self._upload = None
        return self._finish((), sender, message.mission_type)

    def _set_current(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        refusal = self.set_current(message.seq)
        if refusal is not None:
            return self._warn(refusal.reason)
        return [_M.MAVLink_mission_current_message(message.seq, len(self._logic.mission))]

    def set_current(self, number: int) -> Refusal | None:
        count = len(self._logic.mission)
        if not 0 <= number < count:
            return Refusal(f"No mission item {number}: there are {count}", temporary=False)
        return self._logic.set_current(number)

    def _partial(self, message: Message, sender: Partner, t_ns: int) -> list[Message]:
        return [_ack(sender, _M.MAV_MISSION_UNSUPPORTED, message.mission_type)]

    def _request_item(self, upload: _Upload, t_ns: int) -> Message:
        upload.requested_ns = t_ns
        return _M.MAVLink_mission_request_int_message(*upload.partner, len(upload.items), _MISSION)

    def _warn(self, reason: str) -> list[Message]:
        return self._texts.messages(Severity.WARNING, reason)


def item_from(message: Message) -> MissionItem:
    """An item of either message, checked as far as possible without the aircraft's state."""
    frame = message.frame
    if frame not in _GLOBAL and frame != _M.MAV_FRAME_MISSION:
        raise ItemError(_M.MAV_MISSION_UNSUPPORTED_FRAME, f"frame {frame} is not supported")
    params = (message.param1, message.param2, message.param3, message.param4)
    for number, value in enumerate(params, 1):
        if math.isinf(value):
            raise ItemError(_M.MAV_MISSION_INVALID_PARAM1 + number - 1, f"parameter {number} is infinite")
    x, y = float(message.x), float(message.y)
    if message.get_type() == "MISSION_ITEM_INT":
        scale = 1e7 if frame in _GLOBAL else 1.0
        x = math.nan if message.x == _OPEN else x / scale
        y = math.nan if message.y == _OPEN else y / scale
    z = message.z
    if frame in _GLOBAL:
        open_allowed = message.command not in _NEEDS_PLACE
        for field, limit, value in (
            (Field.LATITUDE, LATITUDE, x),
            (Field.LONGITUDE, LONGITUDE, y),
            (Field.ALTITUDE, vertical_limit(frame), z),
        ):
            reason = limit.problem(value)
            if reason is not None and not (open_allowed and math.isnan(value)):
                raise ItemError(_result(Problem(field, reason)), reason)
    elif math.isinf(x) or math.isinf(y) or math.isinf(z):
        raise ItemError(_M.MAV_MISSION_INVALID_PARAM5_X, "parameter 5, 6 or 7 is infinite")
    return MissionItem(message.command, frame, params, x, y, z, bool(message.autocontinue))


def _result(problem: Problem) -> int:
    match problem.field:
        case Field.COMMAND:
            result: int = _M.MAV_MISSION_UNSUPPORTED
        case Field.FRAME:
            result = _M.MAV_MISSION_UNSUPPORTED_FRAME
        case field:
            result = _M.MAV_MISSION_INVALID_PARAM1 + field - 1
    return result


def _item_int(item: MissionItem, number: int, current: bool, to: Partner) -> Message:
    scale = 1e7 if item.frame in _GLOBAL else 1.0
    return _M.MAVLink_mission_item_int_message(
        *to,
        number,
        item.frame,
        item.command,
        int(current),
        int(item.autocontinue),
        *item.params,
        _whole(item.lat_deg * scale),
        _whole(item.lon_deg * scale),
        item.alt_m,
        _MISSION,
    )


def _old_item(item: MissionItem, number: int, current: bool, to: Partner) -> Message:
    head = (*to, number, item.frame, item.command, int(current), int(item.autocontinue))
    place = (item.lat_deg, item.lon_deg, item.alt_m)
    return _M.MAVLink_mission_item_message(*head, *item.params, *place, _MISSION)


def _whole(value: float) -> int:
    return _OPEN if math.isnan(value) else round(max(-(2**31), min(2**31 - 1, value)))


def _ack(to: Partner, result: int, mission_type: int = _MISSION) -> Message:
    return _M.MAVLink_mission_ack_message(*to, result, mission_type)
