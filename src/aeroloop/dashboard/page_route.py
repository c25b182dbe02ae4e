"""The trajectory page: points clicked on the map or in the 3D view, the curve with its speeds and accelerations beside
the aircraft's limits; saved as files, or sent to the flight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page, route_drawing, route_state
from aeroloop.dashboard.layout import card, chip, every, set_chip
from aeroloop.dashboard.map_panel import MapOverlay, MapPanel
from aeroloop.dashboard.route_list import PointList
from aeroloop.dashboard.route_scene import RouteScene
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight import route_saving
from aeroloop.flight.route_saving import Base

REFRESH_S = 0.25
VIEWS = {"map": "map", "3d": "3D"}
ENDINGS = {"return": "then return", "land": "then land", "hold": "then hold"}
HEADINGS = {"fixed": "heading east", "along": "heading along the path"}
HELP = {
    "map": "Click the map for a new point, drag a point to move it.",
    "3d": "Double-click the ground for a new point, drag a point to move it; from above it moves level.",
}
CSS = """
.route-grid { display:grid; grid-template-columns:minmax(0,1.5fr) minmax(340px,1fr); gap:12px; width:100%;
        align-items:start; }
.route-grid > .nicegui-column { gap:12px; min-width:0; }
.route-scene { position:relative; width:100%; height:clamp(280px,56vh,620px); border-radius:8px; overflow:hidden; }
.route-scene .nicegui-scene { width:100% !important; height:100% !important; touch-action:none; isolation:isolate; }
.route-charts { display:grid; gap:12px; width:100%;
        grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr)); }
