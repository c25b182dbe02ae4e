"""Shows a flight in FlightGear: a `net_fdm` datagram of each aircraft, made of the rows that the recorder writes.

Nothing waits for FlightGear, and whether it receives anything is not known. Rows of several streams reach the recorder
in an order that depends on the machine, so a packet is made once the rows of its time are there: packets then depend on
scenario and seed alone.
"""

from __future__ import annotations

import datetime
import math
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

from aeroloop.core import geodesy
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.signals import Origin
from aeroloop.core.stream import QUATERNION, RATES, VELOCITY, WIND, XYZ, Stream
from aeroloop.core.tables import made
from aeroloop.core.view import Shown, ShownEffort, View, address
from aeroloop.protocols.flightgear import SEA_LEVEL_KG_M3, Seen, pack, packet_of

Row = Sequence[float]
Take = Callable[[Row], None]
Send = Callable[[bytes], None]
MOST_HELD = 2000
"""Packets that wait for rows of other streams; beyond that they go without."""
ROUNDING_S = 1e-6
NOON_S = 12 * 3600
_TRUTH = tuple(name for name, _, _ in (*XYZ, *VELOCITY, *QUATERNION, *RATES))
_AIR = tuple(name for name, _, _ in WIND)
GROUND = "ground_m"


class FlightGearView:
    """All aircraft of one part of a flight."""

    def __init__(
        self, scenario: Scenario, streams: Sequence[Stream], senders: Sequence[Send], view: View | None = None
    ) -> None:
        """`senders`: one for each aircraft."""
        view = view or scenario.view
        by_name = {stream.name: stream for stream in streams}
        self._aircraft = [_Aircraft(scenario, by_name, view, send) for send in senders]
        self._streams = {"truth", *self._aircraft[0].sources} if senders else set()

    def taker(self, stream: str) -> Take | None:
        """Takes the rows of that stream; None where nothing of it is shown."""
        if stream not in self._streams:
            return None
        takes = [aircraft.taker(stream) for aircraft in self._aircraft]

        def take(row: Row) -> None:
            if 0 <= row[1] < len(takes):
                takes[int(row[1])](row)

        return take

    def finish(self) -> None:
        """Send what still waits."""
        for aircraft in self._aircraft:
            aircraft.send_due(at_the_end=True)


class _Source:
    """The rows of a stream beside `truth`, until packets have used them."""

    def __init__(self, rate_hz: float, truth_hz: float) -> None:
        # A slower stream has no row for every time: one of some time ago is used, which is there for certain.
        self._lag_s = 0.0 if rate_hz >= truth_hz else 2.0 / rate_hz
        self.rows: deque[Row] = deque()

    def ready(self, t_s: float) -> bool:
        return bool(self.rows) and self.rows[-1][0] >= t_s - self._lag_s - ROUNDING_S

    def at(self, t_s: float) -> Row | None:
        """The newest row up to that time less the lag; the first where all are newer."""
        rows, until_s = self.rows, t_s - self._lag_s + ROUNDING_S
        while len(rows) > 1 and rows[1][0] <= until_s:
            rows.popleft()
        return rows[0] if rows else None


