"""Actions of all pages on a flight: commands sent, waypoints planned, the page with the sticks.

One per flight, shared by all pages, so that a reloaded or second page shows the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from aeroloop.core.frames import Vec3
from aeroloop.dashboard.stick_driver import Driver
from aeroloop.dashboard.sticks import Hands
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.missions import Geodetic, Item, mission
from aeroloop.ground.pilot_commands import PilotConfig, Waypoint

MOST_ENTRIES = 200
MOST_WAYPOINTS = 100
Ending = Literal["return", "land", "hold"]


@dataclass(slots=True)
class Entry:
    """One command and its result."""

    t_s: float  # simulated
    command: str
    outcome: str = "…"
    severity: Severity = "info"

    @property
    def pending(self) -> bool:
        return self.outcome == "…"

    def __str__(self) -> str:
        return f"{self.t_s:.1f} s {self.command}: {self.outcome}"


@dataclass
class FlyPageState:
    """The state of the fly page that is kept when a page is closed."""

    flight_id: str = ""
    log: deque[Entry] = field(default_factory=lambda: deque(maxlen=MOST_ENTRIES))
    plan: list[Waypoint] = field(default_factory=list)
    ending: Ending = "return"
    target: tuple[float, float] | None = None
    hands: Hands = field(default_factory=Hands)
    driver: Driver | None = None
    ended: Driver | None = None  # the previous one
    parameters: dict[int, dict[str, float]] = field(default_factory=dict)  # of each aircraft, as last received
    revision: int = 0  # incremented with every visible change

    def touched(self) -> None:
        self.revision += 1

    def begin(self, t_s: float, command: str) -> Entry:
        entry = Entry(t_s, command)
        self.log.appendleft(entry)
        self.touched()
        return entry

    def finish(self, entry: Entry, outcome: str, severity: Severity) -> None:
        entry.outcome, entry.severity = outcome, severity
        self.touched()

    def note_end_of_sticks(self, t_s: float) -> None:
        """Once for each driver, by whichever page is first."""
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
        """Ignored if there is no such number: another page may have removed it."""
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
        """The plan as a mission of an aircraft that started at `start_m`, its take-off position."""
        east_m, north_m = start_m

        def moved(pos_m: Vec3, sign: float) -> Vec3:
            return pos_m[0] + sign * east_m, pos_m[1] + sign * north_m, pos_m[2]

        waypoints = tuple(msgspec.structs.replace(point, pos_m=moved(point.pos_m, -1.0)) for point in self.plan)
        config = PilotConfig(waypoints=waypoints, ending=self.ending)
        return mission(config, lambda pos_m: geodetic(moved(pos_m, 1.0)))


def state_of(watched: WatchedFlight) -> FlyPageState:
    """The state for the shown flight; a new flight gets a new one."""
    fly_state: FlyPageState | None = watched.page_state
    if fly_state is None or fly_state.flight_id != watched.flight_id:
        if fly_state is not None and fly_state.driver is not None:
            fly_state.driver.stop()
        fly_state = watched.page_state = FlyPageState(watched.flight_id)
    return fly_state
