"""The 3D view: nicegui's scene with three objects of our own, whose scripts run in the browser.

The server sends a pose for each aircraft, at most 20 times a second and all in one message; `craft.js` interpolates
between them and turns the rotors, `path.js` extends lines, `stage.js` has the ground and cameras.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from nicegui import ui
from nicegui.elements.scene.scene_object3d import Object3D

from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.core.shape import Shape
from aeroloop.core.stream import TRUTH, Track
from aeroloop.dashboard import family_page, ground, readings, world_objects
from aeroloop.dashboard.family_page import Page
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.trails import MOST_POINTS, PLAN_POINTS, Trail
from aeroloop.dashboard.world_objects import LEVEL
from aeroloop.world.placed_objects import PlacedObject

Camera = Literal["follow", "free", "top"]

FLOWN_COLOURS = ("#1e88e5", "#e53935", "#43a047", "#8e24aa", "#fb8c00", "#00897b", "#d81b60", "#5e35b1")
"""One for each aircraft of a swarm, repeated after the last."""
SETPOINT_COLOUR = "#f59e0b"
PLAN_COLOUR = "#94a3b8"
MISSION_COLOUR = "#d946ef"
MOST_WAYPOINTS = 100
MOST_TOLD_PATHS, MOST_TOLD_POINTS = 8, 400
"""Limits for paths reported by a board: the newest paths, and the last points of each."""
LABELS = (("N", (0.0, 3.0, 0.0)), ("E", (3.0, 0.0, 0.0)), ("home", (0.0, 0.0, 0.0)))
"""For flights that start at the origin of the world."""
LABEL_STYLE = "font: 600 12px sans-serif; color: #fff; background: #0008; padding: 0 5px; border-radius: 6px"
MARK_M = 0.12
ORIGIN: Vec3 = (0.0, 0.0, 0.0)
LINES_EVERY = 4
"""Number of updates between two extensions of lines: 5 times a second at 20."""


class Stage(Object3D, component="stage.js"):
    def __init__(self, scene_id: int, flat: bool, relief_id: str, home: bool) -> None:
        super().__init__(scene_id, flat, relief_id, "follow", "", 1.0, 0.0, home)

    def look(self, camera: Camera, target: str, reach_m: float, span_m: float) -> None:
        self.args[3:7] = [camera, target, reach_m, span_m]
        self.run_method("look", camera, target, reach_m, span_m)


class Craft(Object3D, component="craft.js"):
    def __init__(self, shape: Shape, colour: str) -> None:
        super().__init__(shape.plain(), colour)


class Path(Object3D, component="path.js"):
    def __init__(self, points: list[Vec3], colour: str, *, width_px: float, opacity: float, most: int) -> None:
        super().__init__(points, colour, width_px, opacity, most)


class TrailLine:
    """A trail of one stream, and the object that draws it."""

    def __init__(self, scenario: Scenario, track: Track, vehicle: int, path: Path, origin_W: Vec3 = ORIGIN) -> None:
        self.scenario, self.track, self.vehicle, self.path = scenario, track, vehicle, path
        self._finest_m = family_page.of(scenario).trail_m
        self.trail = Trail(finest_m=self._finest_m)
        self.flown = track == TRUTH  # not a setpoint
        self._origin_W = origin_W

    def calls(self, store: Store) -> list[list[Any]]:
        anew = store.t_s < self.trail.t_s  # a replay went back
        if anew:
            self.trail = Trail(finest_m=self._finest_m)
        rows = readings.places(store, self.scenario, self.track, self.vehicle, self.trail.t_s)
        if self._origin_W != ORIGIN:
            rows = [(t_s, *_moved((x, y, z), self._origin_W)) for t_s, x, y, z in rows]
        change = self.trail.feed(rows)
        # A browser that lost its scene rebuilds it from these.
        self.path.args[0] = self.trail.points
        if anew:
            return [_call(self.path, "set", self.trail.points)]
        return [] if change is None else [_call(self.path, change.deed, change.points)]


class ReportedPaths:
    """The paths reported by a board, each a line that is extended as points arrive."""

    def __init__(self, scene: ui.scene, told: Callable[[Store], Mapping[int, list[Vec3]]]) -> None:
        self._scene, self._told = scene, told
        self._lines: dict[int, tuple[Path, int]] = {}

    def calls(self, store: Store) -> list[list[Any]]:
        told = dict(list(self._told(store).items())[-MOST_TOLD_PATHS:])
        for number in self._lines.keys() - told.keys():
            self._lines.pop(number)[0].delete()
        calls = []
        for number, all_points in told.items():
            points = all_points[-MOST_TOLD_POINTS:]
            if number not in self._lines:
                with self._scene:
                    line = Path(points, PLAN_COLOUR, width_px=2.0, opacity=0.9, most=MOST_TOLD_POINTS)
                self._lines[number] = line, len(points)
            elif self._lines[number][1] != len(points):
                line = self._lines[number][0]
                line.args[0] = points
                self._lines[number] = line, len(points)
                calls.append(_call(line, "set", points))
        return calls


class Group:
    """The aircraft of one part of a flight, in the scene."""

    def __init__(self, scenario: Scenario, colour: int, origin_W: Vec3 = ORIGIN) -> None:
        """`colour`: of the first aircraft; `origin_W`: origin of its world in the scene."""
        self.scenario, self.origin_W = scenario, origin_W
        self.crafts: list[Craft] = []
        self.lines: list[TrailLine] = []
        page = family_page.of(scenario)
        self.shape = page.shape(scenario)
        for vehicle in range(readings.vehicles(scenario)):
            self._add(page, vehicle, FLOWN_COLOURS[(colour + vehicle) % len(FLOWN_COLOURS)])

    def _add(self, page: Page[Any], vehicle: int, colour: str) -> None:
        planned = [_moved(point, self.origin_W) for point in page.plan(self.scenario, vehicle)]
        if planned:
            Path(planned, PLAN_COLOUR, width_px=1.5, opacity=0.8, most=max(PLAN_POINTS, len(planned)))
        for track, tint, width_px in ((page.setpoint, SETPOINT_COLOUR, 2.0), (TRUTH, colour, 3.0)):
            path = Path([], tint, width_px=width_px, opacity=0.9, most=MOST_POINTS + 1)
            self.lines.append(TrailLine(self.scenario, track, vehicle, path, self.origin_W))
        self.crafts.append(Craft(self.shape, colour))

    def poses(self, store: Store) -> list[list[Any]]:
        calls = []
        directions = [rotor.direction for rotor in self.shape.rotors]
        for vehicle, craft in enumerate(self.crafts):
            pose = readings.pose(store, self.scenario, vehicle)
            if pose is None:
                continue
            rates = readings.shown_rates(store, self.scenario, vehicle, directions)
            pos_W = _moved(pose.pos_W, self.origin_W)
            place, attitude, hinges = (
                [round(value, 4) for value in values] for values in (pos_W, pose.quat_WB, pose.hinges_rad)
            )
            calls.append(_call(craft, "pose", place, attitude, hinges, rates))
        return calls


class View:
    """The scene of one page. `show` when a flight starts, `update` when rows arrive."""

    def __init__(self, scene: ui.scene) -> None:
        self.scene = scene
        self.camera: Camera = "follow"
        self.followed = 0
        self._stood = False  # what was shown last
        self._own: Group | None = None  # the part that the pages show
        self._beside: list[Group] = []
        self._objects: list[tuple[Craft, PlacedObject | None]] = []  # None: all that stand
        self._stage: Stage | None = None
        self._told_paths: ReportedPaths | None = None
        self._waypoints: list[Vec3] = []
        self._mission: list[Object3D] = []
        self._updates = 0
        self._last: list[list[Any]] = []
        scene.on("init", self._resend)

    def _resend(self) -> None:
        """A browser that has created or recreated its scene has no poses yet."""
        self._last, self._updates = [], 0

    def show(self, scenario: Scenario | None, beside: Sequence[tuple[Scenario, Vec3]] = ()) -> None:
        """Remove the previous flight and show this one. `beside`: other parts of the fleet, and the origins of their
        worlds in that of the scenario."""
        self.scene.delete_objects()
        self._own, self._beside, self._last, self._objects = None, [], [], []
        self._waypoints, self._mission = [], []
        self._told_paths = None
        self.followed = 0
        relief = ground.of_scenario(scenario) if scenario is not None else None
        page = family_page.of(scenario) if scenario is not None else family_page.PLAIN
        if page.stands != self._stood:
            self.camera, self._stood = "free" if page.stands else "follow", page.stands
        with self.scene as scene:
            surface = scene.texture(relief.picture_url, relief.coordinates) if relief is not None else None
            self._stage = Stage(scene.id, surface is None, surface.id if surface is not None else "", page.home)
            for words, place in LABELS if page.home else ():
                scene.text(words, LABEL_STYLE).move(*place)
            if page.told_paths is not None:
                self._told_paths = ReportedPaths(scene, partial(page.told_paths, scenario))
            if scenario is not None:
                self._objects = _objects(scenario)
                self._own = Group(scenario, 0)
                for number, (other, origin_W) in enumerate(beside, start=len(self._own.crafts)):
                    self._beside.append(Group(other, number, origin_W))
        self.look(self.camera)

    def show_mission(self, waypoints: list[Vec3]) -> None:
        """The waypoints planned on the fly page; redrawn only when they have changed."""
        waypoints = waypoints[:MOST_WAYPOINTS]
        if waypoints == self._waypoints:
            return
        for thing in self._mission:
            thing.delete()
        self._waypoints, self._mission = waypoints, []
        with self.scene as scene:
            for number, place in enumerate(waypoints, start=1):
                self._mission.append(scene.sphere(MARK_M, 12, 8).material(MISSION_COLOUR).move(*place))
                self._mission.append(scene.text(f"{number}", LABEL_STYLE).move(*place))
            if len(waypoints) > 1:
                self._mission.append(Path(waypoints, MISSION_COLOUR, width_px=2.0, opacity=0.9, most=len(waypoints)))

    def look(self, camera: Camera) -> None:
        """Select a camera; a free one stays where it is."""
        self.camera = camera
        if self._stage is not None and self._own is not None and self._own.crafts:
            own = self._own
            self._stage.look(camera, own.crafts[self.followed].id, own.shape.reach_m, self._span_m(own.lines))

    def follow(self, vehicle: int) -> None:
        self.followed = min(vehicle, max(0, len(self._own.crafts) - 1 if self._own is not None else 0))
        self.look(self.camera)

    def _span_m(self, lines: list[TrailLine]) -> float:
        """Extent of the flight around the followed aircraft, for the camera from above."""
        points = [point for line in lines for point in line.trail.points] + self._waypoints
        mine = [line.trail.points for line in lines if line.vehicle == self.followed and line.flown]
        here = next((trail[-1] for trail in mine if trail), None)
        return max((math.dist(point[:2], here[:2]) for point in points), default=0.0) if here else 0.0

    def update(self, store: Store, beside: Sequence[Store] = ()) -> None:
        """Send changes, if any. `beside`: the other parts of the fleet, as in `show`."""
        if self._own is None or self._stage is None:
            return
        groups = [(self._own, store), *zip(self._beside, beside, strict=False)]
        calls = [call for group, of_group in groups for call in group.poses(of_group)]
        calls += [_object_call(craft, thing, store.t_s) for craft, thing in self._objects]
        if calls == self._last:
            calls = []
        else:
            self._last = calls
        if self._updates % LINES_EVERY == 0:
            calls = calls + [call for group, rows in groups for line in group.lines for call in line.calls(rows)]
            if self._told_paths is not None:
                calls += self._told_paths.calls(store)
            wind_W = readings.wind_W(store, self.followed)
            ground_m = readings.ground_m(store, self.followed)
            if calls and wind_W is not None and math.isfinite(ground_m):
                calls.append(_call(self._stage, "air", round(wind_W[0], 2), round(wind_W[1], 2), round(ground_m, 2)))
        self._updates += 1
        self._send(calls)

    def _send(self, calls: list[list[Any]]) -> None:
        if calls:
            self.scene.run_method("run_methods", calls)


def _objects(scenario: Scenario) -> list[tuple[Craft, PlacedObject | None]]:
    """Objects of the world: those that stand are one object of the scene, the others one each."""
    things = world_objects.of_scenario(scenario)
    standing = world_objects.standing(things)
    drawn: list[tuple[Craft, PlacedObject | None]] = [(Craft(standing, ""), None)] if standing is not None else []
    return [*drawn, *((Craft(world_objects.moving(thing), ""), thing) for thing in things if thing.moving)]


def _object_call(craft: Craft, thing: PlacedObject | None, t_s: float) -> list[Any]:
    place, attitude = (ORIGIN, LEVEL) if thing is None else thing.pose(t_s if math.isfinite(t_s) else 0.0)
    return _call(craft, "pose", *([round(value, 4) for value in values] for values in (place, attitude)), [], [])


def _moved(pos_W: Vec3, by_W: Vec3) -> Vec3:
    return pos_W[0] + by_W[0], pos_W[1] + by_W[1], pos_W[2] + by_W[2]


def _call(thing: Object3D, method: str, *args: Any) -> list[Any]:
    """One entry for the scene's `run_methods`, so that many calls are sent in one message."""
    return ["run_method_on_component", thing.id, method, *args]
