"""The map on a page: the element in the browser, its tools, and what hands do with it, checked and in metres."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from aeroloop.dashboard import from_browser
from aeroloop.dashboard.layout import every
from aeroloop.dashboard.map import REACH_M, Ground, Pose, View, ground, live, scene, thinned
from aeroloop.dashboard.subject import Subject
from aeroloop.errors import AeroloopError
from aeroloop.frames import euler_from_quat
from aeroloop.scenario import Scenario
from aeroloop.vehicles.quadrotor.scenario import QuadrotorScenario
from aeroloop.world.terrain import terrain

REFRESH_S = 0.2
TRAIL_S = 120.0
TRAIL_POINTS = 240
FOLLOW_PART = 0.25
"""The map follows when the aircraft is farther from the middle than this part of its width."""
STEP = 1.5
CSS = Path(__file__).with_name("flight_map.css").read_text(encoding="utf-8")
_PX = (-20_000.0, 20_000.0)


class FlightMap(Element, component="flight_map.js"):
    """Shows SVG; tells `tap`, `pinch`, `carry` and `size`."""


class MapPanel:
    """A map of the flight that is watched."""

    def __init__(
        self,
        subject: Subject,
        *,
        waypoints: Callable[[], list[tuple[float, float]]],
        target: Callable[[], tuple[float, float] | None],
        on_tap: Callable[[float, float], None],
        on_carry: Callable[[int, float, float], None],
        vehicle: Callable[[], int],
        m_per_px: float,
    ) -> None:
        self._subject, self._vehicle = subject, vehicle
        self._waypoints, self._target = waypoints, target
        self._on_tap, self._on_carry = on_tap, on_carry
        self._view = View(m_per_px=m_per_px)
        self._ground: Ground | None = None
        self._ground_of: Scenario | None = None
        self._drawn = ""
        self._follow = True
        ui.add_css(CSS)
        with ui.element("div").classes("relative-position w-full"):
            self._map = FlightMap().props('data-testid="map"')
            self._tools()
        for name, hear in (("tap", self._tap), ("pinch", self._pinch), ("carry", self._carry), ("size", self._size)):
            self._map.on(name, hear)
        every(REFRESH_S, self.refresh)

    def _tools(self) -> None:
        with ui.column().classes("absolute-top-left q-ma-sm gap-1"):
            for icon, words, test_id, deed in (
                ("add", "closer", "map-in", lambda: self._zoom(STEP)),
                ("remove", "farther", "map-out", lambda: self._zoom(1 / STEP)),
                ("zoom_out_map", "all of the plan", "map-fit", self._fit),
            ):
                ui.button(icon=icon, on_click=deed).props(f'dense size=sm data-testid="{test_id}" aria-label="{words}"')
            self._follow_button = ui.button(icon="my_location", on_click=self._toggle_follow)
            self._follow_button.props('dense size=sm data-testid="map-follow" aria-label="follow the aircraft"')
            self._follow_button.tooltip("follow the aircraft")
        self._show_follow()

    def refresh(self) -> None:
        """Show where things are now."""
        poses = self._poses()
        mine = poses.get(self._vehicle())
        if mine and self._follow:
            x, y = self._view.pixel(mine.east_m, mine.north_m)
            view = self._view
            if max(abs(x / view.width_px - 0.5), abs(y / view.height_px - 0.5)) > FOLLOW_PART:
                self._view = view.centred(mine.east_m, mine.north_m)
        self.redraw()
        others = [pose for number, pose in poses.items() if number != self._vehicle()]
        svg = live(
            self._view,
            trail=self._trail(),
            aircraft=mine,
            others=others,
            estimate=self._place("nav_estimate"),
            setpoint=self._place("nav_setpoint") or self._place("reference"),
        )
        self._map.run_method("live", svg)

    def redraw(self) -> None:
        """The part that moves only when somebody moves it; sent only when it is different."""
        self._learn_ground()
        homes = [(0.0, 0.0)]
        drawn = scene(self._view, waypoints=self._waypoints(), target=self._target(), homes=homes)
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

    def _learn_ground(self) -> None:
        scenario = self._subject.scenario
        if scenario is self._ground_of:
            return
        self._ground_of, self._ground, self._drawn = scenario, None, ""
        if isinstance(scenario, QuadrotorScenario):
            try:
                self._ground = ground(terrain(scenario.world.terrain))
            except AeroloopError as error:
                self._subject.notice(str(error), "warn")
        self._map.props["ground"] = self._ground.href if self._ground else ""

    def _poses(self) -> dict[int, Pose]:
        store = self._subject.store
        poses = {}
        for number in store.vehicles("rigid_truth"):
            row = store.latest("rigid_truth", number)
            if row:
                _, _, yaw_rad = euler_from_quat((row["qw"], row["qx"], row["qy"], row["qz"]))
                poses[number] = Pose(row["x_m"], row["y_m"], yaw_rad)
        row = store.latest("truth")
        if row:
            poses[0] = Pose(row["x_m"], row["y_m"], row["yaw_rad"])
        return poses

    def _place(self, stream: str) -> tuple[float, float] | None:
        row = self._subject.store.latest(stream, self._vehicle())
        return (row["x_m"], row["y_m"]) if row else None

    def _trail(self) -> list[tuple[float, float]]:
        store = self._subject.store
        stream, columns = ("truth", slice(1, 3)) if "truth" in store.streams() else ("rigid_truth", slice(2, 4))
        return thinned(store.since(stream, store.t_s - TRAIL_S, self._vehicle())[:, columns], TRAIL_POINTS)

    def _zoom(self, factor: float) -> None:
        self._view = self._view.zoomed(factor)
        self.refresh()

    def _fit(self) -> None:
        poses = [(pose.east_m, pose.north_m) for pose in self._poses().values()]
        self._set_follow(False)
        self._view = self._view.fitted([(0.0, 0.0), *poses, *self._waypoints()])
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
        if told is None or told[2] >= 0:  # on a waypoint: nothing new there
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
            self.refresh()
