"""Drawings of a route from numbers alone: its curve on the map, and charts of speeds and accelerations beside their
limits. What is beyond a limit is red."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aeroloop.dashboard.map import View
from aeroloop.dashboard.route_state import Evaluation
from aeroloop.dashboard.theme import AXIS, BAD, TRACES
from aeroloop.planning.route import Space
from aeroloop.planning.route_check import Quantity
from aeroloop.planning.speed_profile import TimedRoute

CSS = """
.route-curve { fill:none; stroke:var(--plan); stroke-width:3; stroke-linejoin:round; }
.route-beyond { fill:none; stroke:#d32f2f; stroke-width:4.5; stroke-linecap:round; stroke-linejoin:round; }
"""
CURVE_POINTS, CHART_POINTS = 600, 400
CHARTS = (
    ("Speed, m/s", ("speed", "climb", "sink")),
    ("Acceleration, m/s²", ("acceleration", "vertical acceleration")),
)
COUNT = len(CHARTS) + 1
LEVEL, UP = TRACES[0], TRACES[1]
LIMIT = {"type": "dashed", "width": 1.3}


def beyond(quantities: Sequence[Quantity], count: int) -> Any:
    """(n,) True where any limit does not hold."""
    return np.any([each.beyond for each in quantities], axis=0) if quantities else np.zeros(count, bool)


def curve(view: View, evaluation: Evaluation) -> str:
    """The curve on the map, parts beyond a limit over it."""
    if evaluation.route is None or not evaluation.quantities:
        return ""
    timed = evaluation.route.timed
    wrong = beyond(evaluation.quantities, len(timed.t_s))
    chosen = _thinned(len(timed.t_s), CURVE_POINTS)
    parts = [_line(view, timed.pos_W[chosen], "route-curve")]
    parts += [_line(view, timed.pos_W[begin:end], "route-beyond") for begin, end in _runs(wrong)]
    return "".join(parts)


def _line(view: View, places: Any, kind: str) -> str:
    pixels = (view.pixel(float(x), float(y)) for x, y in places[:, :2])
    return f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)}"/>'


def _runs(flags: Any) -> list[tuple[int, int]]:
    """Begin and end of each run of True, with a neighbour so that one node is a line too."""
    padded = np.concatenate([[False], flags, [False]])
    edges = np.nonzero(padded[1:] != padded[:-1])[0]
    return [(max(0, begin - 1), end + 1) for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)]


def _thinned(count: int, most: int) -> Any:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def charts(evaluation: Evaluation, space: Space | None = None) -> list[dict[str, Any]]:
    """Options of the charts: speed, acceleration, height; each over time."""
    if evaluation.route is None or not evaluation.quantities:
        return []
    timed = evaluation.route.timed
    named = {each.name: each for each in evaluation.quantities}
    chosen = _thinned(len(timed.t_s), CHART_POINTS)
    t_s = timed.t_s[chosen]
    found = []
    for title, names in CHARTS:
        own = [named[name] for name in names if name in named]
        series = [_series(own[0].name, LEVEL, t_s, own[0].values[chosen], own[0])]
        series.append(_series(own[1].name, UP, t_s, own[1].values[chosen], own[1]))
        if len(own) > 2:  # downwards: the same curve, another limit
            series.append(_limit_line(UP, -own[2].limit))
        found.append(_options(title, series, _areas(timed, own)))
    found.append(_height(timed, t_s, chosen, named.get("height above ground"), space))
    return found


def _height(timed: TimedRoute, t_s: Any, chosen: Any, above: Quantity | None, space: Space | None) -> dict[str, Any]:
    height = _series("height", LEVEL, t_s, timed.pos_W[chosen, 2])
    series = [height]
    if space is not None:
        ground = [space.ground_m(float(x), float(y)) for x, y in timed.pos_W[chosen, :2]]
        series.append({**_series("ground", "#7d6b57", t_s, np.array(ground)), "areaStyle": {"opacity": 0.2}})
    return _options("Height, m", series, _areas(timed, [above] if above is not None else []))


def _series(name: str, colour: str, t_s: Any, values: Any, quantity: Quantity | None = None) -> dict[str, Any]:
    points = [[round(t, 3), round(value, 3)] for t, value in zip(t_s.tolist(), values.tolist(), strict=True)]
    one: dict[str, Any] = {
        "type": "line",
        "name": name,
        "data": points,
        "showSymbol": False,
        "color": colour,
        "lineStyle": {"width": 2},
        "animation": False,
    }
    if quantity is not None:
        one["markLine"] = _limit_line(colour, quantity.limit)["markLine"]
    return one


def _limit_line(colour: str, limit: float) -> dict[str, Any]:
    """A series without points of its own."""
    mark = {
        "silent": True,
        "symbol": "none",
        "lineStyle": {**LIMIT, "color": colour},
        "label": {"formatter": f"limit {limit:g}", "position": "insideEndTop", "color": AXIS},
        "data": [{"yAxis": limit}],
        "animation": False,
    }
    return {"type": "line", "data": [], "markLine": mark}


def _areas(timed: TimedRoute, quantities: Sequence[Quantity]) -> list[list[dict[str, float]]]:
    """Times beyond a limit."""
    last = len(timed.t_s) - 1
    runs = _runs(beyond(quantities, len(timed.t_s)))
    return [[{"xAxis": float(timed.t_s[a])}, {"xAxis": float(timed.t_s[min(b, last)])}] for a, b in runs]


def _options(title: str, series: list[dict[str, Any]], areas: list[list[dict[str, float]]]) -> dict[str, Any]:
    mark = {"silent": True, "itemStyle": {"color": BAD, "opacity": 0.22}, "data": areas, "animation": False}
    series = [{**series[0], "markArea": mark}, *series[1:]]
    axis = {
        "type": "value",
        "axisLabel": {"color": AXIS, "showMinLabel": False, "showMaxLabel": False},
        "splitLine": {"lineStyle": {"color": AXIS, "opacity": 0.25}},
    }
    return {
        "title": {"text": title, "textStyle": {"fontSize": 13, "color": AXIS}, "left": 8, "top": 4},
        "legend": {
            "right": 8,
            "top": 4,
            "textStyle": {"color": AXIS},
            "data": [s["name"] for s in series if "name" in s],
        },
        "grid": {"left": 44, "right": 14, "top": 34, "bottom": 26},
        "tooltip": {"trigger": "axis"},
        "xAxis": {**axis, "max": "dataMax", "name": "s", "nameTextStyle": {"color": AXIS}, "nameGap": 6},
        "yAxis": {**axis, "scale": True, **_range(series)},
        "series": series,
    }


def _range(series: Sequence[dict[str, Any]]) -> dict[str, float]:
    """So that the limits are seen too, unless they are far away."""
    values = [value for each in series for _, value in each["data"]]
    limits = [mark["yAxis"] for each in series if "markLine" in each for mark in each["markLine"]["data"]]
    low, high = min(values, default=0.0), max(values, default=1.0)
    span = max(high - low, 0.1)
    near = [limit for limit in limits if low - 1.5 * span <= limit <= high + 1.5 * span]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.08 * max(high - low, 0.1)
    return {"min": round(low - margin, 2), "max": round(high + margin, 2)}