class _Aircraft:
    def __init__(self, scenario: Scenario, streams: Mapping[str, Stream], view: View, send: Send) -> None:
        self._view, self._send = view, send
        truth = streams["truth"]
        self._pos_of, self._vel_of, self._quat_of, self._rate_of = (
            _picked(truth, names) for names in (_TRUTH[:3], _TRUTH[3:6], _TRUTH[6:10], _TRUTH[10:])
        )
        self._origin, self._start_s = _origin(scenario), _noon_s(scenario)
        effort, air = streams.get("effort"), streams.get("air")
        shown = _shown_effort(scenario)
        used = {
            "effort": effort if shown.rpm or shown.surfaces else None,
            "air": air if air is not None and set(_AIR) <= set(air.names) else None,
        }
        self.sources = {
            name: _Source(stream.rate_hz, truth.rate_hz)
            for name, stream in used.items()
            if stream is not None and stream.rate_hz > 0.0
        }
        names = effort.names if effort is not None else ()
        self._rpm = [_scaled(names, each) for each in shown.rpm]
        self._surfaces = {name: _scaled(names, each) for name, each in shown.surfaces.items()}
        self._wind_of = _picked(air, _AIR) if air is not None and used["air"] else None
        self._density_at = _index(air, "density_kg_m3")
        self._ground_at = _index(truth, GROUND), _index(air, GROUND)
        self._period_s, self._due_s = 1.0 / view.rate_hz, -math.inf
        self._before: tuple[float, Vec3] | None = None  # time and velocity of the row before
        self._held: deque[tuple[Row, Vec3]] = deque()  # rows of truth that packets are made of, with accelerations

    def taker(self, stream: str) -> Take:
        if stream == "truth":
            return self.take_truth
        rows = self.sources[stream].rows

        def take(row: Row) -> None:
            rows.append(row)
            if self._held:
                self.send_due()

        return take

    def take_truth(self, row: Row) -> None:
        t_s, before = row[0], self._before
        vel_W: Vec3 = self._vel_of(row)
        self._before = t_s, vel_W
        if t_s < self._due_s - ROUNDING_S:
            return
        first = self._due_s if t_s < self._due_s + self._period_s else t_s
        self._due_s = first + self._period_s
        accel_W = (0.0, 0.0, 0.0)
        if before is not None and t_s > before[0]:
            x, y, z = ((now - then) / (t_s - before[0]) for now, then in zip(vel_W, before[1], strict=True))
            accel_W = x, y, z
        self._held.append((row, accel_W))
        self.send_due()

    def send_due(self, *, at_the_end: bool = False) -> None:
        held, sources = self._held, self.sources.values()
        while held:
            row, accel_W = held[0]
            late = at_the_end or len(held) > MOST_HELD
            if not (late or all(source.ready(row[0]) for source in sources)):
                return
            held.popleft()
            with suppress(ValueError):  # a diverged aircraft has no place to show
                self._send(pack(self._packet(row, accel_W)))

    def _packet(self, row: Row, accel_W: Vec3) -> Any:
        t_s = row[0]
        pos_W: Vec3 = self._pos_of(row)
        if not all(map(math.isfinite, row[: 2 + len(_TRUTH)])):
            raise ValueError("truth: not finite")
        lat_deg, lon_deg, alt_m = geodesy.geodetic(self._origin, pos_W)
        air, effort = (self.sources[name].at(t_s) if name in self.sources else None for name in ("air", "effort"))
        in_truth, in_air = self._ground_at
        ground_m = row[in_truth] if in_truth else air[in_air] if air and in_air else 0.0
        seen = Seen(
            lat_deg=lat_deg,
            lon_deg=lon_deg,
            alt_m=alt_m,
            agl_m=pos_W[2] - ground_m,
            quat_WB=self._quat_of(row),
            vel_W=self._vel_of(row),
            rate_B=self._rate_of(row),
            accel_W=accel_W,
            wind_W=self._wind_of(air) if air and self._wind_of else (0.0, 0.0, 0.0),
            density_kg_m3=air[self._density_at] if air and self._density_at else SEA_LEVEL_KG_M3,
            rpm=tuple(of(effort) for of in self._rpm) if effort else (),
            surfaces={name: max(-1.0, min(1.0, of(effort))) for name, of in self._surfaces.items()} if effort else {},
            time_s=self._start_s + int(t_s),
        )
        return packet_of(seen, self._view.version, self._view.visibility_m)


def shows(scenario: Scenario, streams: Sequence[Stream]) -> str:
    """Why this aircraft cannot be shown; empty if it can."""
    truth = next((stream for stream in streams if stream.name == "truth"), None)
    if truth is None or not set(_TRUTH) <= set(truth.names):
        return f"{scenario.kind}: FlightGear shows nothing: its stream truth lacks position, velocity or attitude"
    return ""


def sender(url: str, number: int) -> Send:
    """To the n-th port; whatever the network says of a datagram is ignored. OSError where the host is unknown."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setblocking(False)
    out.connect(address(url, number))

    def send(datagram: bytes) -> None:
        with suppress(OSError):  # nobody listens there, or no room
            out.send(datagram)

    return send


def opened(
    scenario: Scenario, streams: Sequence[Stream], before: int, notice: Callable[[str], None]
) -> FlightGearView | None:
    """The view of a part with `before` aircraft in parts before it; None where none is asked for or possible."""
    if not scenario.view.flightgear:
        return None
    if reason := shows(scenario, streams):
        notice(reason)
        return None
    try:
        senders = [sender(scenario.view.flightgear, before + number) for number in range(scenario.aircraft.count)]
    except (OSError, ValueError) as error:
        notice(f"view.flightgear: {scenario.view.flightgear}: FlightGear shows nothing: {error}")
        return None
    return FlightGearView(scenario, streams, senders)


def _shown_effort(scenario: Scenario) -> ShownEffort:
    reference = scenario.family.view
    shown: ShownEffort = made(reference, scenario) if reference else ShownEffort()
    return shown


def _origin(scenario: Scenario) -> Origin:
    home = value_at(scenario, "world.home")
    return Origin(0.0, 0.0, 0.0) if home is None else Origin(home.lat_deg, home.lon_deg, home.alt_m)


def _noon_s(scenario: Scenario) -> int:
    """Noon of the place on the scenario's date, in s since 1970: daylight, and the same in every flight."""
    date = value_at(scenario, "world.home.date") or datetime.date(2026, 1, 1)
    days = (date - datetime.date(1970, 1, 1)).days
    return days * 86400 + NOON_S - round(_origin(scenario).lon_deg / 15.0 * 3600)


def _picked(stream: Stream, names: Sequence[str]) -> Callable[[Row], Any]:
    return itemgetter(*map(stream.names.index, names))


def _index(stream: Stream | None, name: str) -> int | None:
    return stream.names.index(name) if stream is not None and name in stream.names else None


def _scaled(names: Sequence[str], shown: Shown) -> Callable[[Row], float]:
    at, factor = names.index(shown.column), shown.factor
    return lambda row: row[at] * factor
