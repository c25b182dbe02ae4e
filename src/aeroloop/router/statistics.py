"""What is known of every line and of every message on it. Memory is bounded, and a frame costs three additions.

Rates are those of the last two seconds: `Lately` looks at the counters twice a second.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from aeroloop.core.signals import NS
from aeroloop.router.config import COMMANDS, ROLES, EndpointConfig

LINES = "lines.json"
"""Beside the router's socket: what does not change about its lines."""

Row = tuple[float, ...]

SAMPLE_NS = NS // 2
SAMPLES = 5
"""The newest and two seconds before it."""
MOST_RECORDS = 512
"""Kinds of messages, by sender, that are counted apart on one line and way."""
BITS_PER_BYTE = 10  # start bit, 8 data bits, stop bit
NEVER = -1


@dataclass(frozen=True, slots=True)
class LineInfo:
    """What does not change about a line."""

    name: str
    url: str
    role: str
    protocol: str
    baud: int  # 0 where nothing limits it


@dataclass(frozen=True, slots=True)
class LineState:
    """The fields of the stream `line`, in its order, without the time."""

    line: int
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
class LineMessage:
    """The fields of the stream `line_message`, in its order, without the time."""

    line: int
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
    """One far end of a line."""

    line: int
    name: str  # the endpoint's, and for the clients of a server their address behind it
    commands: bool
    queued: int
    dropped: int
    last_seen_s: float


class Lately:
    """A counter's values at the last few looks, for its rate."""

    __slots__ = ("_looks",)

    def __init__(self, now_ns: int, value: int = 0) -> None:
        # No deque: that takes a new block of memory now and then, and thousands of them do so at once.
        self._looks = [(now_ns, value)]

    def look(self, now_ns: int, value: int) -> None:
        if len(self._looks) == SAMPLES:
            del self._looks[0]
        self._looks.append((now_ns, value))

    def rate(self, now_ns: int, value: int) -> float:
        then_ns, before = self._looks[0]
        return (value - before) * NS / max(now_ns - then_ns, SAMPLE_NS)


class Record:
    """One kind of message of one sender, one way."""

    __slots__ = ("count", "lately", "seen_ns", "size")

    def __init__(self, now_ns: int) -> None:
        self.count = 0
        self.size = 0  # bytes
        self.seen_ns = NEVER
        self.lately = Lately(now_ns)


class LineStatistics:
    """Counts of one endpoint, over all its peers."""

    def __init__(self, number: int, config: EndpointConfig, set_hz: dict[int, float], now_ns: int) -> None:
        self.number = number
        self.config = config
        self.baud = config.line_baud
        self.frames_in = self.frames_out = self.bytes_in = self.bytes_out = 0
        self.lost = self.bad = self.duplicates = self.refused = self.dropped = 0
        self.round_trip_ns: int | None = None
        self.seen_ns: int | None = None
        self._set_hz = set_hz
        self._asked_hz: dict[tuple[int, int], float] = {}  # by system and message: what ground stations have set
        self._rest = Record(now_ns)
        self._records: tuple[dict[bytes, Record], dict[bytes, Record]] = ({}, {})
        self._latelies = tuple(Lately(now_ns) for _ in range(4))

    def record(self, key: bytes, now_ns: int, *, outbound: bool) -> Record:
        """Of frames with this key; one for all others once there are too many kinds."""
        records = self._records[outbound]
        record = records.get(key)
        if record is None:
            if len(records) >= MOST_RECORDS:
                return self._rest
            record = records[key] = Record(now_ns)
        return record

    def not_sent(self, key: bytes, size: int) -> None:
        """A frame that was counted as sent when it was queued, and then dropped."""
        record = self._records[True].get(key, self._rest)
        record.count -= 1
        record.size -= size

    def set_rate(self, system: int, message: int, rate_hz: float | None) -> None:
        """A vehicle on this line has agreed to send so often; None: as the file says."""
        self._asked_hz.pop((system, message), None)
        if rate_hz is not None and len(self._asked_hz) < MOST_RECORDS:
            self._asked_hz[system, message] = rate_hz

    def look(self, now_ns: int) -> None:
        for lately, value in zip(self._latelies, self._counts, strict=True):
            lately.look(now_ns, value)
        for records in self._records:
            for record in records.values():
                record.lately.look(now_ns, record.count)

    @property
    def _counts(self) -> tuple[int, int, int, int]:
        return self.frames_in, self.frames_out, self.bytes_in, self.bytes_out

    def state(
        self, now_ns: int, *, up: bool, commands: bool, bad: int, refused: int, dropped: int, queued: int
    ) -> LineState:
        """`bad`, `refused` and `dropped` are those of the peers that are there."""
        rates = [lately.rate(now_ns, value) for lately, value in zip(self._latelies, self._counts, strict=True)]
        loads = [rate * BITS_PER_BYTE / self.baud * 100 if self.baud else math.nan for rate in rates[2:]]
        return LineState(
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

    def messages(self, now_ns: int) -> list[LineMessage]:
        told = []
        asked = self._asked_hz
        changed = {message for _, message in asked}
        missing = {message: hz for message, hz in self._set_hz.items() if message not in changed}
        for outbound, records in enumerate(self._records):
            for key, record in records.items():
                message = int.from_bytes(key[2:], "little")
                set_hz = 0.0 if outbound else asked.get((key[0], message), self._set_hz.get(message, 0.0))
                if not outbound:
                    missing.pop(message, None)
                rate = record.lately.rate(now_ns, record.count)
                seen_s = math.nan if record.seen_ns == NEVER else (now_ns - record.seen_ns) / NS
                told.append(
                    LineMessage(
                        self.number, outbound, key[0], key[1], message, rate, set_hz, record.count, record.size, seen_s
                    )
                )
        for message, set_hz in missing.items():
            told.append(LineMessage(self.number, 0, 0, 0, message, 0.0, set_hz, 0, 0, math.nan))
        return told
