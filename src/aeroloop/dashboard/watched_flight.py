"""The flight that is watched: its orders, its rows, its links and its notices, while it runs and after.

running flights ─▶ WatchedFlight ─▶ feed rows ─▶ Store ─▶ pages
                       └─▶ a station on the flight's own link for us ─▶ the aircraft

A router that stands alone is watched alike: it has a feed and links, but neither orders nor a scenario.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from aeroloop.core.errors import AeroloopError, LinkError
from aeroloop.core.fault_offers import words
from aeroloop.core.faults import KINDS, TARGETS, Switch
from aeroloop.core.frames import Vec3
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Event
from aeroloop.core.stream import KEYS, Stream
from aeroloop.core.streams import streams_of, streams_of_kind
from aeroloop.core.tables import DEFAULT_FAMILY
from aeroloop.dashboard import family_page
from aeroloop.dashboard.past_runs import PastRun, read_run
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.theme import Severity
from aeroloop.flight import running
from aeroloop.flight.processes.common import Orders
from aeroloop.ground.commands import Station, Text, Vehicle, VehicleState
from aeroloop.realtime.controls import Controls
from aeroloop.realtime.feed import FeedIn

T = TypeVar("T")

READ_S = 0.05
LOOK_S = 1.0
CONNECT_S = 3.0
RETRY_S = 2.0
MOST_NOTICES = 300
MOST_TOLD = 500
MOST_LINES = 256
MOST_LINES_B = 256 * 1024


class Router(Protocol):
    """One that stands alone."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Notice:
    number: int  # counts up, so that a page knows what is new to it
    t_s: float  # simulated
    severity: Severity
    words: str


class Fault(NamedTuple):
    """What fails and how; the key of `WatchedFlight.faults_on`."""

    vehicle: int
    target: str
    kind: str
    channel: int


@dataclass(frozen=True, slots=True)
class LineInfo:
    """A line of the flight's router, as lines.json has it."""

    number: int
    name: str
    url: str
    role: str
    protocol: str
    baud: int


EVENT_WORDS: dict[Event, tuple[Severity, str]] = {
    Event.SENSORS_LOST: ("warn", "sensors did not come in their cycle"),
    Event.SAFE_COMMAND: ("bad", "sensors lost for too long: the safe command stands"),
    Event.SENSORS_BACK: ("ok", "sensors are back"),
    Event.REFERENCE_LOST: ("warn", "no references: the last one stands"),
    Event.REFERENCE_BACK: ("ok", "references are back"),
    Event.IMPLAUSIBLE_SENSORS: ("bad", "implausible sensor values were refused"),
    Event.IMPLAUSIBLE_COMMAND: ("bad", "an implausible command was refused"),
    Event.DEADLINE_MISSED: ("warn", "a deadline was missed"),
    Event.DIVERGED: ("bad", "the aircraft left its bounds"),
    Event.GROUND_CONTACT: ("warn", "ground contact"),
    Event.LAW_NOT_FINITE: ("bad", "the control law returned NaN or infinity"),
    Event.OVERRUN: ("warn", "a cycle took longer than its period"),
    Event.LATE_CYCLE: ("warn", "a request came late"),
    Event.BOARD_RESTARTED: ("bad", "the board restarted"),
    Event.MESSAGES_LOST: ("warn", "messages of the board never came"),
    Event.AUTOPILOT_RESTARTED: ("bad", "the autopilot restarted"),
    Event.AUTOPILOT_LEFT: ("bad", "the autopilot left"),
    Event.AUTOPILOT_BACK: ("ok", "the autopilot is back"),
    Event.ACTUATORS_REFUSED: ("bad", "actuator commands were refused"),
    Event.ARMED: ("ok", "armed"),
    Event.DISARMED: ("ok", "disarmed"),
    Event.FAILSAFE: ("bad", "failsafe"),
    Event.WAYPOINT_REACHED: ("info", "waypoint reached"),
    Event.ORDER_REFUSED: ("warn", "a command was refused"),
}


