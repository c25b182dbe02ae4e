"""Statistics of every link and of every message on it. Memory is bounded, and a frame costs three additions.

Rates are those of the last two seconds: `RateWindow` samples the counters twice a second.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from aeroloop.core.signals import NS
from aeroloop.router.config import COMMANDS, ROLES, EndpointConfig

LINKS = "links.json"
"""File beside the router's socket: the constant properties of its links."""

Row = tuple[float, ...]

SAMPLE_NS = NS // 2
SAMPLES = 5
"""Samples in a rate window: the newest and those of the two seconds before."""
MOST_RECORDS = 512
"""Maximum number of message kinds, by sender, counted separately per link and direction."""
BITS_PER_BYTE = 10  # start bit, 8 data bits, stop bit
NEVER = -1


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """Constant properties of a link."""

    name: str
    url: str
    role: str
    protocol: str
    baud: int  # 0: no limit


@dataclass(frozen=True, slots=True)
class LinkState:
    """The fields of the stream `router_link`, in order, without the time."""

    link: int
    up: int
    role: int
    frames_in: int
    frames_out: int
    bytes_in: int
    bytes_out: int
    rate_in_hz: float
    rate_out_hz: float
    load_in_pct: float
    load_out_pct: float
    lost: int
    bad_checksums: int
    duplicates: int
    refused: int
    dropped: int
    queued: int
    round_trip_s: float
    last_seen_s: float

    def row(self, t_s: float) -> Row:
        return (t_s, *map(float, astuple(self)))


@dataclass(frozen=True, slots=True)
class LinkMessage:
    """The fields of the stream `router_message`, in order, without the time."""

    link: int
    outbound: int
    system: int
    component: int
    message: int
    rate_hz: float
    set_hz: float
    count: int
    bytes: int
    last_seen_s: float

    def row(self, t_s: float) -> Row:
        return (t_s, *map(float, astuple(self)))


@dataclass(frozen=True, slots=True)
class PeerState:
    """One peer of a link."""

    link: int
    name: str  # the endpoint's name; for the clients of a server followed by their address
    commands: bool
    queued: int
    dropped: int
    last_seen_s: float


class RateWindow:
    """The last few values of a counter, for its rate."""

    __slots__ = ("_looks",)

    def __init__(self, now_ns: int, value: int = 0) -> None:
        # Not a deque: it allocates a new block at times, and thousands of them would do so at once.
        self._looks = [(now_ns, value)]

    def sample(self, now_ns: int, value: int) -> None:
        if len(self._looks) == SAMPLES:
            del self._looks[0]
        self._looks.append((now_ns, value))

    def rate(self, now_ns: int, value: int) -> float:
        then_ns, before = self._looks[0]
        return (value - before) * NS / max(now_ns - then_ns, SAMPLE_NS)


class Record:
    """One message type of one sender, in one direction."""

    __slots__ = ("count", "seen_ns", "size", "window")

    def __init__(self, now_ns: int) -> None:
        self.count = 0
        self.size = 0  # bytes
        self.seen_ns = NEVER
        self.window = RateWindow(now_ns)


class LinkStatistics:
    """Counts of one endpoint, over all its peers."""

    def __init__(self, number: int, config: EndpointConfig, set_hz: dict[int, float], now_ns: int) -> None:
        self.number = number
        self.config = config
        self.baud = config.link_baud
        self.hil = False  # it is the link of a simulator, or of a vehicle that has one
        self.frames_in = self.frames_out = self.bytes_in = self.bytes_out = 0
        self.lost = self.bad = self.duplicates = self.refused = self.dropped = 0
        self.round_trip_ns: int | None = None
        self.seen_ns: int | None = None
        self._set_hz = set_hz
        self._requested_hz: dict[tuple[int, int], float] = {}  # (system, message) -> rate requested by ground stations
        self._rest = Record(now_ns)
        self._records: tuple[dict[bytes, Record], dict[bytes, Record]] = ({}, {})
        self._windows = tuple(RateWindow(now_ns) for _ in range(4))

    def record(self, key: bytes, now_ns: int, *, outbound: bool) -> Record:
        """The record of frames with this key; a shared one when there are too many kinds."""
        records = self._records[outbound]
        record = records.get(key)
        if record is None:
            if len(records) >= MOST_RECORDS:
                return self._rest
            record = records[key] = Record(now_ns)
        return record

    def not_sent(self, key: bytes, size: int) -> None:
        """A frame that was counted as sent when queued, and was then dropped."""
        record = self._records[True].get(key, self._rest)
        record.count -= 1
        record.size -= size

    def set_rate(self, system: int, message: int, rate_hz: float | None) -> None:
        """A vehicle on this link has accepted a message rate; None: the rate of the configuration."""
        self._requested_hz.pop((system, message), None)
        if rate_hz is not None and len(self._requested_hz) < MOST_RECORDS:
            self._requested_hz[system, message] = rate_hz

    def sample(self, now_ns: int) -> None:
        for window, value in zip(self._windows, self._counts, strict=True):
            window.sample(now_ns, value)
        for records in self._records:
            for record in records.values():
                record.window.sample(now_ns, record.count)

    @property
    def _counts(self) -> tuple[int, int, int, int]:
        return self.frames_in, self.frames_out, self.bytes_in, self.bytes_out

    def state(
        self, now_ns: int, *, up: bool, commands: bool, bad: int, refused: int, dropped: int, queued: int
    ) -> LinkState:
        """`bad`, `refused` and `dropped` are those of the connected peers."""
        rates = [window.rate(now_ns, value) for window, value in zip(self._windows, self._counts, strict=True)]
        loads = [rate * BITS_PER_BYTE / self.baud * 100 if self.baud else math.nan for rate in rates[2:]]
        return LinkState(
            self.number,
            int(up),
            ROLES.index(self.config.role) + (COMMANDS if commands else 0),
            *self._counts,
            rates[0],
            rates[1],
            loads[0],
            loads[1],
            self.lost,
            self.bad + bad,
            self.duplicates,
            self.refused + refused,
            self.dropped + dropped,
            queued,
            math.nan if self.round_trip_ns is None else self.round_trip_ns / NS,
            math.nan if self.seen_ns is None else (now_ns - self.seen_ns) / NS,
        )

    def messages(self, now_ns: int) -> list[LinkMessage]:
        told = []
        requested = self._requested_hz
        changed = {message for _, message in requested}
        missing = {message: hz for message, hz in self._set_hz.items() if message not in changed}
        for outbound, records in enumerate(self._records):
            for key, record in records.items():
                message = int.from_bytes(key[2:], "little")
                set_hz = 0.0 if outbound else requested.get((key[0], message), self._set_hz.get(message, 0.0))
                if not outbound:
                    missing.pop(message, None)
                rate = record.window.rate(now_ns, record.count)
                seen_s = math.nan if record.seen_ns == NEVER else (now_ns - record.seen_ns) / NS
                told.append(
                    LinkMessage(
                        self.number, outbound, key[0], key[1], message, rate, set_hz, record.count, record.size, seen_s
                    )
                )
        for message, set_hz in missing.items():
            told.append(LinkMessage(self.number, 0, 0, 0, message, 0.0, set_hz, 0, 0, math.nan))
        return told
