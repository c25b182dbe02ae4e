"""Charts of any signals, by name: over time or against one another; pause, zoom, and saved layouts."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from typing import Any

import numpy as np
from msgspec import to_builtins
from nicegui import events, ui

from aeroloop.dashboard import family_page, theme
from aeroloop.dashboard.chart_dialogs import LayoutMenu, choose_signals
from aeroloop.dashboard.charts import (
    MOST_CHARTS,
    WINDOWS_S,
    ChartSpec,
    Layout,
    checked,
    over_time,
    points,
    shown,
    xy,
    xy_limits,
)
from aeroloop.dashboard.family_page import Charts
from aeroloop.dashboard.layout import card, every, remember, remembered
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.watched_flight import WatchedFlight

FASTEST_S, SLOWEST_S = 0.2, 1.0
UPDATES_PER_WINDOW = 150
SHORTEST_ZOOM_S = 0.05
STALE_S = 5.0  # an older value is not current
XY_PX = 310
"""Side of an XY plot, which is square so that equal spans look equal."""
TRACK = ChartSpec(("truth.y_m",), "truth.x_m")
"""Default signals of a new XY plot, if the flight has them."""

ROUTER = "router"
ROUTER_CHARTS: Charts = [
    [
        "router_link[0].rate_in_hz",
        "router_link[1].rate_in_hz",
        "router_link[2].rate_in_hz",
        "router_link[3].rate_in_hz",
    ],
    [
        "router_link[0].rate_out_hz",
        "router_link[1].rate_out_hz",
        "router_link[2].rate_out_hz",
        "router_link[3].rate_out_hz",
    ],
]


def build(watched: WatchedFlight) -> None:
    _Board(watched)


class _Board:
    """All charts of one browser's page."""

    def __init__(self, watched: WatchedFlight) -> None:
        self.watched = watched
        self.window_s = 30
        self.paused_at_s: float | None = None
        self.family = ""
        self._kept: dict[str, list[ChartSpec] | None] = {}
        self._charts: list[_Chart] = []
        kept_window = remembered("window")
        if kept_window in WINDOWS_S:
            self.window_s = kept_window
        self._toolbar()
        self._column = ui.element("div").classes("al-charts w-full")
        self._follow_family()
        self._timer = every(self._period_s, self._update)

    def _toolbar(self) -> None:
        with ui.row().classes("items-center w-full gap-2"):
            self._window = ui.select(WINDOWS_S, value=self.window_s, label="window", on_change=self._set_window)
            self._window.props('dense outlined options-dense data-testid="window"').classes("w-28")
            self._pause = ui.button("Pause", icon="pause", on_click=self._turn_pause)
            self._pause.props('outline no-caps data-testid="pause" color=inherit')
            ui.button("Add chart", icon="add", on_click=lambda: self._add_new(ChartSpec(()), is_xy=False)).props(
                'outline no-caps data-testid="add-chart" color=inherit'
            )
            ui.button("Add XY plot", icon="add", on_click=lambda: self._add_new(TRACK, is_xy=True)).props(
                'outline no-caps data-testid="add-xy" color=inherit'
            )
            self._menu = LayoutMenu(self._layout, self._show_layout, may_write=self.watched.may_write)
            ui.button("Defaults", icon="restart_alt", on_click=self._reset).props(
                'flat no-caps data-testid="default-charts" color=inherit'
            )
            ui.label("wheel: zoom · drag: move · double click: live").classes("al-soft al-wide text-caption")

    @property
    def _period_s(self) -> float:
        return min(max(self.window_s / UPDATES_PER_WINDOW, FASTEST_S), SLOWEST_S)

    @property
    def end_s(self) -> float:
        return self.watched.store.t_s if self.paused_at_s is None else self.paused_at_s

    def _follow_family(self) -> None:
        if self.watched.router:
            family = ROUTER
        else:
            family = (
                family_page.name(self.watched.scenario) if self.watched.scenario or not self.family else self.family
            )
        if family != self.family:
            self.family = family
            if family not in self._kept:
                self._kept[family] = checked(remembered(f"charts-{family}"), self.watched.store)
            self._show(self._kept[family] or self._defaults())
        elif not self._charts and self._kept[family] is None and (first := self._defaults()):
            self._show(first)  # for a family without charts: when its first streams arrive

    def _defaults(self) -> list[ChartSpec]:
        watched = self.watched
        router = self.family == ROUTER
        return over_time(ROUTER_CHARTS if router else family_page.charts(watched.scenario, watched.store))

    def _show(self, charts: list[ChartSpec]) -> None:
        self._column.clear()
        self._charts = []
        for spec in charts:
            self._add(spec, is_xy=bool(spec.x))

    def _add(self, spec: ChartSpec, *, is_xy: bool) -> _Chart:
        with self._column:
            chart = _XYPlot(self, spec) if is_xy else _Chart(self, spec)
        self._charts.append(chart)
        return chart

    def _add_new(self, spec: ChartSpec, *, is_xy: bool) -> None:
        if len(self._charts) >= MOST_CHARTS:
            ui.notify(f"There are {MOST_CHARTS} charts already; remove one first.")
            return
        self._add(spec.known(self.watched.store), is_xy=is_xy).choose()

    def _layout(self) -> Layout:
        return Layout(tuple(chart.spec for chart in self._charts if chart.spec.signals), self.window_s)

    def _show_layout(self, layout: Layout) -> None:
        self._window.set_value(layout.window_s)
        specs = [spec.known(self.watched.store) for spec in layout.charts]
        self._show([spec for spec in specs if spec.signals])
        missing = sum(len(each.signals) for each in layout.charts) - sum(len(spec.signals) for spec in specs)
        if missing:
            ui.notify(f"{missing} signals of the layout are not in this flight.", type="warning")
        self.keep()

    def remove(self, chart: _Chart) -> None:
        self._charts.remove(chart)
        self.keep()
        chart.card.delete()

    def keep(self) -> None:
        """Store the charts for this browser's next visit."""
        specs = list(self._layout().charts)
        self._kept[self.family] = specs
        remember(f"charts-{self.family}", [list(spec.signals) if not spec.x else to_builtins(spec) for spec in specs])

    def _reset(self) -> None:
        self._show(self._defaults())
        self.keep()

    def _set_window(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self.window_s = int(event.value)
        self._timer.interval = self._period_s
        remember("window", self.window_s)
        for chart in self._charts:
            chart.go_live()

    def _turn_pause(self) -> None:
        self.paused_at_s = self.watched.store.t_s if self.paused_at_s is None else None
        paused = self.paused_at_s is not None
        self._pause.set_text("Resume" if paused else "Pause")
        self._pause.props(f"icon={'play_arrow' if paused else 'pause'}")

    async def _update(self) -> None:
        self._follow_family()
        await asyncio.gather(*(chart.update() for chart in list(self._charts)))


class _Chart:
    """Some signals over one time window."""

    is_xy = False
    height_px = 230

    def __init__(self, board: _Board, spec: ChartSpec) -> None:
        self.spec = spec
        self._board = board
        self._base_s: tuple[float, float] | None = None  # the zoomed window; it does not move
        self._zoom_s: tuple[float, float] | None = None
        self._sent: Any = None
        with card() as self.card:
            self.card.props('data-testid="chart"')
            with ui.row().classes("w-full items-center no-wrap gap-1"):
                self._legend = ui.row().classes("items-center gap-x-4 gap-y-0 grow").props('data-testid="legend"')
                self._live = ui.button("Live", icon="fast_forward", on_click=self.go_live)
                self._live.props('flat dense no-caps no-wrap data-testid="live"').set_visibility(False)
                ui.button(icon="tune", on_click=self.choose).props(
                    'flat round dense color=inherit data-testid="choose" aria-label="choose signals"'
                )
                ui.button(icon="close", on_click=lambda: board.remove(self)).props(
                    'flat round dense color=inherit data-testid="remove-chart" aria-label="remove chart"'
                )
            self._plot = ui.echart(self._first()).classes("w-full").style(f"height:{self.height_px}px")
            if not self.is_xy:
                self._plot.on("chart:datazoom", self._zoomed, js_handler=ZOOM_HANDLER)
            self._plot.on("dblclick", self.go_live)
        self._values: list[ui.label] = []
        self._draw_legend()

    def _draw_legend(self) -> None:
        self._legend.clear()
        self._values = []
        with self._legend:
            if not self.spec.signals:
                ui.label("no signals yet").classes("al-soft")
            for number, name in enumerate(self.spec.signals):
                signal = self._board.watched.store.signal(name)
                with ui.row().classes("items-center gap-1 no-wrap") as entry:
                    colour = theme.TRACES[number % len(theme.TRACES)]
                    ui.element("span").style(f"width:14px;height:4px;border-radius:2px;background:{colour}")
                    ui.label(name).classes("text-caption").style("overflow-wrap:anywhere")
                    self._values.append(ui.label().classes("al-num text-caption text-weight-bold"))
                    ui.label(signal.unit if signal and signal.unit != "-" else "").classes("text-caption al-soft")
                if signal:
                    entry.tooltip(signal.meaning)

    def _options(self) -> dict[str, Any]:
        return _options()

    def _first(self) -> dict[str, Any]:
        """Draw existing data: while paused, no update follows."""
        options = self._options()
        drawn = self._drawn(self._board.watched.store, self._window_s, self._window_s)
        for axis in ("xAxis", "yAxis"):
            options[axis] = {**options[axis], **drawn.get(axis, {})}
        return {**options, "series": drawn["series"]}

    @property
    def _window_s(self) -> tuple[float, float]:
        end_s = self._board.end_s
        return max(end_s - self._board.window_s, 0.0), max(end_s, float(self._board.window_s))

    def go_live(self) -> None:
        self._base_s = self._zoom_s = self._sent = None
        self._live.set_visibility(False)
        for index in range(2 if self.is_xy else 1):
            action = {"type": "dataZoom", "dataZoomIndex": index, "start": 0, "end": 100}
            self._plot.run_chart_method("dispatchAction", action)

    def _zoomed(self, event: events.GenericEventArguments) -> None:
        """The browser zoomed or panned: stop moving, and send that part of the window at full resolution."""
        try:
            first, last = (min(max(float(each), 0.0), 100.0) / 100 for each in event.args)
        except (TypeError, ValueError):
            return
        if first <= 0 and last >= 1:
            if self._zoom_s is not None:
                self.go_live()
            return
        start_s, end_s = self._base_s = self._base_s or self._window_s
        low_s, high_s = start_s + first * (end_s - start_s), start_s + last * (end_s - start_s)
        self._zoom_s = low_s, max(high_s, low_s + SHORTEST_ZOOM_S)
        self._live.set_visibility(True)

    async def update(self) -> None:
        store = self._board.watched.store
        for label, name in zip(self._values, self.spec.signals, strict=True):
            label.set_text(shown(_newest(store, name)))
        base_s = self._base_s or self._window_s
        view_s = self._zoom_s or base_s
        state = (id(store), store.t_s if view_s[1] >= store.t_s else 0.0, base_s, view_s, self.spec)
        if state == self._sent:
            return
        replaces = self._sent is None or self._sent[-1] != state[-1]
        self._sent = state
        option = self._drawn(store, base_s, view_s)
        # Waits until the browser has drawn it: a slow browser gets fewer updates.
        how = {"replaceMerge": ["series"]} if replaces else {}
        with contextlib.suppress(TimeoutError):
            await self._plot.run_chart_method("setOption", option, how, timeout=5.0)

    def _drawn(self, store: Store, base_s: tuple[float, float], view_s: tuple[float, float]) -> dict[str, Any]:
        """The data for the browser: the whole window as axis, the visible part as points."""
        return {
            "xAxis": {"min": round(base_s[0], 3), "max": round(base_s[1], 3)},
            "series": [
                {**_series(number, name), "data": points(store, name, *view_s)}
                for number, name in enumerate(self.spec.signals)
            ],
        }

    def choose(self) -> None:
        choose_signals(self._board.watched.store, self.spec, self._chosen, is_xy=self.is_xy)

    def _chosen(self, spec: ChartSpec) -> None:
        self.spec = spec
        self._draw_legend()
        self._board.keep()


class _XYPlot(_Chart):
    """Signals against another one, over the same window; dots mark the newest values."""

    is_xy = True
    height_px = XY_PX + 60

    def _options(self) -> dict[str, Any]:
        options = _options()
        options["grid"] = {"left": "center", "top": 10, "width": XY_PX, "height": XY_PX}
        options["tooltip"] = {"trigger": "none", "axisPointer": {"type": "cross", "animation": False}}
        options["dataZoom"] = [
            {"type": "inside", "xAxisIndex": 0, "filterMode": "none"},
            {"type": "inside", "yAxisIndex": 0, "filterMode": "none"},
        ]
        return options

    def _drawn(self, store: Store, base_s: tuple[float, float], view_s: tuple[float, float]) -> dict[str, Any]:
        pairs = {name: xy(store, self.spec.x, name, *view_s) for name in self.spec.signals}
        signals = [store.signal(name) for name in (self.spec.x, *self.spec.signals)]
        units = {signal.unit for signal in signals if signal is not None}
        (x_low, x_high), (y_low, y_high) = xy_limits(pairs.values(), equal=len(units) == 1)
        series = []
        for number, (name, found) in enumerate(pairs.items()):
            line = _series(number, name)
            series.append({**line, "data": np.round(found, 6).tolist()})
            series.append(
                {**line, "id": f"{name} now", "type": "scatter", "symbolSize": 9, "data": found[-1:].tolist()}
            )
        unit = f" [{signals[0].unit}]" if signals[0] is not None and signals[0].unit != "-" else ""
        return {
            "xAxis": {
                "min": x_low,
                "max": x_high,
                "name": f"{self.spec.x}{unit}",
                "nameLocation": "middle",
                "nameGap": 26,
                "nameTextStyle": {"color": theme.AXIS},
            },
            "yAxis": {"min": y_low, "max": y_high},
            "series": series,
        }


ZOOM_HANDLER = "(e) => { const z = (e.batch || [e])[0]; emit([z.start, z.end]) }"


def _newest(store: Store, name: str) -> float:
    _, values = store.window(name, store.t_s - STALE_S, math.inf, sys.maxsize)
    return float(values[-1]) if len(values) else math.nan


def _series(number: int, name: str) -> dict[str, Any]:
    colour = theme.TRACES[number % len(theme.TRACES)]
    return {
        "id": name,
        "name": name,
        "type": "line",
        "showSymbol": False,
        "lineStyle": {"width": 1.5, "color": colour},
        "itemStyle": {"color": colour},
    }


def _options() -> dict[str, Any]:
    axis = {
        "type": "value",
        "axisLabel": {"color": theme.AXIS, "hideOverlap": True, "showMinLabel": False, "showMaxLabel": False},
        "axisLine": {"lineStyle": {"color": theme.AXIS}},
        "splitLine": {"lineStyle": {"color": theme.AXIS + "40"}},
    }
    return {
        "animation": False,
        "grid": {"left": 56, "right": 16, "top": 10, "bottom": 24},
        "tooltip": {"trigger": "axis", "axisPointer": {"animation": False}, "confine": True},
        "xAxis": {**axis, "min": 0, "max": 30},
        "yAxis": {**axis, "scale": True},
        "dataZoom": [{"type": "inside", "filterMode": "none", "throttle": 100}],
        "series": [],
    }
