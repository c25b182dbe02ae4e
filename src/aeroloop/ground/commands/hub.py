"""One ground station's end of a link, without the link: bytes and time in, bytes out.

It receives from every aircraft, keeps the state of each, and has the transactions in progress.
"""

from __future__ import annotations

from typing import Any

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.ground.commands.commands import ACK, CommandTransaction, LateAcknowledgements, key_of
from aeroloop.ground.commands.state import Tracker, VehicleState, is_autopilot
from aeroloop.ground.commands.taking_command import ANSWER
from aeroloop.ground.commands.texts import Text
from aeroloop.ground.commands.transaction import Partner, Transaction, read
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut, Message

GROUND: Partner = (254, dialect.MAV_COMP_ID_MISSIONPLANNER)
"""Our IDs. QGroundControl uses system 255 and MAVSDK 245: with different IDs, answers to them are not taken for
ours."""
HEARTBEAT_NS = NS
UNFINISHED_NS = NS // 10
"""Timeout of an incomplete frame."""

_HEARTBEAT = dialect.MAVLINK_MSG_ID_HEARTBEAT


class Hub:
    def __init__(self, me: Partner = GROUND) -> None:
        self.me = me
        self.counters = MavlinkCounters()
        self._in = MavlinkIn(self.counters)
        self._out = MavlinkOut(self.counters, *me)
        self._trackers: dict[int, Tracker] = {}
        self._transactions: list[Transaction[Any]] = []
        self._strays: dict[tuple[int, str], LateAcknowledgements] = {}
        self._waiting: list[Message] = []
        self._heartbeat_ns: int | None = None
        self._heard_ns = 0

    @property
    def systems(self) -> tuple[int, ...]:
        """Aircraft received so far, in order."""
        return tuple(self._trackers)

    @property
    def busy(self) -> int:
        """Number of transactions in progress."""
        return len(self._transactions)

    def state(self, system: int) -> VehicleState:
        """State of an aircraft; KeyError if nothing was received from it."""
        return self._trackers[system].state

    def begin(self, transaction: Transaction[Any], t_ns: int) -> None:
        if isinstance(transaction, CommandTransaction):
            transaction.begin(t_ns, self._strays.pop((transaction.peer[0], transaction.key), None))
        else:
            transaction.begin(t_ns)
        self._transactions.append(transaction)

    def drop(self, transaction: Transaction[Any], t_ns: int) -> None:
        """Drop a transaction: the caller no longer waits."""
        if transaction in self._transactions:
            self._transactions.remove(transaction)
            self._remember(transaction, t_ns)

    def send(self, message: Message) -> None:
        """Send without an answer, with the next step."""
        self._waiting.append(message)

    def receive(self, chunk: bytes, t_ns: int) -> bool:
        """Handle received bytes; returns whether a waiting caller may need them."""
        frames = self._in.feed(chunk)
        if chunk:
            self._heard_ns = t_ns
        for frame in frames:
            self._handle(frame, t_ns)
        return bool(frames)

    def step(self, t_ns: int) -> list[bytes]:
        """Frames to send now."""
        if t_ns - self._heard_ns >= UNFINISHED_NS:
            self._heard_ns = t_ns
            for frame in self._in.give_up():
                self._handle(frame, t_ns)
        messages, self._waiting = self._waiting, []
        if self._heartbeat_ns is None or t_ns - self._heartbeat_ns >= HEARTBEAT_NS:
            self._heartbeat_ns = t_ns
            messages.append(_heartbeat())
        for system, tracker in self._trackers.items():
            self._deliver_texts(system, tracker.step(t_ns))
        for transaction in self._transactions:
            messages += transaction.step(t_ns)
            if transaction.done:
                self._remember(transaction, t_ns)
        self._transactions = [transaction for transaction in self._transactions if not transaction.done]
        return list(map(self._out.pack, messages))

    def next_ns(self, t_ns: int) -> int:
        """Time of the next `step` if nothing arrives before."""
        times = [transaction.next_ns for transaction in self._transactions]
        times += [at_ns for tracker in self._trackers.values() if (at_ns := tracker.next_ns) is not None]
        heartbeat = t_ns if self._heartbeat_ns is None else self._heartbeat_ns + HEARTBEAT_NS
        return t_ns if self._waiting else min(heartbeat, *times) if times else heartbeat

    def _handle(self, frame: Frame, t_ns: int) -> None:
        if frame.msg_id == ANSWER:
            for transaction in self._transactions:
                transaction.handle(frame, t_ns)
            return
        tracker = self._trackers.get(frame.system)
        if tracker is None:
            if frame.msg_id != _HEARTBEAT or not is_autopilot(frame):
                return
            tracker = self._trackers[frame.system] = Tracker((frame.system, frame.component), t_ns)
            self._heartbeat_ns = None  # a listening link could not send until now
        if frame.component != tracker.state.component:
            return
        if frame.msg_id == ACK:
            self._count_stray(frame)
        for transaction in self._transactions:
            transaction.handle(frame, t_ns)
        self._deliver_texts(frame.system, tracker.handle(frame, t_ns))

    def _deliver_texts(self, system: int, texts: list[Text]) -> None:
        for text in texts:
            for transaction in self._transactions:
                if transaction.peer[0] == system:
                    transaction.handle_text(text)

    def _remember(self, transaction: Transaction[Any], t_ns: int) -> None:
        if isinstance(transaction, CommandTransaction):
            self._strays[transaction.peer[0], transaction.key] = transaction.strays(t_ns)

    def _count_stray(self, frame: Frame) -> None:
        """Count an acknowledgement that no transaction waits for."""
        message = read(frame)
        if message is None or message.target_system not in (0, self.me[0]):
            return
        if strays := self._strays.get((frame.system, key_of(message.command))):
            strays.count -= 1


def _heartbeat() -> Message:
    return dialect.MAVLink_heartbeat_message(
        dialect.MAV_TYPE_GCS, dialect.MAV_AUTOPILOT_INVALID, 0, 0, dialect.MAV_STATE_ACTIVE, 3
    )
