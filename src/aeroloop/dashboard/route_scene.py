"""The 3D view of the trajectory page: the ground, the points, which can be dragged, and the curve. A double click on
the ground is a new point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui
from nicegui.elements.scene.scene_object3d import Object3D
from nicegui.events import GenericEventArguments

from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import from_browser, ground
from aeroloop.dashboard.route_drawing import CURVE_POINTS, beyond
from aeroloop.dashboard.route_state import Evaluation
from aeroloop.dashboard.scene import LABEL_STYLE, MISSION_COLOUR, Path, Stage
from aeroloop.planning.route import REACH_M, RoutePoint

BEYOND_COLOUR = "#d32f2f"
MARK = 0.015
"""Radius of a point, over the size of the route."""
SMALLEST_M, WIDEST_M = 6.0, 3000.0
_M = (-REACH_M, REACH_M)


class Picker(Object3D, component="picker.js"):
    def __init__(self, scene_id: int, relief_id: str) -> None:
        super().__init__(scene_id, relief_id)


class RouteScene:
    """`place`: the ground was double-clicked; `carry`: a point was dragged."""

    def __init__(
        self, place: Callable[[float, float], None], carry: Callable[[int, float, float, float], None]
    ) -> None:
        self._place, self._carry = place, carry
        camera = ui.scene.perspective_camera(fov=45, near=0.05, far=20000)
        self.scene = ui.scene(grid=False, camera=camera, background_color="#888888", fps=30, click_events=[])
        self.scene.on("place", self._placed)
        self.scene.on("dragend", self._dragged)
        self._numbers: dict[str, int] = {}
        self._things: list[Object3D] = []
        self._shown: object = None

    def show(self, scenario: Scenario | None) -> None:
        """The world of a scenario, without a route."""
        self.scene.delete_objects()
        self._things, self._numbers, self._shown = [], {}, None
        relief = ground.of_scenario(scenario) if scenario is not None else None
        with self.scene as scene:
            surface = scene.texture(relief.picture_url, relief.coordinates) if relief is not None else None
            Stage(scene.id, surface is None, surface.id if surface is not None else "", True)
            Picker(scene.id, surface.id if surface is not None else "")
            for words, at in (("N", (0.0, 3.0, 0.0)), ("E", (3.0, 0.0, 0.0))):
                scene.text(words, LABEL_STYLE).move(*at)

    def update(self, points: Sequence[RoutePoint], evaluation: Evaluation, *, read_only: bool) -> None:
        """Redrawn only when something has changed."""
        if (tuple(points), evaluation) == self._shown:
            return
        first = not self._things
        self._shown = tuple(points), evaluation
        for thing in self._things:
            thing.delete()
        self._things, self._numbers = [], {}
        size_m = span_m([point.pos_W for point in points])
        with self.scene as scene:
            for number, point in enumerate(points):
                x, y, z = point.pos_W
                ball = scene.sphere(MARK * size_m, 16, 12).material(MISSION_COLOUR).move(x, y, z)
                if not read_only:
                    ball.draggable()
                self._numbers[ball.id] = number
                self._things += [ball, scene.text(f"{number + 1}", LABEL_STYLE).move(x, y, z + 3 * MARK * size_m)]
            self._things += self._curves(evaluation)
        if first and points:
            self.look([point.pos_W for point in points])

    def _curves(self, evaluation: Evaluation) -> list[Object3D]:
        if evaluation.route is None or not evaluation.quantities:
            return []
        timed = evaluation.route.timed
        step = max(1, len(timed.t_s) // CURVE_POINTS)
        wrong = beyond(evaluation.quantities, len(timed.t_s))
        drawn: list[Object3D] = []
        begin = 0
        for end in range(1, len(wrong) + 1):  # a line for each part that is within the limits, or beyond
            if end == len(wrong) or wrong[end] != wrong[begin]:
                rows = timed.pos_W[[*range(begin, end, step), min(end, len(wrong) - 1)]]
                places: list[Vec3] = [(round(x, 3), round(y, 3), round(z, 3)) for x, y, z in rows.tolist()]
                colour, width_px = (BEYOND_COLOUR, 5.0) if wrong[begin] else (MISSION_COLOUR, 3.0)
                drawn.append(Path(places, colour, width_px=width_px, opacity=0.95, most=len(places) + 1))
                begin = end
        return drawn

    def look(self, places: Sequence[Vec3]) -> None:
        """All of them, from the south-west."""
        if not places:
            places = [(-3.0, -3.0, 0.0), (3.0, 3.0, 2.0)]
        x, y, z = ((min(axis) + max(axis)) / 2 for axis in zip(*places, strict=True))
        away_m = 2.0 * span_m(places)
        self.scene.move_camera(
            x - 0.5 * away_m, y - 0.8 * away_m, z + 0.6 * away_m, look_at_x=x, look_at_y=y, look_at_z=z, duration=0.0
        )

    def _placed(self, event: GenericEventArguments) -> None:
        told = from_browser.numbers(event.args, _M, _M)
        if told is not None:
            self._place(*told)

    def _dragged(self, event: GenericEventArguments) -> None:
        told = event.args if isinstance(event.args, dict) else {}
        number = self._numbers.get(str(told.get("object_id")))
        place = from_browser.numbers([told.get(axis) for axis in "xyz"], _M, _M, _M)
        if number is not None and place is not None:
            self._carry(number, *place)
            self._shown = None  # a refused place is drawn where the point is


def span_m(places: Sequence[Vec3]) -> float:
    """Extent of a route, for cameras and marks."""
    if not places:
        return SMALLEST_M
    extent = max(float(max(axis) - min(axis)) for axis in zip(*places, strict=True))
    return min(max(extent, SMALLEST_M), WIDEST_M)
