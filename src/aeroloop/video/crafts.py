"""The aircraft of a log: names, shapes, and their poses at any time.

Poses are those of the stream `truth`, interpolated; hinges and rotors are read as the dashboard reads them, from the
family's page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aeroloop.cameras.pinhole import BodyPose, between
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.core.shape import Shape
from aeroloop.core.stream import Track
from aeroloop.core.suggest import did_you_mean
from aeroloop.core.tables import calling, family
from aeroloop.dashboard import family_page, readings
from aeroloop.dashboard.family_page import Page
from aeroloop.dashboard.replay import Recording, ReplayStore
from aeroloop.dashboard.watched_fleet import Part, WatchedFleet

POSITION, QUATERNION = ("x_m", "y_m", "z_m"), ("qw", "qx", "qy", "qz")
COLOURS = (
    *((0.12, 0.53, 0.90), (0.90, 0.22, 0.21), (0.26, 0.63, 0.28), (0.56, 0.14, 0.67)),
    *((0.98, 0.55, 0.0), (0.0, 0.54, 0.48), (0.85, 0.11, 0.38), (0.37, 0.21, 0.69)),
)
"""Of each aircraft, repeated after the last: as in the dashboard's 3D view."""
ORIGIN: Vec3 = (0.0, 0.0, 0.0)
SMOOTH_S = 0.8
"""The heading that a camera follows is a mean over this time before and after."""
HEADINGS_HZ = 50.0


@dataclass(frozen=True)
class Moving:
    """A pose with the angles of hinges (rad), in the order of the shape."""

    pose: BodyPose
    hinges_rad: tuple[float, ...]


class Craft:
    """One aircraft of a log."""

    def __init__(
        self, name: str, scenario: Scenario, store: ReplayStore, vehicle: int, rows: Vec, *, origin_W: Vec3, number: int
    ) -> None:
        """`rows`: time, position and quaternion (n, 8), finite; `number`: in the film, which gives its colour."""
        self.name, self.scenario, self.store, self.vehicle = name, scenario, store, vehicle
        self.rgb = COLOURS[number % len(COLOURS)]
        self.t_s = rows[:, 0]
        self.pos_W: Vec = rows[:, 1:4] + np.array(origin_W)
        self._quat: Vec = rows[:, 4:8]
        self._origin_W = origin_W
        self.page: Page[Scenario] = family_page.of(scenario)
        self._pages = (family(scenario.kind).page,) if family(scenario.kind).page else ()

    @cached_property
    def shape(self) -> Shape:
        return self.page.shape(self.scenario)

    def pose(self, t_s: float) -> BodyPose:
        """Interpolated; before the first row and after the last that row's."""
        index = int(np.searchsorted(self.t_s, t_s, side="right"))
        return between(self._row(max(0, index - 1)), self._row(min(index, len(self.t_s) - 1)), t_s)

    def _row(self, index: int) -> BodyPose:
        x, y, z = self.pos_W[index].tolist()
        w, i, j, k = self._quat[index].tolist()
        return BodyPose(float(self.t_s[index]), (x, y, z), (w, i, j, k))

    def moving(self, t_s: float) -> Moving:
        """After `store.seek` to that time."""
        with calling(self._pages):
            hinges = tuple(self.page.hinges(self.store, self.vehicle))
        return Moving(self.pose(t_s), tuple(angle if math.isfinite(angle) else 0.0 for angle in hinges))

    def rotor_rates(self) -> list[float]:
        """As displayed (rad/s), after `store.seek`: slower than true, so that they do not alias."""
        with calling(self._pages):
            directions = [rotor.direction for rotor in self.shape.rotors]
            return readings.shown_rates(self.store, self.scenario, self.vehicle, directions)

    @cached_property
    def _headings(self) -> tuple[Vec, Vec]:
        """Times, and the running integral of the unit vector of the heading."""
        start_s, end_s = float(self.t_s[0]), float(self.t_s[-1])
        times_s = start_s + np.arange(max(2, math.ceil((end_s - start_s) * HEADINGS_HZ) + 1)) / HEADINGS_HZ
        w, x, y, z = self._quat[np.searchsorted(self.t_s, times_s, side="right") - 1].T
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        integral = np.cumsum(np.column_stack([np.cos(yaw), np.sin(yaw)]), axis=0) / HEADINGS_HZ
        return times_s, integral

    def heading_rad(self, t_s: float) -> float:
        """Of the nose, from east counter-clockwise: the direction of its mean over some time."""
        times_s, integral = self._headings
        low_s = min(max(t_s - SMOOTH_S, times_s[0]), times_s[-1] - 1 / HEADINGS_HZ)
        high_s = max(min(t_s + SMOOTH_S, times_s[-1]), low_s + 1 / HEADINGS_HZ)
        east, north = (np.interp(high_s, times_s, c) - np.interp(low_s, times_s, c) for c in integral.T)
        return math.atan2(float(north), float(east))

    def places(self, track: Track) -> Vec:
        """Time and position of all rows of a track (n, 4), finite; empty if the log has no such stream."""
        self.store.seek(math.inf)
        rows = readings.places(self.store, self.scenario, track, self.vehicle, -math.inf)
        found: Vec = np.array(rows).reshape(-1, 4)
        known: Vec = found[np.isfinite(found).all(axis=1)]
        known[:, 1:] += np.array(self._origin_W)
        return known

    def plan(self) -> Vec:
        """The path of the scenario itself (n, 3)."""
        with calling(self._pages):
            points: Vec = np.array(self.page.plan(self.scenario, self.vehicle), dtype=float).reshape(-1, 3)
        moved: Vec = points + np.array(self._origin_W)
        return moved


