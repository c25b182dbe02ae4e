"""The map on a page: the element in the browser, its tools, and user input on it, validated and in metres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import euler_from_quat
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.stream import Track
from aeroloop.dashboard import family_page, from_browser, readings, world_objects
from aeroloop.dashboard.layout import every
from aeroloop.dashboard.map import REACH_M, GroundImage, Pose, View, ground, live, scene, thinned
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.world.placed_objects import PlacedObject
from aeroloop.world.relief import of_config

REFRESH_S = 0.2
TRAIL_S = 120.0
TRAIL_POINTS = 240
FOLLOW_PART = 0.25
"""The map follows when the aircraft is farther from the middle than this fraction of its width."""
STEP = 1.5
APART_M_PER_PX = 2.0
"""At a smaller scale the true and the estimated position coincide."""
ESTIMATE = Track("estimate")
CSS = Path(__file__).with_name("flight_map.css").read_text(encoding="utf-8")
_PX = (-20_000.0, 20_000.0)


class FlightMap(Element, component="flight_map.js"):
    """Shows SVG; emits `tap`, `pinch`, `carry` and `size`."""


@dataclass(frozen=True)
class MapOverlay:
    """What a map shows besides aircraft and waypoints, and its views."""

    draw: Callable[[View], str] = lambda _view: ""
    """The lowest layer; called often, so it caches its result."""
    homes: Sequence[tuple[float, float]] = ((0.0, 0.0),)
    all_m: Sequence[tuple[float, float]] = ((0.0, 0.0),)
    """Positions in the view "all", besides aircraft and waypoints."""
    all_words: str = "all of the plan"
    near: Callable[[], Sequence[tuple[float, float]]] | None = None
    """Positions in the close view."""
    margin_px: float = 60.0
    trail_s: float = TRAIL_S
    trail_points: int = TRAIL_POINTS
    world: Callable[[], Scenario | None] | None = None
    """Whose ground is shown, if not the flight's; the flight's aircraft are shown in their own world only."""


class MapPanel:
    """A map of the shown flight."""

    def __init__(
        self,
        watched: WatchedFlight,
        *,
        waypoints: Callable[[], list[tuple[float, float]]],
        target: Callable[[], tuple[float, float] | None],
        on_tap: Callable[[float, float], None],
        on_carry: Callable[[int, float, float], None],
        vehicle: Callable[[], int],
        m_per_px: float,
        beneath: MapOverlay | None = None,
    ) -> None:
        self._beneath = beneath or MapOverlay()
        self._watched, self._vehicle = watched, vehicle
        self._waypoints, self._target = waypoints, target
        self._on_tap, self._on_carry = on_tap, on_carry
        self._view = View(m_per_px=m_per_px)
        self._ground: GroundImage | None = None
        self._ground_of: Scenario | None = None
        self._objects: tuple[PlacedObject, ...] = ()
        self._drawn = ""
        self._follow = beneath is None
        self._sized = False
        ui.add_css(CSS)
        with ui.element("div").classes("relative-position w-full"):
            self._map = FlightMap().props('data-testid="map"')
            self._tools()
        for name, handle in (("tap", self._tap), ("pinch", self._pinch), ("carry", self._carry), ("size", self._size)):
            self._map.on(name, handle)
        every(REFRESH_S, self.refresh)

    def _tools(self) -> None:
        with ui.column().classes("absolute-top-left q-ma-sm gap-1"):
            for icon, words, test_id, action in (
                ("add", "closer", "map-in", lambda: self._zoom(STEP)),
                ("remove", "farther", "map-out", lambda: self._zoom(1 / STEP)),
                ("zoom_out_map", self._beneath.all_words, "map-fit", self._fit),
                *((("center_focus_strong", "the channel", "map-near", self._fit_near),) if self._beneath.near else ()),
            ):
                button = ui.button(icon=icon, on_click=action)
                button.props(f'dense size=sm data-testid="{test_id}" aria-label="{words}"').tooltip(words)
            self._follow_button = ui.button(icon="my_location", on_click=self._toggle_follow)
            self._follow_button.props('dense size=sm data-testid="map-follow" aria-label="follow the aircraft"')
            self._follow_button.tooltip("follow the aircraft")
        self._show_follow()

    def refresh(self) -> None:
        """Show the current positions."""
        poses = self._poses()
        mine = poses.get(self._vehicle())
        if mine and self._follow:
            x, y = self._view.pixel(mine.east_m, mine.north_m)
            view = self._view
            if max(abs(x / view.width_px - 0.5), abs(y / view.height_px - 0.5)) > FOLLOW_PART:
                self._view = view.centred(mine.east_m, mine.north_m)
        self.redraw()
        others = [pose for number, pose in poses.items() if number != self._vehicle()]
        svg = world_objects.on_map(self._view, [each for each in self._objects if each.moving], self._watched.store.t_s)
        svg += live(
            self._view,
            trail=self._trail(),
            aircraft=mine,
            others=others,
            estimate=self._place(ESTIMATE) if mine and self._view.m_per_px < APART_M_PER_PX else None,
            setpoint=self._setpoint(),
        )
        self._map.run_method("live", svg)

    def redraw(self) -> None:
        """The static part; sent only when it changes."""
        self._learn_ground()
        still = [each for each in self._objects if not each.moving]
        drawn = self._beneath.draw(self._view) + world_objects.on_map(self._view, still, 0.0)
        drawn += scene(self._view, waypoints=self._waypoints(), target=self._target(), homes=self._beneath.homes)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        view = self._view
        props = self._map.props
        props["scene"] = drawn
        props["view"] = f"{view.east_m:.4f} {view.north_m:.4f} {view.m_per_px:.6g} {view.width_px:g} {view.height_px:g}"
        if self._ground:
            props["box"] = [round(edge, 1) for edge in self._ground.box(view)]
        self._map.update()

    @property
    def _scenario(self) -> Scenario | None:
        return self._beneath.world() if self._beneath.world is not None else self._watched.scenario

    @property
    def _elsewhere(self) -> bool:
        """Whether the map shows another world than the flight's."""
        shown, flown = self._scenario, self._watched.scenario
        return shown is not flown and (shown is None or flown is None or shown.name != flown.name)

    def _learn_ground(self) -> None:
        scenario = self._scenario
        if scenario is self._ground_of:
            return
        self._ground_of, self._ground, self._drawn = scenario, None, ""
        self._objects = world_objects.of_scenario(scenario)
        terrain = value_at(scenario, "world.terrain") if scenario is not None else None
        if terrain is not None:
            try:
                self._ground = ground(of_config(terrain))
            except AeroloopError as error:
                self._watched.notice(str(error), "warn")
        self._map.props["ground"] = self._ground.href if self._ground else ""

    def _poses(self) -> dict[int, Pose]:
        store, scenario = self._watched.store, self._watched.scenario
        if scenario is None or self._elsewhere:
            return {}
        poses = {}
        for number in range(readings.vehicles(scenario)):
            pose = readings.pose(store, scenario, number)
            if pose:
                poses[number] = Pose(*pose.pos_W[:2], euler_from_quat(pose.quat_WB)[2])
        return poses

    def _setpoint(self) -> tuple[float, float] | None:
        scenario = None if self._elsewhere else self._watched.scenario
        return self._place(family_page.of(scenario).setpoint) if scenario is not None else None

    def _place(self, track: Track) -> tuple[float, float] | None:
        return readings.place(self._watched.store, track, self._vehicle())

    def _trail(self) -> list[tuple[float, float]]:
        store, scenario = self._watched.store, self._watched.scenario
        if scenario is None or self._elsewhere:
            return []
        rows = readings.trail(store, self._vehicle(), store.t_s - self._beneath.trail_s)
        return thinned(rows, self._beneath.trail_points)

    def _zoom(self, factor: float) -> None:
        self._view = self._view.zoomed(factor)
        self.refresh()

    def fit(self) -> None:
        """Show all of the plan."""
        self._fit()

    def _fit(self) -> None:
        poses = [(pose.east_m, pose.north_m) for pose in self._poses().values()]
        self._show_all([*self._beneath.all_m, *poses, *self._waypoints()], self._beneath.margin_px)

    def _fit_near(self) -> None:
        poses = [(pose.east_m, pose.north_m) for pose in self._poses().values()]
        self._show_all([*(self._beneath.near() if self._beneath.near else ()), *poses], self._beneath.margin_px)

    def _show_all(self, places: list[tuple[float, float]], margin_px: float) -> None:
        self._set_follow(False)
        self._view = self._view.fitted(places, margin_px)
        self.refresh()

    def _toggle_follow(self) -> None:
        self._set_follow(not self._follow)
        pose = self._poses().get(self._vehicle())
        if self._follow and pose:
            self._view = self._view.centred(pose.east_m, pose.north_m)
        self.refresh()

    def _set_follow(self, on: bool) -> None:
        self._follow = on
        self._show_follow()

    def _show_follow(self) -> None:
        self._follow_button.props("color=primary" if self._follow else "color=blue-grey-6")

    def _tap(self, event: GenericEventArguments) -> None:
        told = from_browser.numbers(event.args, _PX, _PX, (-1.0, 1e4))
        if told is None or told[2] >= 0:  # on a waypoint: not a new one
            return
        place = self._metres(*told[:2])
        if place:
            self._on_tap(*place)
            self.refresh()

    def _carry(self, event: GenericEventArguments) -> None:
        told = from_browser.numbers(event.args, (0.0, 1e4), _PX, _PX)
        place = self._metres(*told[1:]) if told else None
        if told and place:
            self._on_carry(int(told[0]), *place)
            self.refresh()

    def _metres(self, x_px: float, y_px: float) -> tuple[float, float] | None:
        east_m, north_m = self._view.metres(x_px, y_px)
        return (east_m, north_m) if max(abs(east_m), abs(north_m)) <= REACH_M else None

    def _pinch(self, event: GenericEventArguments) -> None:
        told = from_browser.numbers(event.args, (1e-3, 1e3), _PX, _PX, _PX, _PX)
        if told is None:
            return
        factor, x_px, y_px, right_px, down_px = told
        if right_px or down_px:
            self._set_follow(False)
        self._view = self._view.zoomed(factor, x_px, y_px).dragged(right_px, down_px)
        self.refresh()

    def _size(self, event: GenericEventArguments) -> None:
        told = from_browser.numbers(event.args, (1.0, 1e5), (1.0, 1e5))
        if told:
            self._view = self._view.sized(*told)
            if not (self._sized or self._follow):
                self._fit()
            self._sized = True
            self.refresh()
