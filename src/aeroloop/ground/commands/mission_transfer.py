"""MAVLink's mission protocol, from the ground: upload, download and clear a mission."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pymavlink.dialects.v20 import common as dialect

from aeroloop.ground.commands.errors import NoAnswerError, RefusedError
from aeroloop.ground.commands.transaction import Partner, Patience, T, Transaction, enum_words
from aeroloop.ground.mission_messages import item_from, item_message
from aeroloop.ground.missions import Item
from aeroloop.protocols.mavlink import Frame, Message

KEY = "mission"
MOST_ITEMS = 10_000

_M = dialect
_MISSION = _M.MAV_MISSION_TYPE_MISSION
_ACK, _COUNT = _M.MAVLINK_MSG_ID_MISSION_ACK, _M.MAVLINK_MSG_ID_MISSION_COUNT
_REQUESTS = frozenset((_M.MAVLINK_MSG_ID_MISSION_REQUEST, _M.MAVLINK_MSG_ID_MISSION_REQUEST_INT))
_ITEMS = frozenset((_M.MAVLINK_MSG_ID_MISSION_ITEM, _M.MAVLINK_MSG_ID_MISSION_ITEM_INT))
_PASSING = frozenset((_M.MAV_MISSION_OPERATION_CANCELLED, _M.MAV_MISSION_INVALID_SEQUENCE))
"""Results about an exchange that has ended, perhaps an older one: no refusal of the present request."""


class _Transfer(Transaction[T]):
    """One at a time for each partner, so that answers are not mixed up."""

    def __init__(self, what: str, peer: Partner, me: Partner, patience: Patience) -> None:
        super().__init__(what, KEY, peer, me, patience)
        self._complaint = ""

    def _take(self, message: Message, frame: Frame, t_ns: int) -> None:
        if message.mission_type != _MISSION:
            return
        if frame.msg_id != _ACK:
            self._take_part(message, frame, t_ns)
        elif message.type == _M.MAV_MISSION_ACCEPTED:
            self._accepted()
        elif message.type in _PASSING:
            self._complaint = enum_words("MAV_MISSION_RESULT", message.type)
        else:
            self._refuse(enum_words("MAV_MISSION_RESULT", message.type), t_ns)

    @abstractmethod
    def _take_part(self, message: Message, frame: Frame, t_ns: int) -> None:
        """A request, a count or an item."""

    @abstractmethod
    def _accepted(self) -> None:
        """The autopilot accepted."""

    def _silence(self) -> str:
        return super()._silence() + (f"; last message: {self._complaint}" if self._complaint else "")


class MissionUpload(_Transfer[None]):
    """The autopilot requests one item after the other; MISSION_ACK follows the last."""

    def __init__(self, items: Sequence[Item], peer: Partner, me: Partner, patience: Patience) -> None:
        super().__init__("mission upload", peer, me, patience)
        self._items = tuple(items)
        self._at: int | None = None  # the last requested item; None: the count
        self._furthest = -1
        self._starts = 0
        self._left = patience.tries * (len(items) + 4)  # limit for an autopilot that requests items forever

    def _reads(self) -> frozenset[int]:
        return _REQUESTS | {_ACK}

    def _question(self) -> list[Message]:
        if self._at is None:
            return [_M.MAVLink_mission_count_message(*self.peer, len(self._items), _MISSION)]
        return [item_message(self._items[self._at], self._at, self.peer)]

    def _again(self, t_ns: int) -> None:
        """An autopilot that has all items, or has aborted, ignores further ones: restart the upload."""
        if self._at is not None and (self._furthest == len(self._items) - 1 or self._tries > 1):
            self._starts += 1
            if self._starts >= self.patience.tries:
                self._fail(NoAnswerError(f"{self.what}: started {self._starts} times without MISSION_ACK"))
                return
            self._at, self._furthest, self._tries = None, -1, 0
        self._send_request(t_ns)

    def _take_part(self, message: Message, frame: Frame, t_ns: int) -> None:
        if not 0 <= message.seq < len(self._items):
            self._refuse(f"it requests item {message.seq} of {len(self._items)}", t_ns)
            return
        self._left -= 1
        if self._left < 0:
            self._fail(RefusedError(f"{self.what}: the autopilot requests the same items repeatedly"))
            return
        self._at = message.seq
        self._furthest = max(self._furthest, message.seq)
        self._request_next(t_ns)

    def _accepted(self) -> None:
        if self._furthest == len(self._items) - 1:  # otherwise it belongs to an older upload
            self._finish(None)


class MissionDownload(_Transfer[tuple[Item, ...]]):
    def __init__(self, peer: Partner, me: Partner, patience: Patience) -> None:
        super().__init__("mission download", peer, me, patience)
        self._count: int | None = None
        self._items: list[Item] = []

    def _reads(self) -> frozenset[int]:
        return _ITEMS | {_COUNT, _ACK}

    def _question(self) -> list[Message]:
        if self._count is None:
            return [_M.MAVLink_mission_request_list_message(*self.peer, _MISSION)]
        return [_M.MAVLink_mission_request_int_message(*self.peer, len(self._items), _MISSION)]

    def _take_part(self, message: Message, frame: Frame, t_ns: int) -> None:
        if frame.msg_id == _COUNT:
            self._take_count(message.count, t_ns)
        elif self._count is not None and message.seq == len(self._items):
            self._items.append(item_from(message))
            self._go_on(t_ns)

    def _take_count(self, count: int, t_ns: int) -> None:
        if self._count is not None:
            return  # repeated
        if count > MOST_ITEMS:
            self._fail(RefusedError(f"{self.what}: the autopilot offers {count} items; at most {MOST_ITEMS} are read"))
            return
        self._count = count
        self._go_on(t_ns)

    def _go_on(self, t_ns: int) -> None:
        if len(self._items) == self._count:
            self._out.append(_M.MAVLink_mission_ack_message(*self.peer, _M.MAV_MISSION_ACCEPTED, _MISSION))
            self._finish(tuple(self._items))
        else:
            self._request_next(t_ns)

    def _accepted(self) -> None:
        """Of an older upload."""


class MissionClear(_Transfer[None]):
    def __init__(self, peer: Partner, me: Partner, patience: Patience) -> None:
        super().__init__("mission clear", peer, me, patience)

    def _reads(self) -> frozenset[int]:
        return frozenset((_ACK,))

    def _question(self) -> list[Message]:
        return [_M.MAVLink_mission_clear_all_message(*self.peer, _MISSION)]

    def _take_part(self, message: Message, frame: Frame, t_ns: int) -> None:
        return  # there is nothing but the result

    def _accepted(self) -> None:
        self._finish(None)