.route-beyond-list { font-size:13px; line-height:1.5; max-height:140px; overflow-y:auto; width:100%; }
@media (max-width:899px) { .route-grid { grid-template-columns:minmax(0,1fr); } }
"""


def build(watched: WatchedFlight) -> None:
    ui.add_css(CSS)
    ui.add_css(route_drawing.CSS)
    RoutePage(watched)


class RoutePage:
    """What one browser sees; the route is in `state`, which all share."""

    def __init__(self, watched: WatchedFlight) -> None:
        self._watched, self._state = watched, route_state.state_of(watched)
        self._may_edit = watched.may_command
        self._shown = -1
        self._drawn: tuple[object, str] | None = None
        self._corners: list[tuple[float, float]] = []
        self._scene: RouteScene | None = None
        self._scene_of: object = None
        with ui.element("div").classes("route-grid"):
            with ui.column():
                self._view_card()
                self._charts = ui.element("div").classes("route-charts")
                with self._charts:
                    self._plots = [self._plot() for _ in range(route_drawing.COUNT)]
            with ui.column():
                self._route_card()
                self.list = PointList(self._state, self._tell, read_only=not self._may_edit)
                self._save_card()
        self._refresh()
        every(REFRESH_S, self._refresh)

    @staticmethod
    def _plot() -> ui.echart:
        with card():
            return ui.echart({}).classes("w-full").style("height:220px").props('data-testid="route-chart"')

    # The map, or the 3D view.

    def _view_card(self) -> None:
        with card():
            with ui.row().classes("items-center w-full gap-2"):
                self._view = ui.toggle(VIEWS, value="map", on_change=lambda _: self._change_view())
                self._view.props('dense no-caps unelevated padding="4px 12px" data-testid="route-view"')
                ui.space()
                self._height = self._number("height above ground, m", 2.0, "route-height", 150)
                self._speed = self._number("speed, m/s", 1.0, "route-speed", 110)
            with ui.element("div").classes("w-full") as self._map_box:
                self.map = self._map()
            with ui.element("div").classes("route-scene") as self._scene_box:
                pass
            self._scene_box.set_visibility(False)
            self._help = ui.label().classes("al-soft text-caption")
            self._offer_defaults()

    def _number(self, words: str, value: float, testid: str, width_px: int) -> ui.number:
        entry = ui.number(label=words, value=value, min=0.0, step=0.5)
        return entry.props(f'dense outlined data-testid="{testid}"').style(f"width:{width_px}px")

    def _map(self) -> MapPanel:
        beneath = MapOverlay(
            draw=self._draw,
            homes=(),
            all_m=self._corners,
            all_words="all of the route",
            world=self._scenario,
        )
        return MapPanel(
            self._watched,
            waypoints=lambda: [point.pos_W[:2] for point in self._state.points],
            target=lambda: None,
            on_tap=self._add,
            on_carry=lambda number, east_m, north_m: self._carry(number, east_m, north_m),
            vehicle=lambda: 0,
            m_per_px=self._scale(),
            beneath=beneath,
        )

    def _scenario(self) -> Scenario | None:
        return self._state.base.scenario if self._state.base is not None else None

    def _scale(self) -> float:
        scenario = self._scenario()
        return family_page.of(scenario).map_m_per_px if scenario is not None else 0.08

    def _draw(self, view: Any) -> str:
        key = view, self._state.revision
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, route_drawing.curve(view, self._state.evaluated())
        return self._drawn[1]

    def _change_view(self) -> None:
        solid = self._view.value == "3d"
        if solid and self._scene is None:
            with self._scene_box:
                self._scene = RouteScene(self._add, self._carry)
        self._map_box.set_visibility(not solid)
        self._scene_box.set_visibility(solid)
        self._help.set_text(HELP["3d" if solid else "map"] if self._may_edit else "")
        self._show_scene()

    def _show_scene(self) -> None:
        if self._scene is None or self._view.value != "3d":
            return
        base = self._state.base
        if base is not self._scene_of:
            self._scene_of = base
            self._scene.show(self._scenario())
            self._scene.look([point.pos_W for point in self._state.points])
        self._scene.update(self._state.points, self._state.evaluated(), read_only=not self._may_edit)

    def _add(self, east_m: float, north_m: float) -> None:
        if not self._may_edit:
            return
        height_m, speed_m_s = (self._typed(entry) for entry in (self._height, self._speed))
        if height_m is None or speed_m_s is None:
            self._tell("expected a height and a speed")
            return
        self._tell(self._state.new_point(east_m, north_m, height_m, speed_m_s))
        self._refresh()

    def _carry(self, number: int, east_m: float, north_m: float, up_m: float | None = None) -> None:
        if self._may_edit:
            self._tell(self._state.move(number, east_m, north_m, up_m))
            self._refresh()

    @staticmethod
    def _typed(entry: ui.number) -> float | None:
        value = entry.value
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @staticmethod
    def _tell(problem: str) -> None:
        if problem:
            ui.notify(problem, type="negative", multi_line=True)

    # Which aircraft, and how it flies the curve.

    def _route_card(self) -> None:
        state = self._state
        with card():
            with ui.row().classes("items-center w-full gap-2"):
                ui.label("Trajectory").classes("text-weight-bold")
                self._count = chip(testid="route-beyond")
                ui.space()
                names = route_state.base_names()
                known = state.base_name if state.base_name in names else None
                self._base = ui.select(names, value=known, label="for the aircraft of")
                self._base.props('dense outlined options-dense data-testid="route-base"').style("min-width:190px")
                self._base.on_value_change(lambda event: self._choose(event.value))
            self._numbers = ui.label().classes("al-num").props('data-testid="route-numbers"')
            self._takes = ui.label().classes("al-soft text-caption").props('data-testid="route-takes"')
            with ui.row().classes("items-center w-full gap-2"):
                self._fit = ui.switch("slow down to keep the limits", value=state.fit)
                self._fit.props('dense data-testid="route-fit"')
                self._fit.on_value_change(lambda event: self._set(fit=event.value is True))
                self._heading = ui.select(HEADINGS, value=state.heading)
                self._heading.props('dense outlined options-dense data-testid="route-heading"')
                self._heading.on_value_change(lambda event: self._set(heading=event.value))
            self._problem = ui.label().classes("al-warn").props('data-testid="route-problem"')
            self._beyond = ui.column().classes("route-beyond-list gap-0").props('data-testid="route-violations"')
            for entry in (self._base, self._fit, self._heading):
                entry.set_enabled(self._may_edit)

    def _choose(self, name: object) -> None:
        if self._may_edit and name in self._base.options and name != self._state.base_name:
            self._state.choose(str(name))
            self._tell(self._state.refused)
            self._offer_defaults()
            self._refresh()
            self.map.fit()

    def _set(self, *, fit: bool | None = None, heading: object = None) -> None:
        if not self._may_edit:
            return
        if fit is not None:
            self._state.fit = fit
        if heading == "fixed" or heading == "along":
            self._state.heading = heading
        self._state.touched()
        self._refresh()

    def _offer_defaults(self) -> None:
        """Height and speed of new points, and the extent of a map without points."""
        base = self._state.base
        if base is not None:
            extent_m = base.offer.extent_m
            self._corners[:] = [] if self._state.points else [(-extent_m, -extent_m), (extent_m, extent_m)]
            self._height.props["label"] = "height above ground, m" if base.offer.over_ground else "height, m"
            self._height.value = base.offer.height_m(base.scenario)
            self._speed.value = base.offer.cruise_m_s(base.scenario)
        self._help.set_text(HELP["3d" if self._view.value == "3d" else "map"] if self._may_edit else "")

    # Saving and sending.

    def _save_card(self) -> None:
        with card():
            with ui.row().classes("items-center w-full gap-2"):
                self._name = ui.input("name", value="my-trajectory").classes("col").style("min-width:150px")
                self._name.props('dense outlined maxlength=48 data-testid="route-name"')
                self._format = ui.select({".toml": ".toml"}, value=".toml")
                self._format.props('dense outlined options-dense data-testid="route-format"').style("width:150px")
                self._ending = ui.select(ENDINGS, value=self._state.ending)
                self._ending.props('dense outlined options-dense data-testid="route-ending"')
                self._ending.on_value_change(lambda event: self._end(event.value))
            self._what = ui.label().classes("al-soft text-caption")
            with ui.row().classes("items-center w-full gap-2"):
                self._saving = self._button("Save", "save", "route-save", self._save)
                self._sending = self._button("Send to the flight", "send", "route-send", self._send)
                self._stopping = self._button("Stop", "stop", "route-stop", self._stop)
                self._open = ui.select([], label="open", on_change=lambda event: self._load(event.value))
                self._open.props('dense outlined options-dense data-testid="route-open"').style("min-width:130px")
            self._result = ui.label().classes("text-caption").props('data-testid="route-result"')
            self._result.style("overflow-wrap:anywhere")
            for entry in (self._name, self._format, self._ending, self._open):
                entry.set_enabled(self._may_edit)

    def _button(self, words: str, icon: str, testid: str, press: Callable[[], Any]) -> ui.button:
        return ui.button(words, icon=icon, on_click=press).props(f'no-caps data-testid="{testid}"')

    def _end(self, ending: object) -> None:
        if self._may_edit and (ending == "return" or ending == "land" or ending == "hold"):
            self._state.ending = ending
            self._state.touched()

    def _save(self) -> None:
        if not self._may_edit:
            return
        try:
            written = self._state.save(str(self._name.value), str(self._format.value))
        except AeroloopError as error:
            self._tell(str(error))
            self._result.set_text(str(error))
            return
        first = written[0]
        flown = f"; fly it: aeroloop fly {first}" if first.suffix == route_saving.SCENARIO else ""
        names = " and ".join(path.name for path in written)
        self._result.set_text(f"saved {names} in {first.parent}{flown}")
        ui.download(first.read_bytes(), first.name)

    def _load(self, name: object) -> None:
        if not self._may_edit or not isinstance(name, str):
            return
        try:
            self._state.open(name)
        except AeroloopError as error:
            self._tell(str(error))
        self._name.value = name
        self._refresh()
        self.map.fit()

    async def _send(self) -> None:
        """To the flight that the pages show, in its own world."""
        watched = self._watched
        try:
            if not self._may_edit or watched.scenario is None or not watched.running:
                raise ConfigError("no flight is running")
            base = Base.of_flight(watched.scenario)
            route = self._state.for_flight(base)
            page = family_page.of(watched.scenario)
            if page.route_driver is not None:
                self._stop()
                self._state.driver = await page.route_driver(watched, route)
                self._state.driver.start()
                words = "the base station sends it; it stays at the end until you stop it"
            elif page.commands is not None and base.offer.mission is not None:
                items, _ = base.offer.mission(base.scenario, route)
                await watched.command(lambda aircraft: aircraft.upload_mission(items))
                words = f"{len(items)} mission items uploaded; start the mission on the page Fly"
            else:
                raise ConfigError("this aircraft takes no trajectory in flight: save a scenario, and fly that")
        except (AeroloopError, ValueError) as error:
            self._tell(str(error))
            words = str(error)
        self._result.set_text(words)

    def _stop(self) -> None:
        if not self._may_edit:
            return
        driver, self._state.driver = self._state.driver, None
        if driver is not None:
            driver.stop()
            self._result.set_text("stopped; the board holds its last reference")

    # What changes.

    def _refresh(self) -> None:
        self._show_sending()
        if self._state.revision == self._shown:
            return
        self._shown = self._state.revision
        found = self._state.evaluated()
        base, points = self._state.base, self._state.points
        count = len(found.violations)
        held = "within limits" if found.quantities else ""
        set_chip(self._count, f"{count} beyond limits" if count else held, "bad" if count else "ok")
        self._numbers.set_text(route_state.summary(found))
        least = base.offer.counts[0] if base is not None else 2
        self._problem.set_text(found.problem if len(points) >= least or self._state.refused else "")
        self._problem.set_visibility(bool(self._problem.text))
        self._beyond.clear()
        with self._beyond:
            for violation in found.violations:
                ui.label(str(violation)).classes("al-bad")
        self.list.show()
        self._show_base()
        self._show_charts(found)
        self.map.refresh()
        self._show_scene()

    def _show_base(self) -> None:
        state = self._state
        if self._base.value != state.base_name:
            self._base.value = state.base_name
        if state.base is None:
            self._takes.set_text(state.refused)
            return
        offer, formats = state.base.offer, route_saving.endings(state.base)
        self._takes.set_text(f"{state.base.scenario.family.name}: takes {offer.takes}")
        self._fit.set_visibility(offer.profiled)
        self._fit.value, self._heading.value = state.fit, state.heading
        self._heading.set_visibility(len(offer.headings) > 1)
        self._ending.set_visibility(offer.mission is not None)
        if [*formats] != [*self._format.options]:
            self._format.set_options({ending: ending for ending in formats}, value=".toml")
        self._what.set_text(formats.get(str(self._format.value), ""))
        names = state.files()
        if names != self._open.options:
            self._open.set_options(names)

    def _show_charts(self, found: route_state.Evaluation) -> None:
        """In place: a chart that is removed before its script has run is an error in the browser."""
        base = self._state.base
        options = route_drawing.charts(found, base.offer.space(base.scenario) if base is not None else None)
        self._charts.set_visibility(bool(options))
        for plot, each in zip(self._plots, options, strict=False):
            plot.options.clear()
            plot.options.update(each)
            plot.update()

    def _show_sending(self) -> None:
        driver = self._state.driver
        if driver is not None and not driver.running:
            self._state.driver = None
            self._result.set_text(driver.ended)
        flies = self._watched.running and self._watched.scenario is not None
        self._saving.set_enabled(self._may_edit)
        self._sending.set_enabled(self._may_edit and flies and self._state.evaluated().route is not None)
        self._stopping.set_visibility(self._state.driver is not None)
