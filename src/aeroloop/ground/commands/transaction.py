"""Common base of all transactions with an autopilot: timeouts, retries and the reason of a refusal.

A transaction is a pure state machine: frames, texts and time in, messages out. It always ends, whatever the peer does.
Its owner calls `begin` once, `handle` for every frame and `step` whenever `next_ns` is reached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.ground.commands.errors import CommandError, HeldError, NoAnswerError, RefusedError
from aeroloop.ground.commands.texts import Text
from aeroloop.protocols import router_texts
from aeroloop.protocols.mavlink import Frame, Message

Partner = tuple[int, int]
"""System and component."""

T = TypeVar("T")

MOST_REASONS = 4
_READABLE = dialect.MAV_SEVERITY_WARNING


@dataclass(frozen=True, slots=True)
class Patience:
    """Timeouts and number of tries."""

    answer_s: float = 1.0  # until the request is repeated
    tries: int = 5
    progress_s: float = 10.0  # after the autopilot reported progress
    longest_s: float = 120.0  # limit in spite of progress reports
    reason_s: float = 0.3  # after a refusal, for the text that explains it

    @staticmethod
    def of(timeout_s: float) -> Patience:
        """Timeouts with about this total."""
        tries = max(1, min(100, round(timeout_s)))
        return Patience(answer_s=timeout_s / tries, tries=tries)


class Transaction(ABC, Generic[T]):
    """`what` starts its errors; of two with the same `key` and partner, one must end before the other begins."""

    def __init__(self, what: str, key: str, peer: Partner, me: Partner, patience: Patience) -> None:
        self.what, self.key, self.peer, self.me, self.patience = what, key, peer, me, patience
        self.error: CommandError | None = None
        self.done = False
        self.next_ns = 0
        self._result: T | None = None
        self._tries = 0
        self._out: list[Message] = []
        self._reasons: list[str] = []
        self._refusal = ""

    @property
    def result(self) -> T:
        """The result; raises the error on failure."""
        if self.error is not None:
            raise self.error
        assert self.done
        return self._result  # type: ignore[return-value]

    def begin(self, t_ns: int) -> None:
        self._send_request(t_ns)

    def handle(self, frame: Frame, t_ns: int) -> None:
        """Handle a frame of any sender; only the partner's are used."""
        if self.done or self._refusal or (frame.system, frame.component) != self.peer:
            return
        if frame.msg_id in self._reads() and (message := read(frame)) is not None and self._is_mine(message):
            self._take(message, frame, t_ns)

    def handle_text(self, text: Text) -> None:
        """Handle a text of the partner."""
        known = text.words in self._reasons or len(self._reasons) >= MOST_REASONS
        if text.severity <= _READABLE and not known:
            self._reasons.append(text.words)

    def step(self, t_ns: int) -> list[Message]:
        """Messages to send now."""
        if not self.done and t_ns >= self.next_ns:
            if self._refusal:
                self._fail(self._verdict())
            elif self._tries >= self.patience.tries:
                self._give_up(t_ns)
            else:
                self._again(t_ns)
        out, self._out = self._out, []
        return out

    @abstractmethod
    def _reads(self) -> frozenset[int]:
        """Message types that are read."""

    @abstractmethod
    def _take(self, message: Message, frame: Frame, t_ns: int) -> None:
        """Handle one of them, from the partner and addressed to us."""

    @abstractmethod
    def _question(self) -> list[Message]:
        """The present request."""

    def _again(self, t_ns: int) -> None:
        self._send_request(t_ns)

    def _give_up(self, t_ns: int) -> None:
        self._fail(NoAnswerError(f"{self.what}: {self._silence()}"))

    def _silence(self) -> str:
        times = "1 try" if self._tries == 1 else f"{self._tries} tries"
        return f"system {self.peer[0]} did not answer after {times}"

    def _is_mine(self, message: Message) -> bool:
        """Whether it is addressed to this ground station, or to all."""
        system, component = getattr(message, "target_system", 0), getattr(message, "target_component", 0)
        return system in (0, self.me[0]) and component in (0, self.me[1])

    def _send_request(self, t_ns: int) -> None:
        self._tries += 1
        self._out += self._question()
        self._wait(t_ns, self.patience.answer_s)

    def _request_next(self, t_ns: int) -> None:
        """The previous request was answered."""
        self._tries = 0
        self._send_request(t_ns)

    def _wait(self, t_ns: int, seconds: float) -> None:
        self.next_ns = t_ns + round(seconds * NS)

    def _finish(self, result: T) -> None:
        self._result, self.done = result, True

    def _refuse(self, reason: str, t_ns: int) -> None:
        """End a moment later: the explaining text may follow the answer."""
        self._refusal = reason
        self._wait(t_ns, self.patience.reason_s)

    def _verdict(self) -> RefusedError:
        for words in self._reasons:
            if (who := router_texts.holder(words)) is not None:
                return HeldError(f"{self.what}: the router refused: {who} has control; take command first", who)
            if words.startswith(router_texts.PREFIX):
                return RefusedError(f"{self.what}: the router refused: {words.removeprefix(router_texts.PREFIX)}")
        return RefusedError(f"{self.what}: the autopilot refused: {'; '.join(self._reasons) or self._refusal}")

    def _fail(self, error: CommandError) -> None:
        self.error, self.done = error, True


def read(frame: Frame) -> Message | None:
    """None for a frame with invalid content."""
    try:
        return frame.message()
    except dialect.MAVError:
        return None


def enum_words(enum: str, number: int) -> str:
    """A MAVLink enum value as plain text: `temporarily rejected`."""
    entry = dialect.enums[enum].get(number)
    if entry is None:
        return f"{enum} {number}"
    prefix = enum.removesuffix("_RESULT") if enum != "MAV_RESULT" else enum
    return str(entry.name).removeprefix(f"{prefix}_").lower().replace("_", " ")
