"""What the report's script reads off a figure: its plots, their limits in the figure's own units, and their curves."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import Line, Path3, panels, path_pictures, picture


def described(svg: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(unescape(re.findall(r'<svg [^>]*data-axes="(.*?)"', svg)[0]))
    return told


def points(svg: str, axes: int, line: int) -> list[tuple[float, float]]:
    """Of a drawn curve, in units of the figure."""
    group = svg[svg.index(f'data-al="axes-{axes}"') :]
    path = re.findall(r'<path d="(.*?)"', group[group.index(f'data-al="line-{line}"') :], re.DOTALL)[0]
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (\S+) (\S+)", path)]


def value(plot: dict[str, Any], x: float, y: float) -> tuple[float, float]:
    """As figures.js computes it."""
    left, top, width, height = plot["box"]
    (x0, x1), (y0, y1) = plot["x"], plot["y"]
    return x0 + (x - left) / width * (x1 - x0), y0 + (top + height - y) / height * (y1 - y0)


def test_values_can_be_read_off_the_drawn_curves() -> None:
    t_s = np.linspace(0.0, 10.0, 11)
    lines = {"height (m)": [Line("flown", t_s, t_s**2)], "speed (m/s)": [Line("", t_s, 2 * t_s), Line("b", t_s, t_s)]}
    svg = picture("both", "Both", "", lambda: panels(lines)).svg
    above, below = described(svg)
    assert [name for _, name in above["names"]] == ["flown"] and [name for _, name in below["names"]] == ["", "b"]
    assert (above["ylabel"], below["ylabel"], below["xlabel"]) == ("height (m)", "speed (m/s)", "time (s)")
    assert above["shared"] == below["shared"] and not above["xticks"] and below["xticks"]
    for plot, number, function in ((above, 0, lambda t: t * t), (below, 0, lambda t: 2 * t), (below, 1, lambda t: t)):
        for point in points(svg, plot["number"], number):
            x, y = value(plot, *point)
            assert abs(y - function(x)) < 2e-3 * (plot["y"][1] - plot["y"][0])


def test_a_map_keeps_its_aspect_and_a_view_in_space_has_no_plot() -> None:
    circle = np.linspace(0, 6, 50)
    path = Path3(circle, np.stack([np.cos(circle), np.sin(circle), circle], axis=1), {"label": "a <b>"})
    space, top = path_pictures([path], "", "", "")
    assert described(space.svg) == []
    above, side = described(top.svg)
    assert above["map"] and not side["map"] and above["shared"] != side["shared"]
    assert above["names"][0][1] == "a <b>" and "<b>" not in top.svg


def test_straight_marks_and_bars_of_colour_are_nothing_to_read() -> None:
    def draw() -> Figure:
        figure = Figure()
        axes: Any = figure.subplots()
        shaded = axes.imshow(np.eye(3))
        figure.colorbar(shaded, ax=axes)
        axes.axhline(1.0)
        axes.plot([0, 1, 2], [0, 1, 2], linestyle="none", marker="x")
        return figure

    (plot,) = described(picture("marks", "", "", draw).svg)
    assert plot["names"] == []
