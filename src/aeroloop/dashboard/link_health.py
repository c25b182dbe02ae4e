"""The health of every link: its rates, load, loss and delay, each green, amber or red relative to the configured
values.

Pure: rows of streams in, views out. Counters run from the start of a flight; the levels use the increase within the
rows given (`Span`), so that a page shows the current state of a link.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.router_streams import ROUTER_LINK, ROUTER_MESSAGE
from aeroloop.core.signals import LINK_SIGNALS
from aeroloop.router.messages import name_of

Row = Mapping[str, float]
WINDOW_S = 10.0
"""Length of the window for the levels."""
SAMPLE_S = 0.5
"""Period of the router's rows."""
BITS_PER_BYTE = 10  # on a serial link: start, eight data bits, stop
COMMANDER = 10  # added to the role of the commander, streams.py


class Level(IntEnum):
    NONE = 0  # nothing is configured to compare with
    OK = 1
    AMBER = 2
    RED = 3


@dataclass(frozen=True)
class Limit:
    """Green up to `amber`, amber up to `red`, red beyond."""

    amber: float
    red: float
    of: str

    def level(self, value: float) -> Level:
        if math.isnan(value):
            return Level.NONE
        return Level.RED if value > self.red else Level.AMBER if value > self.amber else Level.OK


LIMITS = {
    "rate": Limit(0.05, 0.20, "of the set rate"),
    "load": Limit(70.0, 90.0, "% of the baud rate"),
    "loss": Limit(0.0, 1.0, "% of the messages"),
    "rule": Limit(0.0, math.inf, "% of the messages"),  # a rule at work, worth a look but no fault of the line
    "delay": Limit(0.5, 1.0, "of the control period"),
    "round_trip": Limit(0.1, 0.5, "s"),  # if there is no period: the limit that a pilot with a stick notices
    "silence": Limit(2.0, 5.0, "s"),  # heartbeats are sent every second
}

COLUMNS = {
    "state": "state",
    "rate_in": "in /s",
    "rate_out": "out /s",
    "load": "load",
    "loss": "lost",
    "bad": "bad checksums",
    "duplicates": "duplicates",
    "dropped": "dropped",
    "refused": "refused",
    "round_trip": "round trip",
    "last_seen": "last seen",
}


NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    text: str = NOTHING
    level: Level = Level.NONE
    why: str = ""


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message type on a link."""

    name: str
    sender: str
    outbound: bool
    rate: Cell
    count: int


@dataclass(frozen=True, slots=True)
class LinkView:
    name: str
    url: str
    role: str
    cells: Mapping[str, Cell]  # by the keys of COLUMNS
    messages: tuple[MessageView, ...] = ()

    @property
    def level(self) -> Level:
        return max(cell.level for cell in self.cells.values())

    @property
    def why(self) -> str:
        """Its problems, the worst first."""
        wrong = [cell for cell in self.cells.values() if cell.level >= Level.AMBER]
        return "; ".join(cell.why for cell in sorted(wrong, key=lambda cell: -cell.level))


class LinkInfo(Protocol):
    """The router's record of a link."""

    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def protocol(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Span:
    """Rows of one link within the window: the oldest, the newest, and the time of the last frames."""

    old: Row
    new: Row
    heard_s: float = field(default=math.nan)

    @classmethod
    def of(cls, names: Sequence[str], rows: NDArray[np.float64]) -> Span | None:
        """`names` of the columns."""
        if not len(rows):
            return None
        old, new = (dict(zip(names, map(float, row), strict=True)) for row in (rows[0], rows[-1]))
        heard_s = math.nan
        if "frames_in" in names:
            grown = np.flatnonzero(np.diff(rows[:, names.index("frames_in")]) > 0)
            heard_s = float(rows[grown[-1] + 1, 0]) if len(grown) else old["t_s"]
        return cls(old, new, heard_s)

    def grown(self, name: str) -> float:
        """Increase of a counter; after a reset it counts from zero."""
        new, old = self.new.get(name, 0.0), self.old.get(name, 0.0)
        return new - old if new >= old else new

    def rate_hz(self, name: str) -> float:
        passed_s = self.new["t_s"] - self.old["t_s"]
        return self.grown(name) / passed_s if passed_s > 0 else math.nan


def rate_cell(rate_hz: float, set_hz: float, over_s: float, what: str) -> Cell:
    """Relative to the set rate; a difference of one message within the window is ignored."""
    if math.isnan(rate_hz):
        return Cell()
    if set_hz <= 0:
        return Cell(_number(rate_hz))
    off = abs(rate_hz - set_hz)
    level = LIMITS["rate"].level(0.0 if off * over_s <= 1.0 + 1e-9 else off / set_hz)
    rate, wanted = _number(rate_hz), f"{round(set_hz, 1):g}"
    return Cell(f"{rate} / {wanted}", level, f"{what} at {rate} Hz, set {wanted} Hz")


def share_cell(grown: float, frames: float, total: float, limit: str, what: str) -> Cell:
    """A count of errors: recent, as a fraction of the frames, and total."""
    if math.isnan(grown):
        return Cell()
    pct = 100.0 * grown / max(grown + frames, 1.0)
    text = f"{total:.0f}" if not grown else f"{total:.0f} ({_number(pct)} %)"
    return Cell(text, LIMITS[limit].level(pct), f"{grown:.0f} {what} within the last {WINDOW_S:g} s" if grown else "")


def load_cell(pct: float) -> Cell:
    if math.isnan(pct):
        return Cell()
    return Cell(f"{pct:.0f} %", LIMITS["load"].level(pct), f"link load is {pct:.0f} %")


def delay_cell(round_trip_s: float, period_s: float = math.nan) -> Cell:
    """Relative to the control period if there is one, otherwise to the limit that a pilot notices."""
    if math.isnan(round_trip_s):
        return Cell()
    if math.isnan(period_s):
        level, against = LIMITS["round_trip"].level(round_trip_s), ""
    else:
        level, against = LIMITS["delay"].level(round_trip_s / period_s), f" of a period of {1e3 * period_s:g} ms"
    trip = f"{_number(1e3 * round_trip_s)} ms"
    return Cell(trip, level, f"a round trip takes {trip}{against}")


def silence_cell(silent_s: float) -> Cell:
    if math.isnan(silent_s):
        return Cell("never")
    return Cell(f"{silent_s:.1f} s", LIMITS["silence"].level(silent_s), f"nothing received for {silent_s:.1f} s")


def state_cell(up: bool, heard: bool, expected: bool) -> Cell:
    """Down is an error if a peer was connected, or is required."""
    if up:
        return Cell("up", Level.OK)
    if heard or expected:
        return Cell("down", Level.RED, "the link is down")
    return Cell("waits", why="no peer connected yet")


def message_rates(rows: NDArray[np.float64]) -> list[Row]:
    """The newest row of `router_message` for each message, its rate the mean over all rows given (`over_s`).

    The router's own rate is a short-time value by the wall clock: valid at every pace, too short for a heartbeat.
    """
    if not len(rows):
        return []
    names = ROUTER_MESSAGE.names
    key = slice(names.index("link"), names.index("message") + 1)
    _, of_key = np.unique(rows[:, key], axis=0, return_inverse=True)
    _, newest = np.unique(rows[::-1, key], axis=0, return_index=True)
    samples = np.bincount(of_key)
    means_hz = np.bincount(of_key, weights=rows[:, names.index("rate_hz")]) / samples
    found: list[Row] = []
    for new, mean_hz, count in zip(rows[::-1][newest], means_hz, samples, strict=True):
        row = dict(zip(names, new.tolist(), strict=True))
        found.append(row | {"rate_hz": float(mean_hz), "over_s": SAMPLE_S * float(count)})
    return found


def router_links(rows: NDArray[np.float64], messages: Iterable[Row], infos: Sequence[LinkInfo]) -> list[LinkView]:
    """From rows of `router_link` within the window, and the result of `message_rates`."""
    numbers = rows[:, 1].astype(int) if len(rows) else np.empty(0, int)
    of_link: dict[int, list[Row]] = defaultdict(list)
    for message in messages:
        of_link[int(message["link"])].append(message)
    views = []
    for number, info in enumerate(infos):
        span = Span.of(ROUTER_LINK.names, rows[numbers == number])
        if span is None:
            views.append(LinkView(info.name, info.url, info.role, {name: Cell() for name in COLUMNS}))
        else:
            views.append(_router_link(info, span, tuple(_message(row, info) for row in of_link[number])))
    return views


def _router_link(info: LinkInfo, span: Span, messages: tuple[MessageView, ...]) -> LinkView:
    new = span.new
    heard = not math.isnan(new["last_seen_s"])
    up = bool(new["up"])
    cells = {
        "state": state_cell(up, heard, info.role == "vehicle"),
        "rate_in": _worst_rate(new["rate_in_hz"], [m for m in messages if not m.outbound]),
        "rate_out": _worst_rate(new["rate_out_hz"], [m for m in messages if m.outbound]),
        "load": load_cell(float(np.fmax(new["load_in_pct"], new["load_out_pct"]))),
        **_counter_cells(span),
        "dropped": share_cell(span.grown("dropped"), span.grown("frames_out"), new["dropped"], "loss", "dropped"),
        "refused": share_cell(span.grown("refused"), span.grown("frames_in"), new["refused"], "rule", "refused"),
        "round_trip": delay_cell(new["round_trip_s"]),
        # A ground station may only receive: no traffic is an error only for a vehicle.
        "last_seen": silence_cell(new["last_seen_s"]) if info.role == "vehicle" else _plain_silence(new["last_seen_s"]),
    }
    role = f"{info.role}, in command" if new["role"] >= COMMANDER else info.role
    return LinkView(info.name, info.url, role, cells, tuple(sorted(messages, key=lambda m: (m.outbound, m.name))))


def _plain_silence(silent_s: float) -> Cell:
    return Cell(silence_cell(silent_s).text)


def _worst_rate(rate_hz: float, messages: Sequence[MessageView]) -> Cell:
    """The rate of the link, and the level of its worst message: rates are set per message."""
    worst = max((m.rate for m in messages), key=lambda cell: cell.level, default=Cell())
    return Cell(rate_cell(rate_hz, 0.0, SAMPLE_S, "").text, worst.level, worst.why)


def _message(row: Row, info: LinkInfo) -> MessageView:
    name = message_name(int(row["message"]), info.protocol)
    rate = rate_cell(row["rate_hz"], row["set_hz"], row["over_s"], name)
    sender = f"{row['system']:.0f}.{row['component']:.0f}"
    return MessageView(name, sender, bool(row["outbound"]), rate, int(row["count"]))


def message_name(number: int, protocol: str) -> str:
    try:
        return name_of(protocol, number)
    except KeyError:
        return str(number)


def forwarding_rates(messages: Iterable[Row]) -> dict[tuple[int, int], float]:
    """Routing table: messages a second from the link where a sender was received to each link they are forwarded to."""
    sources: dict[tuple[float, float], set[int]] = defaultdict(set)
    rates: dict[tuple[int, int], float] = defaultdict(float)
    rows = list(messages)
    for row in rows:
        if not row["outbound"]:
            sources[row["system"], row["component"]].add(int(row["link"]))
    for row in rows:
        if row["outbound"]:
            for source in sources[row["system"], row["component"]] - {int(row["link"])}:
                rates[source, int(row["link"])] += row["rate_hz"]
    return dict(rates)


def counted_link(
    name: str,
    url: str,
    role: str,
    span: Span,
    now_s: float,
    *,
    set_hz: tuple[float, float] = (0.0, 0.0),
    round_trip: Cell | None = None,
    messages: tuple[MessageView, ...] = (),
) -> LinkView:
    """A link of the flight itself, as counted at one of its ends; set rates are those in and out."""
    set_in_hz, set_out_hz = set_hz
    over_s = span.new["t_s"] - span.old["t_s"]
    silent_s = max(now_s - span.heard_s, 0.0)
    speaks = set_in_hz > 0 or span.new["frames_in"] > 0
    rates = {
        "rate_in": rate_cell(span.rate_hz("frames_in"), set_in_hz, over_s, "frames in"),
        "rate_out": rate_cell(span.rate_hz("frames_out"), set_out_hz, over_s, "frames out"),
    }
    for column, outbound in (("rate_in", False), ("rate_out", True)):
        worst = max((m.rate for m in messages if m.outbound == outbound), key=lambda c: c.level, default=Cell())
        if worst.level > rates[column].level:
            rates[column] = Cell(rates[column].text, worst.level, worst.why)
    cells = {
        "state": state_cell(silent_s <= LIMITS["silence"].red, span.new["frames_in"] > 0, expected=True),
        **rates,
        "load": load_cell(_load_pct(url, span)),
        **_counter_cells(span),
        "dropped": Cell(),
        "refused": Cell(),
        "round_trip": round_trip or Cell(),
        "last_seen": silence_cell(silent_s) if speaks else Cell("never"),
    }
    return LinkView(name, url, role, cells, messages)


def _counter_cells(span: Span) -> dict[str, Cell]:
    frames = span.grown("frames_in")
    bad = span.grown("bad_checksums") + span.grown("malformed")
    bad_total = span.new.get("bad_checksums", 0.0) + span.new.get("malformed", 0.0)
    cells = {
        "loss": share_cell(span.grown("lost"), frames, span.new["lost"], "loss", "messages lost"),
        "bad": share_cell(bad, frames, bad_total, "loss", "frames with a bad checksum"),
        "duplicates": Cell(),
    }
    if "duplicates" in span.new:
        again = span.grown("duplicates")
        cells["duplicates"] = share_cell(again, frames, span.new["duplicates"], "rule", "duplicates")
    return cells


def signals(names: Sequence[str], rows: NDArray[np.float64], sent: Sequence[str]) -> tuple[MessageView, ...]:
    """From rows of `signal_count` or `telemetry_count`: each signal's rate within the window, by wall time."""
    if not len(rows):
        return ()
    number = names.index("signal")
    views = []
    for signal in np.unique(rows[:, number]):
        mine = rows[rows[:, number] == signal]
        old, new = (dict(zip(names, map(float, row), strict=True)) for row in (mine[0], mine[-1]))
        passed_s = new["wall_s"] - old["wall_s"]
        rate_hz = (new["count"] - old["count"]) / passed_s if passed_s > 0 else math.nan
        name = LINK_SIGNALS[int(signal)]
        rate = rate_cell(rate_hz, new["set_hz"], passed_s, name)
        views.append(MessageView(name, "", name in sent, rate, int(new["count"])))
    return tuple(views)


def _load_pct(url: str, span: Span) -> float:
    """Load of the busier direction, if the URL has a baud rate."""
    baud = parse_qs(urlsplit(url).query).get("baud", [""])[0]
    if not baud.isdecimal() or int(baud) == 0:
        return math.nan
    return 100.0 * BITS_PER_BYTE * max(span.rate_hz("bytes_in"), span.rate_hz("bytes_out")) / int(baud)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"