def of_recording(recording: Recording, wanted: str = "") -> list[Craft]:
    """All aircraft, that with the wanted name or number (from 1) first, in whose world the others are; without one the
    first of the log."""
    stores = {part.scenario.name: ReplayStore(part) for part in recording.parts}
    found = [(part, vehicle) for part in recording.parts for vehicle in range(part.scenario.aircraft.count)]
    names = [
        part.scenario.name if part.scenario.aircraft.count == 1 else f"{part.scenario.name}-{vehicle + 1}"
        for part, vehicle in found
    ]
    chosen = _chosen(names, wanted)
    fleet = WatchedFleet(
        {part.scenario.name: Part(part.scenario, stores[part.scenario.name], None) for part in recording.parts}
    )
    own = found[chosen][0].scenario.name
    fleet.choose(own)
    origins = dict(zip((part.scenario.name for part in fleet.beside), fleet.origins_W(), strict=True))
    crafts = []
    for number, ((part, vehicle), name) in enumerate(zip(found, names, strict=True)):
        rows = _truth(part.rows.get("truth"), next((s.names for s in part.streams if s.name == "truth"), ()), vehicle)
        if len(rows):
            scenario = part.scenario
            origin_W = origins.get(scenario.name, ORIGIN)
            crafts.append(Craft(name, scenario, stores[scenario.name], vehicle, rows, origin_W=origin_W, number=number))
    if not any(craft.name == names[chosen] for craft in crafts):
        raise ConfigError(
            f"{recording.folder}: no positions of {names[chosen]}; expected rows with x_m, y_m and z_m in stream truth"
        )
    return sorted(crafts, key=lambda craft: craft.name != names[chosen])


def _chosen(names: Sequence[str], wanted: str) -> int:
    if not wanted:
        return 0
    if wanted in names:
        return names.index(wanted)
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    like = did_you_mean(wanted, names)
    raise ConfigError(
        f"--aircraft {wanted}: not in this log{like}; expected one of: {', '.join(names)}, or a number from 1"
    )


def _truth(rows: Vec | None, names: Sequence[str], vehicle: int) -> Vec:
    """Time, position and quaternion of one aircraft (n, 8); without an attitude it is level."""
    if rows is None or not set(POSITION) <= set(names):
        return np.empty((0, 8))
    own = rows[rows[:, 1] == vehicle] if names[1:2] == ("vehicle",) else rows
    level = np.tile([1.0, 0.0, 0.0, 0.0], (len(own), 1))
    quat = own[:, [names.index(name) for name in QUATERNION]] if set(QUATERNION) <= set(names) else level
    found = np.column_stack([own[:, 0], own[:, [names.index(name) for name in POSITION]], quat])
    found = found[np.isfinite(found).all(axis=1)]
    ordered: Vec = found[np.diff(found[:, 0], prepend=-np.inf) > 0]
    return ordered
