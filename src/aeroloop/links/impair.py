"""Impairments for any link: loss, corruption, duplication, pacing, delay, jitter, reordering.

They apply to units: outbound, one send(); inbound, a unit from the cutter, for instance a frame. So a unit is lost as a
whole, and the random draws do not depend on how the kernel chunked the bytes.

    start   = max(now, end of the unit before on the wire)
    release = start + 10 bits * length / baud + delay + uniform(0, jitter), never before the unit ahead of it

Time and randomness are passed in: the same seed, units and times give the same result.

Impairments may change in flight. A direction without impairments and without bytes in transit passes bytes on at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aeroloop.core.impairment import Impairment
from aeroloop.core.signals import NS
from aeroloop.links.base import Link

QUEUE_LIMIT = 4096  # units
OVERTAKING_TIMEOUT_NS = 50_000_000
LONG_AGO_NS = -(1 << 62)  # a clock may start below zero
BITS_PER_BYTE = 10  # start bit, 8 data bits, stop bit


class Cutter(Protocol):
    """Cuts a byte stream into units."""

    def feed(self, data: bytes) -> list[bytes]:
        """The units that `data` completes, in order."""

    def rest(self) -> bytes:
        """Returns and clears the bytes of an unfinished unit."""


class WholeChunks:
    """Every chunk is a unit; suits datagrams, or where chunking does not matter."""

    def feed(self, data: bytes) -> list[bytes]:
        return [data]

    def rest(self) -> bytes:
        return b""


@dataclass(slots=True)
class LinkCounts:
    """Statistics of the units of one direction."""

    units: int = 0
    lost: int = 0
    corrupted_bytes: int = 0
    duplicated: int = 0
    reordered: int = 0
    dropped: int = 0  # the oldest, when too many were in transit


class ImpairedDirection:
    """One direction: each unit goes in at a time and comes out later, never, twice, or in another order."""

    def __init__(
        self,
        impairment: Impairment,
        rng: np.random.Generator,
        *,
        queue_limit: int = QUEUE_LIMIT,
        overtaking_timeout_ns: int = OVERTAKING_TIMEOUT_NS,
    ) -> None:
        """A unit waits for the timeout, at most, to be overtaken by the next one."""
        self.counts = LinkCounts()
        self._queue_limit, self._overtaking_timeout_ns = queue_limit, overtaking_timeout_ns
        self._rng = rng
        self._wear(impairment)
        self._queue: deque[tuple[int, bytes]] = deque()  # release time and unit, in order of release
        self._held: list[bytes] = []  # a unit waiting to be overtaken, with its duplicate
        self._held_until_ns = 0  # not before any release time in the queue
        self._busy_until_ns = self._last_release_ns = LONG_AGO_NS

    def _wear(self, impairment: Impairment) -> None:
        self._impairment = impairment
        self.active = impairment.active
        self._delay_ns = round(impairment.delay_s * NS)
        self._jitter_ns = round(impairment.jitter_s * NS)

    @property
    def plain(self) -> bool:
        """It does not change what is sent next."""
        return not (self.active or self._queue or self._held)

    def change(self, impairment: Impairment, now_ns: int) -> None:
        """Change the impairment. Units in transit keep their order, and arrive no later than with the new settings:
        after a change from a slow to a fast link they must not take hours."""
        self._let_go(now_ns)
        if self._held:
            self._enqueue_held(self._last_release_ns)
        self._wear(impairment)
        under_way, self._queue = self._queue, deque()
        self._busy_until_ns = self._last_release_ns = now_ns
        for release_ns, unit in under_way:
            self._busy_until_ns += self._wire_ns(unit)
            self._last_release_ns = max(self._last_release_ns, min(release_ns, self._busy_until_ns + self._delay_ns))
            self._queue.append((self._last_release_ns, unit))

    def draw_from(self, rng: np.random.Generator) -> None:
        """Random numbers of the next unit, where they must not depend on how many came before."""
        self._rng = rng

    def push(self, unit: bytes, now_ns: int) -> None:
        self._let_go(now_ns)
        self.counts.units += 1
        if self._happens(self._impairment.loss):
            self.counts.lost += 1
            return
        copies = [self._corrupted(unit)]
        if self._happens(self._impairment.duplicate):
            self.counts.duplicated += 1
            copies *= 2
        # A unit that overtakes is not held itself: with probability 1 neighbours swap, and none waits for ever.
        if self._happens(self._impairment.reorder) and not self._held:
            for copy in copies:
                self._release_ns(copy, now_ns)
            self._held = copies
            self._held_until_ns = self._last_release_ns + self._overtaking_timeout_ns
            return
        for copy in copies:
            self._enqueue(self._release_ns(copy, now_ns), copy)
        if self._held:
            self.counts.reordered += 1
            self._enqueue_held(self._last_release_ns)

    def pop_due(self, now_ns: int) -> list[bytes]:
        self._let_go(now_ns)
        due = []
        while self._queue and self._queue[0][0] <= now_ns:
            due.append(self._queue.popleft()[1])
        return due

    def next_due_ns(self) -> int | None:
        if self._queue:
            return self._queue[0][0]
        return self._held_until_ns if self._held else None

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self._rng.random() < probability

    def _corrupted(self, unit: bytes) -> bytes:
        if self._impairment.corrupt == 0:
            return unit
        hits = np.flatnonzero(self._rng.random(len(unit)) < self._impairment.corrupt)
        if not len(hits):
            return unit
        self.counts.corrupted_bytes += len(hits)
        is_impaired = np.frombuffer(unit, dtype=np.uint8).copy()
        is_impaired[hits] += self._rng.integers(1, 256, size=len(hits), dtype=np.uint8)  # wraps, never the same byte
        return is_impaired.tobytes()

    def _release_ns(self, unit: bytes, now_ns: int) -> int:
        self._busy_until_ns = max(now_ns, self._busy_until_ns) + self._wire_ns(unit)
        release_ns = self._busy_until_ns + self._delay_ns
        if self._jitter_ns:
            release_ns += int(self._rng.integers(self._jitter_ns, endpoint=True))
        self._last_release_ns = max(release_ns, self._last_release_ns)
        return self._last_release_ns

    def _wire_ns(self, unit: bytes) -> int:
        baud = self._impairment.baud
        return len(unit) * BITS_PER_BYTE * NS // baud if baud else 0

    def _let_go(self, now_ns: int) -> None:
        """Release the held unit when no other unit arrived to overtake it."""
        if self._held and self._held_until_ns <= now_ns:
            self._enqueue_held(self._held_until_ns)

    def _enqueue_held(self, release_ns: int) -> None:
        for unit in self._held:
            self._enqueue(release_ns, unit)
        self._held = []

    def _enqueue(self, release_ns: int, unit: bytes) -> None:
        if len(self._queue) >= self._queue_limit:
            self._queue.popleft()
            self.counts.dropped += 1
        self._queue.append((release_ns, unit))


class Impaired:
    """A link with impairments; its user polls it at `next_due_ns()`, on the clock passed in."""

    def __init__(
        self,
        link: Link,
        *,
        inbound: Impairment,
        outbound: Impairment,
        clock_ns: Callable[[], int],
        seed: int,
        cut: Callable[[], Cutter] = WholeChunks,
        cut_sent: Callable[[], Cutter] = WholeChunks,
    ) -> None:
        """`cut_sent` is for a user that sends several frames at once."""
        self.url = link.url
        self._link = link
        self._clock_ns = clock_ns
        self._cutter, self._sent_cutter = cut(), cut_sent()
        inbound_seed, outbound_seed = np.random.SeedSequence(seed).spawn(2)
        self._inbound = ImpairedDirection(inbound, np.random.default_rng(inbound_seed))
        self._outbound = ImpairedDirection(outbound, np.random.default_rng(outbound_seed))
        self.is_impaired = not (self._inbound.plain and self._outbound.plain)
        """Whether any impairment is active; normally none, which costs next to nothing."""

    @property
    def inbound_counts(self) -> LinkCounts:
        return self._inbound.counts

    @property
    def outbound_counts(self) -> LinkCounts:
        return self._outbound.counts

    @property
    def departures(self) -> int:
        """Number of peers that have left, if the link outlives them."""
        return getattr(self._link, "departures", 0)

    def change(self, *, inbound: Impairment, outbound: Impairment) -> None:
        """Change the impairments; the change itself loses nothing and keeps the order."""
        now_ns = self._clock_ns()
        for line, cutter, impairment in (
            (self._inbound, self._cutter, inbound),
            (self._outbound, self._sent_cutter, outbound),
        ):
            line.change(impairment, now_ns)
            if not impairment.active and (rest := cutter.rest()):
                line.push(rest, now_ns)
        self.is_impaired = True  # until the next poll finds nothing in transit

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        if not self.is_impaired or self._outbound.plain:
            self._link.send(data)
            return
        now_ns = self._clock_ns()
        _push(self._outbound, self._sent_cutter, data, now_ns)
        self._push_on(now_ns)

    def poll(self) -> bytes:
        data = self._link.poll()
        if not self.is_impaired:
            return data
        now_ns = self._clock_ns()
        if data:
            _push(self._inbound, self._cutter, data, now_ns)
        self._push_on(now_ns)
        arrived = b"".join(self._inbound.pop_due(now_ns))
        self.is_impaired = not (self._inbound.plain and self._outbound.plain)
        return arrived

    def next_due_ns(self) -> int | None:
        if not self.is_impaired:
            return self._link.next_due_ns()
        due = (self._inbound.next_due_ns(), self._outbound.next_due_ns(), self._link.next_due_ns())
        return min((due_ns for due_ns in due if due_ns is not None), default=None)

    def close(self) -> None:
        self._link.close()

    def _push_on(self, now_ns: int) -> None:
        for unit in self._outbound.pop_due(now_ns):
            self._link.send(unit)


def _push(line: ImpairedDirection, cutter: Cutter, data: bytes, now_ns: int) -> None:
    """Units that only wait behind others are not cut: the rest of a unit would never be fetched."""
    for unit in cutter.feed(data) if line.active else (data,):
        line.push(unit, now_ns)