class WatchedFlight:
    """One for the process; pages read it, and only the loop of `follow` changes it."""

    def __init__(
        self, runs_dir: Path, flight_id: str = "", routers: Callable[[], Sequence[Router]] = lambda: ()
    ) -> None:
        """`routers`: those that run just now; the ones of flights may be among them."""
        self.runs_dir = runs_dir
        self.orders: Orders | None = None  # None while no flight runs; what came of the last one stays
        self.router = ""  # name of the router that is watched in place of a flight
        self.outcome: PastRun | None = None  # what became of the flight that has ended, as soon as somebody judged it
        self.refused: Counter[str] = Counter()  # requests to this dashboard that were not let in, by cause
        self.flight_id = ""
        self.scenario: Scenario | None = None
        self.store = Store(streams_of_kind(DEFAULT_FAMILY))  # charts of the pages before a flight
        self.running = False
        self.notices: deque[Notice] = deque(maxlen=MOST_NOTICES)
        self.faults_on: dict[Fault, Vec3] = {}
        self.lines: list[LineInfo] = []
        self.station: Station | None = None  # our own line to the aircraft, where the flight has one
        self.lost = 0  # datagrams of the feed that never came
        self._wanted = flight_id
        self._routers = routers
        self._flights: list[tuple[str, str]] = []
        self._passed_by: set[str] = set()  # ran already when the last one ended
        self._folder: Path | None = None  # of the flight or router that runs
        self._run: Path | None = None  # folder of results
        self._feed: FeedIn | None = None
        self._noticed = 0
        self._lines_read_ns = -1
        self._texts_ns: dict[int, int] = {}  # of each system: the newest that was told here
        self._connecting: asyncio.Task[None] | None = None

    def flights(self) -> list[tuple[str, str]]:
        """Id and scenario's name of each flight that runs, then of each router that stands alone."""
        return list(self._flights)

    @property
    def name(self) -> str:
        """What the watched flight is called."""
        return self.scenario.name if self.scenario is not None else _router_name(self.router) if self.router else ""

    @property
    def why_nothing_flies(self) -> str:
        """For a page that needs an aircraft; empty where there is one, or was."""
        if self.router:
            return (
                f"{self.name} stands alone: it has links and charts, but no flight, and so no aircraft for this page."
            )
        return "" if self.scenario is not None else "No flight is running: aeroloop fly starts one."

    @property
    def flying_run(self) -> str:
        """Name of the run's folder while its flight goes on."""
        return self._run.name if self.running and self._run is not None else ""

    @property
    def report_url(self) -> str:
        """Of the flight that has ended; empty until there is one, or where its folder is none of ours."""
        if self._run is None or self.outcome is None or not self.outcome.has_report:
            return ""
        return self.outcome.url if self._run.parent == self.runs_dir.resolve() else ""

    def choose(self, flight_id: str) -> None:
        """Watch that flight from now on."""
        self._wanted = flight_id
        self._look()

    def notice(self, words: str, severity: Severity = "info", t_s: float | None = None) -> None:
        """For the alert line of every page; now, unless a time is given."""
        self._noticed += 1
        self.notices.append(Notice(self._noticed, self.store.t_s if t_s is None else t_s, severity, words))

    async def command(self, deed: Callable[[Vehicle], T], vehicle: int = 0) -> T:
        """Let an aircraft do something, in a thread; what it refuses goes to the caller."""
        system = self._system(vehicle)
        if self.station is None or system is None:
            raise LinkError(
                "no aircraft to command: the flight has no link for this page, or no autopilot has answered yet"
            )
        station = self.station
        return await asyncio.to_thread(lambda: deed(station.vehicle(system)))

    def state(self, vehicle: int = 0) -> VehicleState | None:
        system = self._system(vehicle)
        return self.station.state(system) if self.station is not None and system is not None else None

    def _system(self, vehicle: int) -> int | None:
        """Ours count their systems from 1, in the order of their numbers; an autopilot outside may have any."""
        systems = self.station.systems() if self.station is not None else ()
        if vehicle + 1 in systems:
            return vehicle + 1
        return systems[0] if vehicle == 0 and len(systems) == 1 else None

    def switch(self, switch: Switch) -> None:
        """Switch a fault on or off at the plant."""
        if self.orders is None:
            raise LinkError("no flight is running, so there is nothing to switch")
        Controls(self.orders.folder_path).switch(switch)

    async def follow(self) -> None:
        """Until cancelled."""
        beats = 0
        try:
            while True:
                if beats % round(LOOK_S / READ_S) == 0:
                    self._look()
                self._read()
                beats += 1
                await asyncio.sleep(READ_S)
        finally:
            self._leave()

    def _look(self) -> None:
        """Flights and routers that began or ended."""
        flights = {running.flight_id(orders): orders for orders in _running_flights()}
        routers = {router.id: router for router in self._routers() if router.id not in flights}
        seen_before = {flight_id for flight_id, _ in self._flights}
        self._flights = [(flight_id, orders.scenario.name) for flight_id, orders in flights.items()]
        self._flights += [(router_id, _router_name(router.name)) for router_id, router in routers.items()]
        found: dict[str, Orders | Router] = {**routers, **flights}
        if self.running and self.flight_id not in found:
            self._read()
            self._leave()
            self._passed_by = found.keys() & seen_before  # not one that began since the last look
            self.notice("the router has ended" if self.router else "the flight has ended")
        if self._wanted in found:
            if self._wanted != self.flight_id:
                self._watch(found[self._wanted])
        elif not self._wanted and (not self.running or (self.router and flights.keys() - self._passed_by)):
            # A flight is watched rather than a router that nobody has asked for. What came of the last one stays until
            # another begins: those that ran beside it must be chosen.
            among = (flights.keys() - self._passed_by) or (routers.keys() - self._passed_by)
            if among:
                self._watch(found[max(among, key=lambda each: _begun_ns(_folder(found[each])))])
        if self.running:
            self._read_lines()
            self._read_texts()
        elif self._run is not None:
            self._judge(self._run)

    def _watch(self, chosen: Orders | Router) -> None:
        self._leave()
        self.orders = chosen if isinstance(chosen, Orders) else None
        self.scenario = chosen.scenario if isinstance(chosen, Orders) else None
        self.router = "" if isinstance(chosen, Orders) else chosen.name
        self.flight_id = running.flight_id(chosen) if isinstance(chosen, Orders) else chosen.id
        self._folder = _folder(chosen)
        self._run = Path(chosen.log).resolve().parent if isinstance(chosen, Orders) and chosen.log else None
        self.store = Store(streams_of(self.scenario) if self.scenario is not None else ROUTER_STREAMS)
        self.faults_on, self.lines, self.lost, self.outcome = {}, [], 0, None
        self._lines_read_ns = -1
        self._texts_ns = {}
        self.notices.clear()
        self.running = True
        if self.scenario is not None and family_page.problem(self.scenario):
            self.notice(family_page.problem(self.scenario), "warn")
        self._open_feed(self._folder)
        if isinstance(chosen, Orders) and chosen.dash_link:
            self._connecting = asyncio.get_running_loop().create_task(self._stay_connected(chosen.dash_link))

    def _open_feed(self, folder: Path) -> None:
        try:
            self._feed = FeedIn(folder)
        except LinkError as error:
            self.notice(str(error), "bad")

    def _judge(self, run: Path) -> None:
        """The verdict comes after the flight, and the report a while after the verdict."""
        if self.outcome is None or not self.outcome.has_report:
            judged = read_run(run)
            if judged.has_summary and judged != self.outcome:
                if self.outcome is None:
                    self.notice(f"the flight has {judged.verdict}", judged.severity)
                self.outcome = judged

    def _leave(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        if self._feed is not None:
            self._feed.close()
        if self.station is not None:
            self.station.close()
        self._connecting = self._feed = self.station = self.orders = self._folder = None
        self.running = False
        if self._wanted == self.flight_id:
            self._wanted = ""  # it is over: the next flight that begins is watched

    async def _stay_connected(self, link: str) -> None:
        while True:
            if self.station is None:
                with contextlib.suppress(OSError, AeroloopError):
                    self.station = await _station(link)
            elif self.station.lost:
                self.notice(f"the link to the aircraft was lost: {self.station.lost}", "warn")
                self.station.close()
                self.station = None
            await asyncio.sleep(RETRY_S)

    def _read(self) -> None:
        if self._feed is None:
            return
        try:
            rows = self._feed.rows()
        except LinkError as error:
            self.notice(str(error), "bad")
            self._feed.close()
            self._feed = None
            return
        for stream, row in rows:
            self.take(stream, row)
        self.lost = self._feed.lost

    def _read_texts(self) -> None:
        """What the autopilots told their pilots since the last look."""
        for system in self.station.systems() if self.station is not None else ():
            assert self.station is not None
            heard_ns = self._texts_ns.get(system, 0)
            texts = [text for text in self.station.state(system).texts if text.t_ns > heard_ns]
            for text in texts:
                whose = f"aircraft {system}: " if len(self.station.systems()) > 1 else ""
                self.notice(whose + text.words, _severity(text))
            if texts:
                self._texts_ns[system] = texts[-1].t_ns

    def take(self, stream: Stream, row: tuple[float, ...]) -> None:
        """One row of the feed."""
        self.store.add(stream, row)
        if stream.name in ("event", "board_event"):
            self._take_event(stream, row)
        elif stream.name == "fault":
            self._take_fault(stream, row)
        elif self.scenario is not None and (notice := family_page.of(self.scenario).notices.get(stream.name)):
            first = len(KEYS)
            numbers = self.store.rows(stream.name)[-MOST_TOLD:, first].tolist() or [row[first]]
            told = notice(dict(zip(stream.names, row, strict=True)), numbers)
            if told is not None:
                self.notice(told[1], told[0], row[0])

    def _take_event(self, stream: Stream, row: tuple[float, ...]) -> None:
        values = dict(zip(stream.names, row, strict=True))
        try:
            told = EVENT_WORDS.get(Event(int(values["code"])))
        except (ValueError, OverflowError):
            return
        if told is not None:
            severity, event = told
            whose = f"aircraft {int(values['vehicle']) + 1}: " if self.store.vehicles(stream.name) != [0] else ""
            self.notice(whose + event, severity, row[0])

    def _take_fault(self, stream: Stream, row: tuple[float, ...]) -> None:
        values = dict(zip(stream.names, row, strict=True))
        try:
            target, kind = TARGETS[int(values["target"])], KINDS[int(values["kind"])]
            fault = Fault(int(values["vehicle"]), target, kind, int(values["channel"]))
        except (ValueError, OverflowError, IndexError):
            return
        if values["on"]:
            self.faults_on[fault] = values["value_x"], values["value_y"], values["value_z"]
        else:
            self.faults_on.pop(fault, None)
        on = bool(values["on"])
        self.notice(words(row[len(KEYS) :]), "warn" if on else "ok", row[0])

    def _read_lines(self) -> None:
        assert self._folder is not None
        path = self._folder / "lines.json"
        with contextlib.suppress(OSError):
            changed_ns = path.stat().st_mtime_ns
            if changed_ns != self._lines_read_ns:
                self.lines = read_lines(path)
                self._lines_read_ns = changed_ns


async def _station(link: str) -> Station:
    attempt = asyncio.ensure_future(asyncio.to_thread(Station.connect, link, CONNECT_S))
    try:
        return await asyncio.shield(attempt)
    except asyncio.CancelledError:
        attempt.add_done_callback(_close_late)
        raise


def _close_late(attempt: asyncio.Future[Station]) -> None:
    """The flight ended while the thread was still connecting."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


def _severity(text: Text) -> Severity:
    """Of MAVLink's: up to 3 are errors, 4 a warning."""
    return "bad" if text.severity <= 3 else "warn" if text.severity == 4 else "info"


def read_lines(path: Path) -> list[LineInfo]:
    """The router's lines; none where the file is not yet whole."""
    try:
        with path.open("rb") as file:
            table = json.loads(file.read(MOST_LINES_B))
        return [
            LineInfo(
                number,
                str(line.get("name", f"line {number}")),
                str(line.get("url", "")),
                str(line.get("role", "")),
                str(line.get("protocol", "")),
                int(line.get("baud") or 0),
            )
            for number, line in enumerate(table[:MOST_LINES])
        ]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return []


def _running_flights() -> list[Orders]:
    try:
        return running.flights()
    except AeroloopError:
        return []


def _folder(chosen: Orders | Router) -> Path:
    return chosen.folder_path if isinstance(chosen, Orders) else chosen.folder


def _router_name(name: str) -> str:
    return f"router {name}"


def _begun_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0
