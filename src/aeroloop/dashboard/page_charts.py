"""Live charts of any signals, by name: pause, zoom, and the last ten minutes kept whether one looks or not."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from aeroloop.dashboard import family_page, theme
from aeroloop.dashboard.family_page import Charts
from aeroloop.dashboard.layout import card, every, remember, remembered
from aeroloop.dashboard.store import KEPT_S, Store
from aeroloop.dashboard.watched_flight import WatchedFlight

POINTS = 500
FASTEST_S, SLOWEST_S = 0.2, 1.0
UPDATES_PER_WINDOW = 150
MOST_CHARTS, MOST_SIGNALS = 8, 8
SHORTEST_ZOOM_S = 0.05
STALE_S = 5.0  # an older value is no current one
SMALLEST = 1e-9  # what is shown as 0
WINDOWS_S = {10: "10 s", 30: "30 s", 60: "1 min", 120: "2 min", 300: "5 min", int(KEPT_S): "10 min"}

ROUTER = "router"
ROUTER_CHARTS: Charts = [
    ["line[0].rate_in_hz", "line[1].rate_in_hz", "line[2].rate_in_hz", "line[3].rate_in_hz"],
    ["line[0].rate_out_hz", "line[1].rate_out_hz", "line[2].rate_out_hz", "line[3].rate_out_hz"],
]


def build(watched: WatchedFlight) -> None:
    _Board(watched)


def checked(kept: Any, store: Store) -> Charts | None:
    """What a browser remembers of its charts, as far as the flight has such signals; None where it is none of ours."""
    if not isinstance(kept, list) or not all(isinstance(chart, list) for chart in kept):
        return None
    return [
        [name for name in chart if isinstance(name, str) and store.signal(name)][:MOST_SIGNALS]
        for chart in kept[:MOST_CHARTS]
    ]


def shown(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return "0" if abs(value) < SMALLEST else f"{value:.4g}"


def points(store: Store, signal: str, start_s: float, end_s: float) -> list[list[float | None]]:
    t_s, values = store.window(signal, start_s, end_s, POINTS)
    return [
        [round(t, 3), float(f"{value:.6g}") if math.isfinite(value) else None]
        for t, value in zip(t_s.tolist(), values.tolist(), strict=True)
    ]


class _Board:
    """All charts of one browser's page."""

    def __init__(self, watched: WatchedFlight) -> None:
        self.watched = watched
        self.window_s = 30
        self.paused_at_s: float | None = None
        self.family = ""
        self._kept: dict[str, Charts | None] = {}
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
            ui.select(WINDOWS_S, value=self.window_s, label="window", on_change=self._set_window).props(
                'dense outlined options-dense data-testid="window"'
            ).classes("w-28")
            self._pause = ui.button("Pause", icon="pause", on_click=self._turn_pause)
            self._pause.props('outline no-caps data-testid="pause" color=inherit')
            ui.button("Add chart", icon="add", on_click=self._add_empty).props(
                'outline no-caps data-testid="add-chart" color=inherit'
            )
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
            self._show(first)  # of a family that names none: as soon as its first streams come

    def _defaults(self) -> Charts:
        watched = self.watched
        return ROUTER_CHARTS if self.family == ROUTER else family_page.charts(watched.scenario, watched.store)

    def _show(self, charts: Charts) -> None:
        self._column.clear()
        self._charts = []
        for names in charts:
            self._add(names)

    def _add(self, names: list[str]) -> _Chart:
        with self._column:
            chart = _Chart(self, list(names))
        self._charts.append(chart)
        return chart

    def _add_empty(self) -> None:
        if len(self._charts) >= MOST_CHARTS:
            ui.notify(f"There are {MOST_CHARTS} charts already; remove one first.")
            return
        self._add([]).choose()

    def remove(self, chart: _Chart) -> None:
        self._charts.remove(chart)
        self.keep()
        chart.card.delete()

    def keep(self) -> None:
        """Remember the charts for this browser's next visit."""
        charts = [chart.names for chart in self._charts if chart.names]
        self._kept[self.family] = charts
        remember(f"charts-{self.family}", charts)

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
        self._pause.set_text("Go on" if paused else "Pause")
        self._pause.props(f"icon={'play_arrow' if paused else 'pause'}")

    async def _update(self) -> None:
        self._follow_family()
        await asyncio.gather(*(chart.update() for chart in list(self._charts)))


