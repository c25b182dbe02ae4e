"""The shown flight: its launch settings, rows, links and notices, while it runs and after.

running flights ─▶ WatchedFlight ─▶ feed rows ─▶ Store ─▶ pages
                       └─▶ a station on the flight's own link for us ─▶ the aircraft

A standalone router is shown in the same way: it has a feed and links, but neither launch settings nor a scenario.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from aeroloop.core.change_offers import change_offers, change_words
from aeroloop.core.common_streams import CHANGE
from aeroloop.core.errors import AeroloopError, LinkError
from aeroloop.core.fault_offers import offers, words
from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.core.frames import Vec3
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import KEYS, Stream
from aeroloop.core.streams import streams_of_kind
from aeroloop.core.tables import DEFAULT_FAMILY
from aeroloop.dashboard import event_words, family_page
from aeroloop.dashboard.event_words import EVENTS
from aeroloop.dashboard.kept_layers import KeptLayers
from aeroloop.dashboard.past_runs import PastRun, read_run
from aeroloop.dashboard.plant_commands import PlantCommands
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_fleet import WatchedFleet
from aeroloop.flight import running
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground.commands import Station, Text, Vehicle, VehicleState
from aeroloop.realtime.feed import FeedIn
from aeroloop.world.object_kinds import names as object_names

T = TypeVar("T")

READ_S = 0.05
LOOK_S = 1.0
CONNECT_S = 3.0
RETRY_S = 2.0
MOST_NOTICES = 300
MOST_TOLD = 500
MOST_LINKS = 256
MOST_LINES_B = 256 * 1024


class Router(Protocol):
    """A standalone router."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Notice:
    number: int  # incremented, so that a page knows what is new to it
    t_s: float  # simulated
    severity: Severity
    words: str


class Fault(NamedTuple):
    """Target and kind of a fault; the key of `WatchedFlight.faults_on`."""

    vehicle: int
    target: str
    kind: str
    channel: int


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """A link of the flight's router, from links.json."""

    number: int
    name: str
    url: str
    role: str
    protocol: str
    baud: int


