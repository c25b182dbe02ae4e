"""What the people at the pages have done to a flight: orders given, waypoints planned, who has the sticks.

One for each flight and shared by all pages, so that a page that is loaded anew, or a second one, shows the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal
from weakref import WeakKeyDictionary

import msgspec

from aeroloop.core.frames import Vec3
from aeroloop.dashboard.stick_driver import Driver
from aeroloop.dashboard.sticks import Hands
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.missions import Geodetic, Item, mission
from aeroloop.ground.orders import PilotConfig, Waypoint

MOST_ENTRIES = 200
MOST_WAYPOINTS = 100
Ending = Literal["return", "land", "hold"]


@dataclass(slots=True)
class Entry:
    """One order and what became of it."""

    t_s: float  # simulated
    order: str
    outcome: str = "…"
    severity: Severity = "info"

    @property
    def pending(self) -> bool:
        return self.outcome == "…"

    def __str__(self) -> str:
        return f"{self.t_s:.1f} s {self.order}: {self.outcome}"


@dataclass
class FlyPageState:
    """The state of the fly page that outlives a page."""

    flight_id: str = ""
    log: deque[Entry] = field(default_factory=lambda: deque(maxlen=MOST_ENTRIES))
    plan: list[Waypoint] = field(default_factory=list)
    ending: Ending = "return"
    target: tuple[float, float] | None = None
    hands: Hands = field(default_factory=Hands)
    driver: Driver | None = None
    ended: Driver | None = None  # the one before
    parameters: dict[int, dict[str, float]] = field(default_factory=dict)  # of each aircraft, as last heard
    revision: int = 0  # counts up with everything that a page shows

    def touched(self) -> None:
        self.revision += 1

    def begin(self, t_s: float, order: str) -> Entry:
        entry = Entry(t_s, order)
        self.log.appendleft(entry)
        self.touched()
        return entry

    def finish(self, entry: Entry, outcome: str, severity: Severity) -> None:
        entry.outcome, entry.severity = outcome, severity
        self.touched()

    def note_end_of_sticks(self, t_s: float) -> None:
        """Once for each driver, whichever page sees it first."""
        driver = self.driver
        if driver is not None and not driver.running:
            self.driver, self.ended = None, driver
            self.hands.release(self.hands.holder)
            self.finish(self.begin(t_s, "sticks"), driver.ended, "bad" if driver.failed else "ok")

    def add_waypoint(self, east_m: float, north_m: float, height_m: float) -> bool:
        if len(self.plan) >= MOST_WAYPOINTS:
            return False
        self.plan.append(Waypoint((east_m, north_m, height_m)))
        self.touched()
        return True

    def change_waypoint(
        self,
        number: int,
        *,
        place: tuple[float, float] | None = None,
        height_m: float | None = None,
        hold_s: float | None = None,
    ) -> None:
        """Nothing where there is none of that number: another page may have removed it."""
        if not 0 <= number < len(self.plan):
            return
        waypoint = self.plan[number]
        east_m, north_m, up_m = waypoint.pos_m
        pos_m = (*(place or (east_m, north_m)), up_m if height_m is None else height_m)
        self.plan[number] = Waypoint(pos_m, waypoint.hold_s if hold_s is None else hold_s, waypoint.speed_m_s)
        self.touched()

    def remove_waypoint(self, number: int) -> None:
        if 0 <= number < len(self.plan):
            del self.plan[number]
            self.touched()

    def clear_plan(self) -> None:
        self.plan.clear()
        self.touched()

    def items(self, geodetic: Geodetic, start_m: tuple[float, float]) -> tuple[Item, ...]:
        """The plan as the mission of an aircraft that started at `start_m`: that is where it takes off."""
        east_m, north_m = start_m

        def moved(pos_m: Vec3, sign: float) -> Vec3:
            return pos_m[0] + sign * east_m, pos_m[1] + sign * north_m, pos_m[2]

        waypoints = tuple(msgspec.structs.replace(point, pos_m=moved(point.pos_m, -1.0)) for point in self.plan)
        config = PilotConfig(waypoints=waypoints, ending=self.ending)
        return mission(config, lambda pos_m: geodetic(moved(pos_m, 1.0)))


_STATES: WeakKeyDictionary[WatchedFlight, FlyPageState] = WeakKeyDictionary()


def state_of(watched: WatchedFlight) -> FlyPageState:
    """Of the flight that is watched; a new flight gets a new one."""
    fly_state = _STATES.get(watched)
    if fly_state is None or fly_state.flight_id != watched.flight_id:
        if fly_state is not None and fly_state.driver is not None:
            fly_state.driver.stop()
        fly_state = _STATES[watched] = FlyPageState(watched.flight_id)
    return fly_state