class _Chart:
    """Some signals over one window of time."""

    def __init__(self, board: _Board, names: list[str]) -> None:
        self.names = names
        self._board = board
        self._base_s: tuple[float, float] | None = None  # the window that was zoomed into; it stands still
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
            self._plot = ui.echart(_options()).classes("w-full").style("height:230px")
            self._plot.on("chart:datazoom", self._zoomed, js_handler=ZOOM_HANDLER)
            self._plot.on("dblclick", self.go_live)
        self._values: list[ui.label] = []
        self._draw_legend()

    def _draw_legend(self) -> None:
        self._legend.clear()
        self._values = []
        with self._legend:
            if not self.names:
                ui.label("no signals yet").classes("al-soft")
            for number, name in enumerate(self.names):
                signal = self._board.watched.store.signal(name)
                with ui.row().classes("items-center gap-1 no-wrap") as entry:
                    colour = theme.TRACES[number % len(theme.TRACES)]
                    ui.element("span").style(f"width:14px;height:4px;border-radius:2px;background:{colour}")
                    ui.label(name).classes("text-caption").style("overflow-wrap:anywhere")
                    self._values.append(ui.label().classes("al-num text-caption text-weight-bold"))
                    ui.label(signal.unit if signal and signal.unit != "-" else "").classes("text-caption al-soft")
                if signal:
                    entry.tooltip(signal.meaning)

    @property
    def _window_s(self) -> tuple[float, float]:
        end_s = self._board.end_s
        return max(end_s - self._board.window_s, 0.0), max(end_s, float(self._board.window_s))

    def go_live(self) -> None:
        self._base_s = self._zoom_s = self._sent = None
        self._live.set_visibility(False)
        self._plot.run_chart_method("dispatchAction", {"type": "dataZoom", "start": 0, "end": 100})

    def _zoomed(self, event: events.GenericEventArguments) -> None:
        """The browser zoomed or moved: hold still, and send that part of the window in full."""
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
        for label, name in zip(self._values, self.names, strict=True):
            label.set_text(shown(_newest(store, name)))
        base_s = self._base_s or self._window_s
        view_s = self._zoom_s or base_s
        state = (id(store), store.t_s if view_s[1] >= store.t_s else 0.0, base_s, view_s, tuple(self.names))
        if state == self._sent:
            return
        replaces = self._sent is None or self._sent[-1] != state[-1]
        self._sent = state
        option: dict[str, Any] = {
            "xAxis": {"min": round(base_s[0], 3), "max": round(base_s[1], 3)},
            "series": [
                {**_series(number, name), "data": points(store, name, *view_s)}
                for number, name in enumerate(self.names)
            ],
        }
        # Waits until the browser has drawn it: one that cannot keep up is sent less.
        how = {"replaceMerge": ["series"]} if replaces else {}
        with contextlib.suppress(TimeoutError):
            await self._plot.run_chart_method("setOption", option, how, timeout=5.0)

    def choose(self) -> None:
        _choose_signals(self._board.watched.store, self.names, self._chosen)

    def _chosen(self, names: list[str]) -> None:
        self.names = names
        self._draw_legend()
        self._board.keep()


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


def _choose_signals(store: Store, names: list[str], chosen: Callable[[list[str]], None]) -> None:
    """A dialog with all signals, by stream; what is typed narrows them."""
    streams: dict[str, list[dict[str, Any]]] = {}
    for name in dict.fromkeys((*store.signals(), *names)):
        signal = store.signal(name)
        if signal is not None:
            unit = "" if signal.unit == "-" else f" [{signal.unit}]"
            leaf = {"id": name, "label": f"{name}{unit}: {signal.meaning}"}
            streams.setdefault(name.partition(".")[0], []).append(leaf)
    nodes = [{"id": f"stream {stream}", "label": stream, "children": leaves} for stream, leaves in streams.items()]
    with ui.dialog(value=True) as dialog, ui.card().classes("al-card").style("max-width:640px;max-height:85vh"):
        ui.label(f"Signals of this chart, {MOST_SIGNALS} at most").classes("text-weight-bold")
        if not nodes:
            ui.label("No signals have come yet: start a flight.").classes("al-soft")
        search = ui.input(placeholder="search").props(
            'dense outlined clearable autofocus data-testid="search-signals" aria-label="search signals"'
        )
        search.classes("w-full")
        with ui.scroll_area().style("height:50vh").classes("w-full"):
            tree = ui.tree(nodes, label_key="label", tick_strategy="leaf-filtered")
            tree.props('data-testid="signals" dense')
            tree.tick(names)
        search.on_value_change(lambda event: _narrow(tree, str(event.value or "")))

        def done() -> None:
            ticked = [name for name in tree.props["ticked"] if store.signal(name)]
            if len(ticked) > MOST_SIGNALS:
                ui.notify(f"{len(ticked)} signals are too many for one chart; expected {MOST_SIGNALS} at most.")
                return
            dialog.close()
            chosen([*(name for name in names if name in ticked), *(name for name in ticked if name not in names)])

        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
            ui.button("Show", on_click=done).props('no-caps data-testid="show-signals"')
    dialog.on("hide", dialog.delete)


def _narrow(tree: ui.tree, text: str) -> None:
    tree.set_filter(text)
    if text:
        tree.expand()
