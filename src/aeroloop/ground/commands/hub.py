"""One ground station's end of a link, without the link: bytes and time in, bytes out.

It hears every aircraft, keeps what each tells, and holds the conversations that are under way.
"""

from __future__ import annotations

from typing import Any

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.ground.commands.commands import ACK, CommandTalk, Strays, key_of
from aeroloop.ground.commands.conversation import Conversation, Partner, read
from aeroloop.ground.commands.state import Tracker, VehicleState, is_autopilot
from aeroloop.ground.commands.taking_command import ANSWER
from aeroloop.ground.commands.texts import Text
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut, Message

GROUND: Partner = (254, dialect.MAV_COMP_ID_MISSIONPLANNER)
"""Who we are. QGroundControl signs as 255 and MAVSDK as 245: with a number of our own, answers to them are not ours."""
HEARTBEAT_NS = NS
UNFINISHED_NS = NS // 10
"""A frame that has not come whole after so long was none."""

_HEARTBEAT = dialect.MAVLINK_MSG_ID_HEARTBEAT


class Hub:
    def __init__(self, me: Partner = GROUND) -> None:
        self.me = me
        self.counters = MavlinkCounters()
        self._in = MavlinkIn(self.counters)
        self._out = MavlinkOut(self.counters, *me)
        self._trackers: dict[int, Tracker] = {}
        self._talks: list[Conversation[Any]] = []
        self._strays: dict[tuple[int, str], Strays] = {}
        self._waiting: list[Message] = []
        self._heartbeat_ns: int | None = None
        self._heard_ns = 0

    @property
    def systems(self) -> tuple[int, ...]:
        """Aircraft that were heard, the first first."""
        return tuple(self._trackers)

    @property
    def busy(self) -> int:
        """Conversations under way."""
        return len(self._talks)

    def state(self, system: int) -> VehicleState:
        """KeyError for one that was never heard."""
        return self._trackers[system].state

    def begin(self, talk: Conversation[Any], t_ns: int) -> None:
        if isinstance(talk, CommandTalk):
            talk.begin(t_ns, self._strays.pop((talk.peer[0], talk.key), None))
        else:
            talk.begin(t_ns)
        self._talks.append(talk)

    def drop(self, talk: Conversation[Any], t_ns: int) -> None:
        """Whoever asked does not wait any more."""
        if talk in self._talks:
            self._talks.remove(talk)
            self._remember(talk, t_ns)

    def send(self, message: Message) -> None:
        """Without an answer; with the next step."""
        self._waiting.append(message)

    def receive(self, chunk: bytes, t_ns: int) -> bool:
        """Whether anything came that somebody may wait for."""
        frames = self._in.feed(chunk)
        if chunk:
            self._heard_ns = t_ns
        for frame in frames:
            self._hear(frame, t_ns)
        return bool(frames)

    def step(self, t_ns: int) -> list[bytes]:
        """Frames to be sent now."""
        if t_ns - self._heard_ns >= UNFINISHED_NS:
            self._heard_ns = t_ns
            for frame in self._in.give_up():
                self._hear(frame, t_ns)
        messages, self._waiting = self._waiting, []
        if self._heartbeat_ns is None or t_ns - self._heartbeat_ns >= HEARTBEAT_NS:
            self._heartbeat_ns = t_ns
            messages.append(_heartbeat())
        for system, tracker in self._trackers.items():
            self._tell(system, tracker.step(t_ns))
        for talk in self._talks:
            messages += talk.step(t_ns)
            if talk.done:
                self._remember(talk, t_ns)
        self._talks = [talk for talk in self._talks if not talk.done]
        return list(map(self._out.pack, messages))

    def next_ns(self, t_ns: int) -> int:
        """When `step` has something to do, if nothing comes before."""
        times = [talk.next_ns for talk in self._talks]
        times += [at_ns for tracker in self._trackers.values() if (at_ns := tracker.next_ns) is not None]
        heartbeat = t_ns if self._heartbeat_ns is None else self._heartbeat_ns + HEARTBEAT_NS
        return t_ns if self._waiting else min(heartbeat, *times) if times else heartbeat

    def _hear(self, frame: Frame, t_ns: int) -> None:
        if frame.msg_id == ANSWER:
            for talk in self._talks:
                talk.hear(frame, t_ns)
            return
        tracker = self._trackers.get(frame.system)
        if tracker is None:
            if frame.msg_id != _HEARTBEAT or not is_autopilot(frame):
                return
            tracker = self._trackers[frame.system] = Tracker((frame.system, frame.component), t_ns)
            self._heartbeat_ns = None  # a link that listens could send nothing until now
        if frame.component != tracker.state.component:
            return
        if frame.msg_id == ACK:
            self._count_stray(frame)
        for talk in self._talks:
            talk.hear(frame, t_ns)
        self._tell(frame.system, tracker.hear(frame, t_ns))

    def _tell(self, system: int, texts: list[Text]) -> None:
        for text in texts:
            for talk in self._talks:
                if talk.peer[0] == system:
                    talk.hear_text(text)

    def _remember(self, talk: Conversation[Any], t_ns: int) -> None:
        if isinstance(talk, CommandTalk):
            self._strays[talk.peer[0], talk.key] = talk.strays(t_ns)

    def _count_stray(self, frame: Frame) -> None:
        """An acknowledgement that nobody waits for any more."""
        message = read(frame)
        if message is None or message.target_system not in (0, self.me[0]):
            return
        if strays := self._strays.get((frame.system, key_of(message.command))):
            strays.count -= 1


def _heartbeat() -> Message:
    return dialect.MAVLink_heartbeat_message(
        dialect.MAV_TYPE_GCS, dialect.MAV_AUTOPILOT_INVALID, 0, 0, dialect.MAV_STATE_ACTIVE, 3
    )
