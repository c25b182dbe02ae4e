"""A ground station: one link, one thread that reads it, any number of aircraft and of callers.

The thread alone touches the link. Callers pass it transactions and wait; everything shared is behind one Condition.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS
from aeroloop.ground.commands.commands import CommandTransaction
from aeroloop.ground.commands.errors import HeldError, NoAnswerError
from aeroloop.ground.commands.hub import GROUND, Hub
from aeroloop.ground.commands.state import VehicleState
from aeroloop.ground.commands.taking_command import RequestCommand
from aeroloop.ground.commands.transaction import Partner, Patience, Transaction
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.protocols.mavlink import MavlinkCounters, Message

if TYPE_CHECKING:
    from aeroloop.ground.commands.vehicle import Vehicle

LONGEST_SLEEP_S = 0.2
DATAGRAM_B = 1400
"""Bytes sent together: one datagram of a UDP link."""

T = TypeVar("T")


class Station:
    def __init__(self, link: Link, *, me: Partner = GROUND, patience: Patience | None = None) -> None:
        """Owns the link from now on, and sends a ground station's heartbeat."""
        self.url = link.url
        self.patience = patience or Patience()
        self._link = link
        self._hub = Hub(me)
        self._changed = threading.Condition()
        self._keys: set[tuple[int, str]] = set()
        self._closing = False
        self._holder = ""
        self._lost = ""  # reason why the thread ended
        self._bell = os.eventfd(0, os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name=f"station {link.url}", daemon=True)
        self._thread.start()

    @staticmethod
    def connect(
        url: str, timeout_s: float = 10.0, *, me: Partner = GROUND, patience: Patience | None = None
    ) -> Station:
        """Wait for the first aircraft; NoAnswerError on timeout."""
        station = Station(open_link(url), me=me, patience=patience)
        try:
            station.wait_for(bool, lambda: station._hub.systems, timeout_s, "connect: no HEARTBEAT received")
        except BaseException:
            station.close()
            raise
        return station

    def __enter__(self) -> Station:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def me(self) -> Partner:
        return self._hub.me

    @property
    def counters(self) -> MavlinkCounters:
        return self._hub.counters

    @property
    def lost(self) -> str:
        """Reason why the link was lost; empty while it is connected."""
        return self._lost

    @property
    def holder(self) -> str:
        """The program that has control instead of us, by the last refusal; empty if we have it, or if there was no
        refusal."""
        return self._holder

    def now_ns(self) -> int:
        """The clock of every time in a VehicleState."""
        return time.monotonic_ns()

    def systems(self) -> tuple[int, ...]:
        """Aircraft received so far, in order."""
        with self._changed:
            return self._hub.systems

    def vehicle(self, system: int | None = None, timeout_s: float = 10.0) -> Vehicle:
        """The aircraft with that system ID, or the first one received; waits for its first message."""
        from aeroloop.ground.commands.vehicle import Vehicle

        def there(systems: tuple[int, ...]) -> bool:
            return bool(systems) if system is None else system in systems

        who = "no aircraft" if system is None else f"system {system}"
        heard = self.wait_for(there, lambda: self._hub.systems, timeout_s, f"connect: {who} not received")
        return Vehicle(self, heard[0] if system is None else system)

    def state(self, system: int) -> VehicleState:
        with self._changed:
            return self._hub.state(system)

    def wait_for(self, fulfilled: Callable[[T], bool], look: Callable[[], T], timeout_s: float, otherwise: str) -> T:
        """The result of `look` once it fulfils the condition; `otherwise` begins the NoAnswerError after the
        timeout."""
        end_s = time.monotonic() + timeout_s
        with self._changed:
            while not fulfilled(seen := look()):
                self._check(otherwise)
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    raise NoAnswerError(f"{otherwise} on {self.url} within {timeout_s:g} s")
                self._changed.wait(left_s)
            return seen

    def transact(self, transaction: Transaction[T], watch: Callable[[], None] | None = None) -> T:
        """Run a transaction and return its result; `watch` is called in this thread whenever something was received."""
        key = transaction.peer[0], transaction.key
        with self._changed:
            self._changed.wait_for(lambda: key not in self._keys or self._closed)
            self._check(transaction.what)
            self._keys.add(key)
            try:
                self._hub.begin(transaction, self.now_ns())
                self._ring()
                while not transaction.done:
                    self._check(transaction.what)
                    self._changed.wait()
                    if watch is not None:
                        self._unlocked(watch)
            finally:
                self._hub.drop(transaction, self.now_ns())
                self._keys.discard(key)
                self._changed.notify_all()
        try:
            result = transaction.result
        except HeldError as error:
            self._holder = error.holder
            raise
        if isinstance(transaction, (CommandTransaction, RequestCommand)):
            self._holder = ""
        return result

    def take_command(self) -> None:
        """Take control for this station at its router; CommandError if the router refuses."""
        self.transact(RequestCommand(self.me, self.patience))

    def send(self, message: Message) -> None:
        """Send once, without an answer."""
        with self._changed:
            self._check("send")
            self._hub.send(message)
            self._ring()

    def close(self) -> None:
        """Ends the thread and closes the link; closing twice is harmless. Waiting callers get an error."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            self._ring()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with self._changed:
            if self._bell >= 0:
                os.close(self._bell)
                self._bell = -1

    @property
    def _closed(self) -> bool:
        return self._closing or bool(self._lost)

    def _check(self, what: str) -> None:
        if self._lost:
            raise NoAnswerError(f"{what}: the link was lost: {self._lost}")
        if self._closing:
            raise NoAnswerError(f"{what}: the link to {self.url} was closed")

    def _unlocked(self, deed: Callable[[], None]) -> None:
        self._changed.release()
        try:
            deed()
        finally:
            self._changed.acquire()

    def _ring(self) -> None:
        """Wake the thread, under the lock: a closed descriptor may have been reused."""
        if self._bell >= 0:
            os.eventfd_write(self._bell, 1)

    def _run(self) -> None:
        try:
            while not self._closing:
                self._turn()
        except LinkError as error:
            self._lost = str(error)
        except Exception as error:
            self._lost = f"{error!r}"
            raise
        finally:
            self._link.close()
            with self._changed:
                self._changed.notify_all()

    def _turn(self) -> None:
        chunk = self._link.poll()
        with self._changed:
            t_ns = self.now_ns()
            news = self._hub.receive(chunk, t_ns)
            before = self._hub.busy
            frames = self._hub.step(t_ns)
            if news or before != self._hub.busy:
                self._changed.notify_all()
            next_ns = self._hub.next_ns(t_ns)
        for datagram in _datagrams(frames):
            self._link.send(datagram)
        if chunk:
            return  # there may be more
        due_ns = self._link.next_due_ns()
        until_ns = next_ns if due_ns is None else min(next_ns, due_ns)
        self._sleep((until_ns - self.now_ns()) / NS)

    def _sleep(self, seconds: float) -> None:
        """Sleep until something is received, a caller wakes the thread, or the timeout. The link's descriptor may
        change."""
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        if (descriptor := self._link.fileno()) >= 0:
            poll.register(descriptor, select.POLLIN)
        poll.poll(1000 * max(0.0, min(LONGEST_SLEEP_S, seconds)))
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)


def _datagrams(frames: list[bytes]) -> list[bytes]:
    """Frames together, but none is split."""
    datagrams: list[bytes] = []
    for frame in frames:
        if datagrams and len(datagrams[-1]) + len(frame) <= DATAGRAM_B:
            datagrams[-1] += frame
        else:
            datagrams.append(frame)
    return datagrams
