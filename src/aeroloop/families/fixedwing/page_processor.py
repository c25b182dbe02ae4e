"""What the fixed wing's computer does while it flies: its use, its switches, and each task's share and time, live."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from nicegui import ui

from aeroloop.core.wing_signals import WING_TASKS
from aeroloop.dashboard import theme
from aeroloop.dashboard.layout import card, chip, set_chip
from aeroloop.dashboard.store import KEPT_S, Store
from aeroloop.dashboard.watched_flight import WatchedFlight

POINTS = 240
COLOURS = (*theme.TRACES, "#b58900", "#5b7fd6", "#7a8f2a", "#a14d6b", "#6d7b86")
"""One for each task."""
NONE = (
    "No run-time statistics: a board on the host (rungs mil and sil) has no processor of its own. "
    "Fly rung pil to see load, context switches and the time of each task."
)
CSS = """
.cpu-grid { display:grid; gap:12px; width:100%; grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr)); }
.cpu-key { display:flex; flex-wrap:wrap; gap:2px 14px; font-size:13px; }
.cpu-key span { display:inline-flex; align-items:center; gap:5px; }
.cpu-key i { width:12px; height:4px; border-radius:2px; display:inline-block; }
"""
CHARTS = (
    ("use", "Processor use, %"),
    ("switches", "Context switches per second"),
    ("share", "Share of each task, %, stacked"),
    ("exec", "Execution time of each task in a control period, ms"),
)


class ProcessorPanel:
    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        self._sent: float | None = None
        ui.add_css(CSS)
        with card().props('data-testid="processor"'):
            with ui.row().classes("items-center gap-2"):
                ui.label("Processor").classes("text-weight-bold")
                self._use, self._planning, self._missed = (
                    chip(testid=f"cpu-{name}") for name in ("use", "plan", "miss")
                )
            self._none = ui.label(NONE).classes("al-soft").props('data-testid="no-processor"')
            with ui.element("div").classes("cpu-grid") as self._grid:
                self._charts = {}
                for name, title in CHARTS:
                    with ui.column().classes("gap-1 w-full"):
                        ui.label(title).classes("al-soft text-caption")
                        chart = (
                            ui.echart(_options(PERCENT if name in ("use", "share") else {}))
                            .classes("w-full")
                            .style("height:190px")
                        )
                        self._charts[name] = chart.props(f'data-testid="cpu-chart-{name}"')
            self._key = ui.html(_key(), sanitize=False).classes("cpu-key")
        for each in (self._use, self._planning, self._missed):
            set_chip(each, "")
        self._grid.set_visibility(False)
        self._key.set_visibility(False)
        self.refresh()

    def refresh(self) -> None:
        """New rows arrive once a second; nothing is sent without one."""
        newest = self._watched.store.latest("cpu")
        for each in (self._grid, self._key):
            each.set_visibility(newest is not None)
        self._none.set_visibility(newest is None)
        if newest is None or newest["t_s"] == self._sent:
            return
        self._sent = newest["t_s"]
        busy = newest["use_pct"]
        set_chip(self._use, f"{busy:.0f} % busy" if math.isfinite(busy) else "", "info")
        set_chip(self._planning, "planning" if newest["planning_s"] > 0 else "", "info")
        missed = newest["missed_cycles"]
        words = f"{missed:.0f} cycles missed" if math.isfinite(missed) else ""
        set_chip(self._missed, words, "bad" if missed > 0 else "ok")
        for name, series in all_series(self._watched.store).items():
            start_s = max(0.0, newest["t_s"] - KEPT_S)
            chart = self._charts[name]
            chart.options["xAxis"].update(min=round(start_s), max=max(math.ceil(newest["t_s"]), round(start_s) + 10))
            chart.options["series"] = series
            chart.update()


def all_series(store: Store) -> dict[str, list[dict[str, Any]]]:
    """For each chart, from the rows in the store."""
    names = [task.name for task in WING_TASKS]
    tasks = [_series(store, f"task[{i}].share_pct", name, COLOURS[i]) for i, name in enumerate(names)]
    times = [_series(store, f"task[{i}].exec_s", name, COLOURS[i], 1000.0) for i, name in enumerate(names)]
    stacked = {"stack": "share", "areaStyle": {"opacity": 0.75}, "lineStyle": {"width": 0}}
    return {
        "use": [_series(store, "cpu.use_pct", "use", theme.TRACES[0])],
        "switches": [_series(store, "cpu.switches_per_s", "switches", theme.TRACES[1])],
        "share": [{**each, **stacked} for each in tasks if each["data"]],
        "exec": [each for each in times if each["data"]],
    }


def _series(store: Store, signal: str, name: str, colour: str, scale: float = 1.0) -> dict[str, Any]:
    t_s, values = store.window(signal, store.t_s - KEPT_S, store.t_s, POINTS)
    known = np.isfinite(values)
    data = np.stack((np.round(t_s[known], 2), np.round(scale * values[known], 4)), axis=1).tolist()
    return {
        "type": "line",
        "name": name,
        "data": data,
        "showSymbol": False,
        "lineStyle": {"width": 1.6, "color": colour},
        "itemStyle": {"color": colour},
    }


def _key() -> str:
    return "".join(
        f'<span><i style="background:{COLOURS[i]}"></i>{task.name}</span>' for i, task in enumerate(WING_TASKS)
    )


PERCENT = {"max": 100}


def _options(upwards: dict[str, Any]) -> dict[str, Any]:
    axis = {
        "type": "value",
        "axisLabel": {"color": theme.AXIS, "hideOverlap": True},
        "axisLine": {"lineStyle": {"color": theme.AXIS}},
        "splitLine": {"lineStyle": {"color": theme.AXIS + "40"}},
    }
    return {
        "animation": False,
        "grid": {"left": 46, "right": 12, "top": 8, "bottom": 22},
        "tooltip": {"trigger": "axis", "confine": True, "axisPointer": {"animation": False}},
        "xAxis": {**axis, "min": 0, "max": 60},
        "yAxis": {**axis, "min": 0, **upwards},
        "series": [],
    }
