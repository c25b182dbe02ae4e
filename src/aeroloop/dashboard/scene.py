"""The 3D view: nicegui's scene with three objects of our own, whose scripts run in the browser.

The server sends a pose for each aircraft, at most 20 times a second and all in one message; `craft.js` glides between
them and turns the rotors, `path.js` lets lines grow, `stage.js` holds ground and cameras.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from nicegui import ui
from nicegui.elements.scene.scene_object3d import Object3D

from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page, ground, readings, shapes
from aeroloop.dashboard.family_page import Track
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.trails import MOST_POINTS, PLAN_POINTS, Trail

Camera = Literal["follow", "free", "top"]

FLOWN_COLOURS = ("#1e88e5", "#e53935", "#43a047", "#8e24aa", "#fb8c00", "#00897b", "#d81b60", "#5e35b1")
"""One for each aircraft of a swarm, over again after the last."""
SETPOINT_COLOUR = "#f59e0b"
PLAN_COLOUR = "#94a3b8"
MISSION_COLOUR = "#d946ef"
MOST_WAYPOINTS = 100
MOST_TOLD_PATHS, MOST_TOLD_POINTS = 8, 400
"""Of the paths that a board tells of, the newest, and of each the last points."""
LABELS = (("N", (0.0, 3.0, 0.0)), ("E", (3.0, 0.0, 0.0)), ("home", (0.0, 0.0, 0.0)))
"""Of flights that begin at the origin of the world."""
LABEL_STYLE = "font: 600 12px sans-serif; color: #fff; background: #0008; padding: 0 5px; border-radius: 6px"
MARK_M = 0.12
LINES_EVERY = 4
"""Lines grow at every so many updates: 5 times a second at 20."""


class Stage(Object3D, component="stage.js"):
    def __init__(self, scene_id: int, flat: bool, relief_id: str, home: bool) -> None:
        super().__init__(scene_id, flat, relief_id, "follow", "", 1.0, 0.0, home)

    def look(self, camera: Camera, target: str, reach_m: float, span_m: float) -> None:
        self.args[3:7] = [camera, target, reach_m, span_m]
        self.run_method("look", camera, target, reach_m, span_m)


class Craft(Object3D, component="craft.js"):
    def __init__(self, shape: shapes.Shape, colour: str) -> None:
        super().__init__(shape.plain(), colour)


class Path(Object3D, component="path.js"):
    def __init__(self, points: list[Vec3], colour: str, *, width_px: float, opacity: float, most: int) -> None:
        super().__init__(points, colour, width_px, opacity, most)


class Line:
    """A trail of one stream, and the object that draws it."""

    def __init__(self, scenario: Scenario, track: Track, vehicle: int, path: Path) -> None:
        self.scenario, self.track, self.vehicle, self.path = scenario, track, vehicle, path
        self.trail = Trail()
        self.flown = track == family_page.TRUTH  # not a setpoint

    def calls(self, store: Store) -> list[list[Any]]:
        change = self.trail.feed(readings.places(store, self.scenario, self.track, self.vehicle, self.trail.t_s))
        # A browser that lost its scene builds it anew from these.
        self.path.args[0] = self.trail.points
        return [] if change is None else [_call(self.path, change.deed, change.points)]


class ToldPaths:
    """The paths that a board has told of, each a line that grows as its points come."""

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


class View:
    """The scene of one page. `show` when a flight begins, `update` as rows come."""

    def __init__(self, scene: ui.scene) -> None:
        self.scene = scene
        self.camera: Camera = "follow"
        self.followed = 0
        self._scenario: Scenario | None = None
        self._shape: shapes.Shape | None = None
        self._crafts: list[Craft] = []
        self._lines: list[Line] = []
        self._stage: Stage | None = None
        self._told_paths: ToldPaths | None = None
        self._waypoints: list[Vec3] = []
        self._mission: list[Object3D] = []
        self._updates = 0
        self._last: list[list[Any]] = []
        scene.on("init", self._resend)

    def _resend(self) -> None:
        """A browser that has just set up its scene, for the first time or anew, knows no poses."""
        self._last, self._updates = [], 0

    def show(self, scenario: Scenario | None) -> None:
        """Take everything of the flight before away and set up this one."""
        self.scene.delete_objects()
        self._crafts, self._lines, self._last = [], [], []
        self._waypoints, self._mission = [], []
        self._told_paths = None
        self._scenario = scenario
        self.followed = 0
        relief = ground.of_scenario(scenario) if scenario is not None else None
        page = family_page.of(scenario) if scenario is not None else family_page.PLAIN
        with self.scene as scene:
            surface = scene.texture(relief.picture_url, relief.coordinates) if relief is not None else None
            self._stage = Stage(scene.id, surface is None, surface.id if surface is not None else "", page.home)
            for words, place in LABELS if page.home else ():
                scene.text(words, LABEL_STYLE).move(*place)
            if page.told_paths is not None:
                self._told_paths = ToldPaths(scene, partial(page.told_paths, scenario))
            if scenario is not None:
                self._shape = page.shape(scenario)
                for vehicle in range(readings.vehicles(scenario)):
                    self._add(scenario, self._shape, vehicle)
        self.look(self.camera)

    def _add(self, scenario: Scenario, shape: shapes.Shape, vehicle: int) -> None:
        colour = FLOWN_COLOURS[vehicle % len(FLOWN_COLOURS)]
        page = family_page.of(scenario)
        planned = page.plan(scenario, vehicle)
        if planned:
            Path(planned, PLAN_COLOUR, width_px=1.5, opacity=0.8, most=max(PLAN_POINTS, len(planned)))
        for track, tint, width_px in ((page.setpoint, SETPOINT_COLOUR, 2.0), (family_page.TRUTH, colour, 3.0)):
            path = Path([], tint, width_px=width_px, opacity=0.9, most=MOST_POINTS + 1)
            self._lines.append(Line(scenario, track, vehicle, path))
        self._crafts.append(Craft(shape, colour))

    def show_mission(self, waypoints: list[Vec3]) -> None:
        """The waypoints that were planned on the fly page; drawn anew only when they are different."""
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
        """Put the camera there; a free one stays where it is."""
        self.camera = camera
        if self._stage is not None and self._shape is not None and self._crafts:
            self._stage.look(camera, self._crafts[self.followed].id, self._shape.reach_m, self._span_m())

    def follow(self, vehicle: int) -> None:
        self.followed = min(vehicle, max(0, len(self._crafts) - 1))
        self.look(self.camera)

    def _span_m(self) -> float:
        """How far the flight reaches from the followed aircraft, for the camera that looks down on all of it."""
        points = [point for line in self._lines for point in line.trail.points] + self._waypoints
        mine = [line.trail.points for line in self._lines if line.vehicle == self.followed and line.flown]
        here = next((trail[-1] for trail in mine if trail), None)
        return max((math.dist(point[:2], here[:2]) for point in points), default=0.0) if here else 0.0

    def update(self, store: Store) -> None:
        """Send what is new; nothing when nothing is."""
        if self._scenario is None or self._shape is None or self._stage is None:
            return
        calls = self._poses(store, self._scenario, self._shape)
        if calls == self._last:
            calls = []
        else:
            self._last = calls
        if self._updates % LINES_EVERY == 0:
            calls = calls + [call for line in self._lines for call in line.calls(store)]
            if self._told_paths is not None:
                calls += self._told_paths.calls(store)
            wind_W = readings.wind_W(store, self.followed)
            ground_m = readings.ground_m(store, self.followed)
            if calls and wind_W is not None and math.isfinite(ground_m):
                calls.append(_call(self._stage, "air", round(wind_W[0], 2), round(wind_W[1], 2), round(ground_m, 2)))
        self._updates += 1
        self._send(calls)

    def _poses(self, store: Store, scenario: Scenario, shape: shapes.Shape) -> list[list[Any]]:
        calls = []
        directions = [rotor.direction for rotor in shape.rotors]
        for vehicle, craft in enumerate(self._crafts):
            pose = readings.pose(store, scenario, vehicle)
            if pose is None:
                continue
            rates = readings.shown_rates(store, scenario, vehicle, directions)
            place, attitude, hinges = (
                [round(value, 4) for value in values] for values in (pose.pos_W, pose.quat_WB, pose.hinges_rad)
            )
            calls.append(_call(craft, "pose", place, attitude, hinges, rates))
        return calls

    def _send(self, calls: list[list[Any]]) -> None:
        if calls:
            self.scene.run_method("run_methods", calls)


def _call(thing: Object3D, method: str, *args: Any) -> list[Any]:
    """One line of what the scene's `run_methods` takes, so that many travel in one message."""
    return ["run_method_on_component", thing.id, method, *args]
