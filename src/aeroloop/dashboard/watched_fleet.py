"""The parts of the shown flight: pages show one of them, and the 3D view the others beside it.

Every part is read from the start, so that the history is available when it is selected.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from aeroloop.core.errors import LinkError
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.stream import Stream
from aeroloop.core.streams import streams_of
from aeroloop.dashboard.store import Store
from aeroloop.flight.processes.common import LaunchSettings, launch_settings_of_parts
from aeroloop.realtime.feed import FeedIn
from aeroloop.world.earth import Earth, Home

FARTHEST_M = 50_000.0
"""Worlds farther apart are drawn at one location."""


@dataclass
class Part:
    scenario: Scenario
    store: Store
    feed: FeedIn | None
    problem: str = ""  # why it cannot be read


class WatchedFleet:
    def __init__(self, parts: dict[str, Part] | None = None) -> None:
        """`parts`: of a recorded flight; those of a running one are set by `show`."""
        self._folders: tuple[str, ...] = ()
        self._parts: dict[str, Part] = parts or {}
        self._shown = ""

    def choose(self, name: str) -> Part:
        """Select the part that pages show."""
        self._shown = name
        return self._parts[name]

    def holds(self, launch: LaunchSettings) -> bool:
        """Whether it is another part of the shown flight."""
        return bool(launch.parts) and tuple(launch.parts) == self._folders

    def show(self, launch: LaunchSettings) -> Part:
        """Select the part that pages show."""
        if not self.holds(launch):
            self._folders = tuple(launch.parts)
            self._parts = {each.folder: _listened(each) for each in _all(launch)}
        return self.choose(launch.folder)

    @property
    def beside(self) -> list[Part]:
        """The other parts, in order."""
        return [part for folder, part in self._parts.items() if folder != self._shown]

    def origins_W(self) -> list[Vec3]:
        """The origin of the world of each part in `beside`, in that of the shown part."""
        shown = self._parts.get(self._shown)
        homes = {folder: _home(part.scenario) for folder, part in self._parts.items()}
        common = next((home for home in homes.values() if home is not None), None)
        if shown is None or common is None:
            return [(0.0, 0.0, 0.0)] * len(self.beside)
        earth = Earth(homes[self._shown] or common)
        return [_origin_W(earth, _home(part.scenario) or common) for part in self.beside]

    def read(self) -> list[tuple[Part, Stream, tuple[float, ...]]]:
        """Read the rows of the other parts into their stores."""
        taken = []
        for part in self.beside:
            try:
                rows = part.feed.rows() if part.feed is not None else []
            except LinkError:  # it has ended
                continue
            for stream, row in rows:
                part.store.add(stream, row)
                taken.append((part, stream, row))
        return taken

    def close(self) -> None:
        """Rows are kept, until another flight is shown."""
        for part in self._parts.values():
            if part.feed is not None:
                part.feed.close()
                part.feed = None


def _all(launch: LaunchSettings) -> list[LaunchSettings]:
    try:
        return launch_settings_of_parts(launch)
    except (OSError, msgspec.MsgspecError):  # it is just ending
        return [launch]


def _listened(launch: LaunchSettings) -> Part:
    store = Store(streams_of(launch.scenario))
    try:
        return Part(launch.scenario, store, FeedIn(launch.folder_path))
    except LinkError as error:
        return Part(launch.scenario, store, None, str(error))


def _home(scenario: Scenario) -> Home | None:
    home = value_at(scenario, "world.home")
    return home if isinstance(home, Home) else None


def _origin_W(earth: Earth, home: Home) -> Vec3:
    east_m, north_m, up_m = earth.pos_W(home.lat_deg, home.lon_deg, home.alt_m)
    near = max(abs(east_m), abs(north_m)) < FARTHEST_M
    return (east_m, north_m, up_m) if near else (0.0, 0.0, 0.0)