class WatchedFlight(PlantCommands):
    """One per process; pages read it, and only the loop of `follow` changes it."""

    may_command = True
    may_write = True
    """Reports and chart layouts, on the dashboard's own disk."""
    may_choose = True
    """Another flight, for every page that shows this one."""
    replay_url = ""
    """Of a replay: where its camera images are."""

    def __init__(
        self, runs_dir: Path, flight_id: str = "", routers: Callable[[], Sequence[Router]] = lambda: ()
    ) -> None:
        """`routers`: those running now; those of flights may be among them."""
        self.runs_dir = runs_dir
        self._launch: LaunchSettings | None = None
        self.router = ""  # name of the router that is shown instead of a flight
        self.outcome: PastRun | None = None  # verdict of the flight that has ended, once available
        self.refused: Counter[str] = Counter()  # refused requests to this dashboard, by cause
        self.flight_id = ""
        self.scenario: Scenario | None = None
        self.store = Store(streams_of_kind(DEFAULT_FAMILY))  # charts of the pages before a flight
        self.running = False
        self.notices: deque[Notice] = deque(maxlen=MOST_NOTICES)
        self.faults_on: dict[Fault, Vec3] = {}
        self.links: list[LinkInfo] = []
        self.layers = KeptLayers()  # of the 3D view
        self._station: Station | None = None
        self.lost = 0  # lost datagrams of the feed
        self._wanted = flight_id
        self._routers = routers
        self._flights: list[tuple[str, str]] = []
        self._passed_by: set[str] = set()  # already running when the last one ended
        self._folder: Path | None = None  # of the running flight or router
        self._run: Path | None = None  # folder of results
        self.fleet = WatchedFleet()  # the flight's parts, if it has several
        self._feed: FeedIn | None = None
        self._noticed = 0
        self._lines_read_ns = -1
        self._texts_ns: dict[int, int] = {}  # of each system: the newest text shown
        self._connecting: asyncio.Task[None] | None = None
        self.page_state: Any = None  # state of `fly_page_state` for the flight
        self.route_state: Any = None  # state of `route_state`, for every flight

    @property
    def launch(self) -> LaunchSettings | None:
        """None while no flight runs; gives access to commands."""
        return self._launch

    @property
    def station(self) -> Station | None:
        """Our own link to the aircraft, if the flight has one; gives access to commands."""
        return self._station

    @property
    def live_folder(self) -> Path | None:
        """Where processes of the running flight put images and layers; None after it."""
        return self._folder if self.running else None

    @property
    def state_words(self) -> tuple[str, Severity]:
        return ("live", "ok") if self.running else ("ended", "info")

    @property
    def commander(self) -> str:
        """The other program of the bench that commands over our own link; empty: none."""
        return self._station.holder if self._station is not None else ""

    def flights(self) -> list[tuple[str, str]]:
        """ID and scenario name of each running flight, then of each standalone router."""
        return list(self._flights)

    @property
    def name(self) -> str:
        """Name of the shown flight."""
        return self.scenario.name if self.scenario is not None else _router_name(self.router) if self.router else ""

    @property
    def why_nothing_flies(self) -> str:
        """For a page that needs an aircraft; empty if there is or was one."""
        if self.router:
            return f"{self.name} runs without a flight: it has links and charts, but no aircraft for this page."
        return "" if self.scenario is not None else "No flight is running. Start one with: aeroloop fly SCENARIO"

    @property
    def flying_run(self) -> str:
        """Name of the run's folder during its flight."""
        return self._run.name if self.running and self._run is not None else ""

    @property
    def report_url(self) -> str:
        """URL of the report of the flight that has ended; empty until it exists, or if its folder is not ours."""
        if self._run is None or self.outcome is None or not self.outcome.has_report:
            return ""
        return self.outcome.url if self._run.parent == self.runs_dir.resolve() else ""

    def choose(self, flight_id: str) -> None:
        """Show that flight from now on."""
        self._wanted = flight_id
        self._look()

    def notice(self, words: str, severity: Severity = "info", t_s: float | None = None) -> None:
        """For the alert line of every page; at the current time by default."""
        self._noticed += 1
        self.notices.append(Notice(self._noticed, self.store.t_s if t_s is None else t_s, severity, words))

    async def command(self, action: Callable[[Vehicle], T], vehicle: int = 0) -> T:
        """Run a command on an aircraft, in a thread; a refusal is raised to the caller."""
        system = self._system(vehicle)
        if self._station is None or system is None:
            raise LinkError(
                "no aircraft to command: the flight has no link for this page, or no autopilot has answered yet"
            )
        station = self._station
        return await asyncio.to_thread(lambda: action(station.vehicle(system)))

    def state(self, vehicle: int = 0) -> VehicleState | None:
        system = self._system(vehicle)
        return self._station.state(system) if self._station is not None and system is not None else None

    def _system(self, vehicle: int) -> int | None:
        """Ours have system IDs from 1, in the order of their numbers; an external autopilot may have any."""
        systems = self._station.systems() if self._station is not None else ()
        ours = 1 + vehicle + (self._launch.aircraft_before if self._launch is not None else 0)
        if ours in systems:
            return ours
        return systems[0] if vehicle == 0 and len(systems) == 1 else None

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
        """Flights and routers that started or ended."""
        flights = {running.flight_id(launch): launch for launch in _running_flights()}
        routers = {router.id: router for router in self._routers() if router.id not in flights}
        seen_before = {flight_id for flight_id, _ in self._flights}
        self._flights = [(flight_id, launch.scenario.name) for flight_id, launch in flights.items()]
        self._flights += [(router_id, _router_name(router.name)) for router_id, router in routers.items()]
        found: dict[str, LaunchSettings | Router] = {**routers, **flights}
        if self.running and self.flight_id not in found:
            self._read()
            self._leave()
            self._passed_by = found.keys() & seen_before  # not one that started since the last check
            self.notice("the router has ended" if self.router else "the flight has ended")
        if self._wanted in found:
            if self._wanted != self.flight_id:
                self._watch(found[self._wanted])
        elif not self._wanted and (not self.running or (self.router and flights.keys() - self._passed_by)):
            # A flight has priority over a router that was not selected. The last flight stays until another starts:
            # those that ran beside it must be selected.
            among = (first_parts(flights) - self._passed_by) or (routers.keys() - self._passed_by)
            if among:
                self._watch(found[max(among, key=lambda each: _begun_ns(_folder(found[each])))])
        if self.running:
            self._read_links()
            self._read_texts()
            if self._folder is not None:
                self.layers.read(self._folder)
        elif self._run is not None:
            self._judge(self._run)

    def _watch(self, chosen: LaunchSettings | Router) -> None:
        self._leave(same_fleet=isinstance(chosen, LaunchSettings) and self.fleet.holds(chosen))
        self._launch = chosen if isinstance(chosen, LaunchSettings) else None
        self.scenario = chosen.scenario if isinstance(chosen, LaunchSettings) else None
        self.router = "" if isinstance(chosen, LaunchSettings) else chosen.name
        self.flight_id = running.flight_id(chosen) if isinstance(chosen, LaunchSettings) else chosen.id
        self._folder = _folder(chosen)
        self._run = Path(chosen.log).resolve().parent if isinstance(chosen, LaunchSettings) and chosen.log else None
        self.faults_on, self.links, self.lost, self.outcome = {}, [], 0, None
        self.layers = KeptLayers()
        self._lines_read_ns = -1
        self._texts_ns = {}
        self.notices.clear()
        self._listen(chosen)
        self.running = True
        if self.scenario is not None and family_page.problem(self.scenario):
            self.notice(family_page.problem(self.scenario), "warn")
        if isinstance(chosen, LaunchSettings) and chosen.dash_link:
            self._connecting = asyncio.get_running_loop().create_task(self._stay_connected(chosen.dash_link))

    def _listen(self, chosen: LaunchSettings | Router) -> None:
        if isinstance(chosen, LaunchSettings):
            part = self.fleet.show(chosen)
            self.store, self._feed = part.store, part.feed
            if part.problem:
                self.notice(part.problem, "bad")
            return
        self.store = Store(ROUTER_STREAMS)
        try:
            self._feed = FeedIn(chosen.folder)
        except LinkError as error:
            self.notice(str(error), "bad")

    def _judge(self, run: Path) -> None:
        """The verdict is available after the flight, and the report later."""
        if self.outcome is None or not self.outcome.has_report:
            judged = read_run(run)
            if judged.has_summary and judged != self.outcome:
                if self.outcome is None:
                    self.notice(f"the flight has {judged.verdict}", judged.severity)
                self.outcome = judged

    def _leave(self, *, same_fleet: bool = False) -> None:
        """`same_fleet`: for another part of the flight, so that all its parts are still read."""
        if self._connecting is not None:
            self._connecting.cancel()
        if not same_fleet:
            self.fleet.close()
            if self._feed is not None:
                self._feed.close()
        if self._station is not None:
            self._station.close()
        self._connecting = self._feed = self._station = self._launch = self._folder = None
        self.running = False
        if self._wanted == self.flight_id:
            self._wanted = ""  # it has ended: the next flight that starts is shown

    async def _stay_connected(self, link: str) -> None:
        while True:
            if self._station is None:
                with contextlib.suppress(OSError, AeroloopError):
                    self._station = await _station(link)
            elif self._station.lost:
                self.notice(f"the link to the aircraft was lost: {self._station.lost}", "warn")
                self._station.close()
                self._station = None
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
        for part, stream, row in self.fleet.read():
            if stream.name in EVENTS:
                self._take_event(part.store, stream, row, f"{part.scenario.name}: ")
        self.lost = self._feed.lost

    def _read_texts(self) -> None:
        """Texts of the autopilots since the last check."""
        for system in self._station.systems() if self._station is not None else ():
            assert self._station is not None
            heard_ns = self._texts_ns.get(system, 0)
            texts = [text for text in self._station.state(system).texts if text.t_ns > heard_ns]
            for text in texts:
                whose = f"aircraft {system}: " if len(self._station.systems()) > 1 else ""
                self.notice(whose + text.words, _severity(text))
            if texts:
                self._texts_ns[system] = texts[-1].t_ns

    def take(self, stream: Stream, row: tuple[float, ...]) -> None:
        """One row of the feed."""
        self.store.add(stream, row)
        if stream.name in EVENTS:
            self._take_event(self.store, stream, row)
        elif stream.name == "fault":
            self._take_fault(stream, row)
        elif stream.name == CHANGE.name and self.scenario is not None:
            self.notice(change_words(row[len(KEYS) :], change_offers(self.scenario)), "warn", row[0])
        elif self.scenario is not None and (notice := family_page.of(self.scenario).notices.get(stream.name)):
            first = len(KEYS)
            numbers = self.store.rows(stream.name)[-MOST_TOLD:, first].tolist() or [row[first]]
            told = notice(dict(zip(stream.names, row, strict=True)), numbers)
            if told is not None:
                self.notice(told[1], told[0], row[0])

    def _take_event(self, store: Store, stream: Stream, row: tuple[float, ...], of_part: str = "") -> None:
        """`of_part` is a prefix for a part that the pages do not show."""
        objects = object_names(self.scenario) if self.scenario is not None else ()
        told = event_words.description(stream, row, several=store.vehicles(stream.name) != [0], objects=objects)
        if told is not None:
            severity, event = told
            self.notice(of_part + event, severity, row[0])

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
        known = offers(self.scenario) if self.scenario else ()
        self.notice(words(row[len(KEYS) :], known), "warn" if on else "ok", row[0])

    def _read_links(self) -> None:
        assert self._folder is not None
        path = self._folder / "links.json"
        with contextlib.suppress(OSError):
            changed_ns = path.stat().st_mtime_ns
            if changed_ns != self._lines_read_ns:
                self.links = read_links(path)
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
    """From MAVLink's severity: up to 3 are errors, 4 is a warning."""
    return "bad" if text.severity <= 3 else "warn" if text.severity == 4 else "info"


def read_links(path: Path) -> list[LinkInfo]:
    """The router's links; empty if the file is not complete yet."""
    try:
        with path.open("rb") as file:
            table = json.loads(file.read(MOST_LINES_B))
        return [
            LinkInfo(
                number,
                str(line.get("name", f"link {number}")),
                str(line.get("url", "")),
                str(line.get("role", "")),
                str(line.get("protocol", "")),
                int(line.get("baud") or 0),
            )
            for number, line in enumerate(table[:MOST_LINKS])
        ]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return []


def _running_flights() -> list[LaunchSettings]:
    try:
        return running.flights()
    except AeroloopError:
        return []


def first_parts(flights: Mapping[str, LaunchSettings]) -> set[str]:
    """Flights by their first part: for a fleet, that part is shown by default."""
    return {each for each, launch in flights.items() if not launch.parts or launch.parts[0] == launch.folder}


def _folder(chosen: LaunchSettings | Router) -> Path:
    return chosen.folder_path if isinstance(chosen, LaunchSettings) else chosen.folder


def _router_name(name: str) -> str:
    return f"router {name}"


def _begun_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0
