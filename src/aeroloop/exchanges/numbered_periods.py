"""What the exchanges with a board on the plant's clock share: each control period has a number, and its work an end.

A board returns the last sixteen bits of a period's number. Where the plant waits, time advances when the board reports
that the period's work is done; over an impaired link it waits by a baton, since messages of the board may be lost or
late.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.core.waiting import readable
from aeroloop.exchanges.board_faults import passed_on
from aeroloop.exchanges.wire import Wire
from aeroloop.links.base import Link
from aeroloop.protocols.board import CYCLES
from aeroloop.protocols.handshake import Claim, Presence, objection
from aeroloop.protocols.interface import Interface
from aeroloop.sim.exchange import Row, Stopped

COUNTERS_PERIOD_NS = NS
POLL_S = 0.2


class Flown(Protocol):
    """The part of a vehicle that these exchanges use."""

    t_ns: int
    ended: str

    def log_event(self, event: Event, value: float) -> None: ...


class BenchEnd(Protocol):
    """The bench's end of the protocol."""

    def new_board(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodSettings:
    period_ns: int
    end_ns: int
    waits: bool  # for the board's message that a period's work is done
    silence_ns: int = NS  # simulated time without a message after which a board that is not waited for has failed
    expected_image: int = 0  # image hash that the board must report; 0 accepts any
    board: str = "board"


S = TypeVar("S", bound=PeriodSettings)
E = TypeVar("E", bound=BenchEnd)


def await_bytes(link: Link) -> float:
    """Wait for a moment, or until bytes are readable; returns the time waited in s."""
    began_s = time.monotonic()
    if link.fileno() < 0:  # a board in this process, which has answered or never will
        time.sleep(POLL_S)
    else:
        readable([link.fileno()], POLL_S)
    return min(time.monotonic() - began_s, POLL_S)  # time for which the whole bench is suspended does not count


class NumberedPeriods(Generic[S, E]):
    """One board on one link. A subclass says what the bytes mean (`_receive`) and what a period sends (`serve`)."""

    interface: ClassVar[Interface]
    patience_s: ClassVar[float]
    """Wall time after which a board that does not end a control period in lockstep counts as hung."""
    unswitchable: ClassVar[str]
    """Why faults of a link without impairments cannot be switched."""
    cuts = True  # a control period need not be a multiple of the vehicle's step
    locked = True

    def __init__(self, vehicle: Flown, wire: Wire, settings: S, end: E) -> None:
        self._vehicle, self._settings, self.protocol = vehicle, settings, end
        self._link, self._bare, self._faults, self._barrier = wire.link, wire.bare, wire.faults, wire.barrier
        self._presence = Presence(settings.period_ns)
        self._started = False
        self.over = False
        self.command: Row | None = None
        self.cycle = -1  # the current control period
        self._answered = self._done = -1
        self._next_ns = self._received_ns = self._counters_ns = 0

    def _receive(self, chunk: bytes) -> bool:
        """Whether the bytes contain any message. Bytes alone do not prove that the board works."""
        raise NotImplementedError

    def _note_counters(self) -> None:
        raise NotImplementedError

    def _note_restart(self) -> None:
        """A board that flew has started again."""

    def settle(self, stopped: Stopped) -> None:
        """Wait until the board reports that this period's work is done, or has returned the baton."""
        if self._barrier is not None and not self._vehicle.ended and self._vehicle.t_ns < self._settings.end_ns:
            self._barrier.settle(self._vehicle.t_ns)
        waited_s, seen_s = 0.0, time.monotonic()
        while self._settings.waits and self._done < self.cycle and not stopped():
            self._receive(self._link.poll())
            if self._done >= self.cycle:
                return
            if waited_s >= self.patience_s:
                raise LinkError(
                    f"the {self._settings.board} has not ended control period {self.cycle} within "
                    f"{self.patience_s:g} s (at {self._vehicle.t_ns / NS:.2f} s of the flight)"
                )
            await_bytes(self._link)
            before_s, seen_s = seen_s, time.monotonic()
            waited_s += min(seen_s - before_s, POLL_S)

    def switch(self, switch: Switch) -> Switched:
        if self._faults is None:
            raise ConfigError(f"{switch.target}: {self.unswitchable}")
        return self._faults.switch(switch)

    @property
    def boards_fail(self) -> bool:
        return self._barrier is not None

    def switch_board(self, switch: Switch) -> Switched:
        return passed_on(switch, self._barrier)

    def finish(self) -> None:
        self._note_counters()
        if self._barrier is not None:
            self._barrier.close()

    def close(self) -> None:
        self._link.close()

    def _count_each_second(self) -> None:
        t_ns = self._vehicle.t_ns
        if t_ns >= self._counters_ns:
            self._counters_ns = (t_ns // COUNTERS_PERIOD_NS + 1) * COUNTERS_PERIOD_NS
            self._note_counters()

    def _check_silence(self) -> None:
        """For a board that keeps its own time."""
        settings, t_ns = self._settings, self._vehicle.t_ns
        if t_ns - self._received_ns > settings.silence_ns:
            raise LinkError(
                f"the {settings.board} has sent nothing on {self._link.url} for {settings.silence_ns / NS:g} s "
                f"(at {t_ns / NS:.2f} s of the flight)"
            )

    def _no_start(self, timeout_s: float) -> LinkError:
        return LinkError(
            f"no start message from the {self._settings.board} over {self._bare.url} within {timeout_s:g} s; "
            "is it running?"
        )

    def _note_unanswered(self) -> None:
        """A control period begins: say so if the one before had no command."""
        if self.cycle >= 0 and self._answered < self.cycle:
            self._vehicle.log_event(Event.SENSORS_LOST, self.cycle)

    def _answers(self, cycle: int) -> bool:
        """A command of the period with these last sixteen bits: whether it is newer than the ones before."""
        number = self._number(cycle)
        newer = number > self._answered
        self._answered = max(self._answered, number)
        return newer

    def _ends(self, cycle: int) -> None:
        self._done = max(self._done, self._number(cycle))

    def _number(self, cycle: int) -> int:
        """The number of a control period from its last sixteen bits; -1 if that period has not begun."""
        behind = (self.cycle - cycle) % CYCLES
        return self.cycle - behind if behind < CYCLES // 2 else -1

    def _check_start(self, claim: Claim) -> None:
        """Check the start message of a board; a second one from the same board is a restart."""
        reason = objection(self.interface, claim, self._settings.expected_image)
        if reason:
            raise LinkError(reason)
        self._started = True
        if self._presence.restarted(claim, self._vehicle.t_ns):
            self.protocol.new_board()
            self._note_restart()
            self._vehicle.log_event(Event.BOARD_RESTARTED, claim.cause)
