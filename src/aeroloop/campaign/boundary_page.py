"""Section of the report: the boundary where the pass rate crosses a limit, and the points that were tested."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import BLUE, GREY, RED, WIDTH_IN, Picture, legend_above, picture
from aeroloop.analysis.section import Block, Column, Figures, Note, Table, Text
from aeroloop.campaign.search import Boundary, TestedPoint
from aeroloop.campaign.statistics import wilson

MOST_ROWS = 200


def blocks(boundary: Boundary) -> Iterator[Block]:
    yield Text(boundary.words)
    if len(boundary.keys) == 1:
        yield Figures([_along(boundary)])
        tested = sorted(boundary.tested, key=lambda each: each.point)
        rows = [(*map(_short, each.point), f"{each.passed} of {each.flights}", each.answer) for each in tested]
        yield Table([Column(boundary.keys[0], "name"), Column("passed"), Column("rate is", "text")], rows)
        return
    yield Figures([_plane(boundary)])
    rows = [
        (f"{number}", *map(_short, crossing.passes_at), *map(_short, crossing.fails_at))
        for number, line in enumerate(boundary.lines, 1)
        for crossing in line
    ]
    titles = [f"{key}, {side}" for side in ("above", "below") for key in boundary.keys]
    if rows:
        yield Table([Column("line", "name"), *map(Column, titles)], rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield Note(f"The first {MOST_ROWS} of {len(rows)} crossings; all are in the output of `status --json`.")
    yield Note(
        "The line is between the two points of each row. A part of the boundary that lies between points of the first "
        "grid, with the same answer at all of them, is not found."
    )


def _short(value: float) -> str:
    return f"{value:.6g}"


def _along(boundary: Boundary) -> Picture:
    def draw() -> Figure:
        figure = Figure(figsize=(WIDTH_IN, 2.8), layout="constrained")
        axes = figure.subplots()
        tested = sorted(boundary.tested, key=lambda each: each.point)
        rate = np.array([each.passed / each.flights for each in tested])
        ends = np.array([wilson(each.passed, each.flights) for each in tested]).T
        x = [each.point[0] for each in tested]
        axes.errorbar(x, rate, yerr=np.abs(ends - rate), fmt="o", ms=4, color=BLUE, ecolor=GREY, capsize=2)
        axes.axhline(boundary.pass_rate, color=GREY, linestyle="--")
        for crossing in boundary.crossings:
            axes.axvspan(crossing.passes_at[0], crossing.fails_at[0], color=RED, alpha=0.35, linewidth=1.5)
        axes.set(xlabel=boundary.keys[0], ylabel="pass rate", ylim=(-0.04, 1.04))
        return figure

    caption = "Pass rate with Wilson's 95 % interval at each value that was flown; the boundary is in the red strips."
    return picture("boundary", f"Pass rate over {boundary.keys[0]}", caption, draw)


def _plane(boundary: Boundary) -> Picture:
    def draw() -> Figure:
        figure = Figure(figsize=(WIDTH_IN, 4.2), layout="constrained")
        axes = figure.subplots()
        decided = [each for each in boundary.tested if each.answer != "open"]
        for side, color, marker in (("above", BLUE, "o"), ("below", RED, "x")):
            own = [each.point for each in decided if each.answer == side]
            axes.scatter(*_columns(own), s=9, color=color, marker=marker, linewidths=0.8, label=f"rate {side}")
        if undecided := [each.point for each in _open(boundary)]:
            axes.scatter(*_columns(undecided), s=12, color=GREY, marker="s", label="not decided")
        for crossing in boundary.crossings:
            axes.plot(*_columns([crossing.passes_at, crossing.fails_at]), color=GREY, linewidth=0.8)
        for line in boundary.lines:
            axes.plot(*_columns([crossing.middle for crossing in line]), color="black", linewidth=1.4)
        axes.set(xlabel=boundary.keys[0], ylabel=boundary.keys[1])
        legend_above(axes)
        return figure

    caption = (
        f"Points that were flown, the line on which the pass rate is {boundary.pass_rate:g}, and across it the two "
        "points that it lies between."
    )
    return picture("boundary", f"Boundary over {boundary.keys[0]} and {boundary.keys[1]}", caption, draw)


def _open(boundary: Boundary) -> list[TestedPoint]:
    return [each for each in boundary.tested if each.answer == "open"]


def _columns(points: list[tuple[float, ...]]) -> tuple[list[float], list[float]]:
    return [point[0] for point in points], [point[1] for point in points]
