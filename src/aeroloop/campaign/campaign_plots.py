"""Pictures of a campaign: distributions against limits, parameters of passed and failed flights, sensitivities."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from aeroloop.analysis.drawing import BLUE, GREY, RED, WIDTH_IN, Picture, legend_above, picture
from aeroloop.campaign.judgement import Judged
from aeroloop.campaign.statistics import Array

BINS, MOST_PAIRS, MOST_METRICS, MOST_VECTORS = 30, 6, 12, 2000
"""More marks than the last are drawn as an image within the picture: shapes would take seconds and megabytes."""
MOST_MARKS = 20_000
"""Of passed, and of failed flights: more show nothing else."""
LIMIT = re.compile(r"[<>=] (.+)")


def varying(judged: Judged) -> list[str]:
    """Checked metrics that are not the same in all flights."""
    found = []
    for name in judged.checked_metrics:
        values = judged.metric(name)
        values = values[np.isfinite(values)]
        if len(values) and np.ptp(values) > 0.0:
            found.append(name)
    return found[:MOST_METRICS]


def distributions(judged: Judged) -> list[Picture]:
    return [
        picture(
            f"distribution-{name}",
            name,
            f"Flights by {name}, and the limit {judged.checked_metrics[name]}.",
            lambda name=name: _distribution(judged, name),  # type: ignore[misc]
        )
        for name in varying(judged)
    ]


def _distribution(judged: Judged, name: str) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 2.4), layout="constrained")
    axes = figure.subplots()
    values, passed = judged.metric(name), judged.passed
    known = np.isfinite(values)
    edges = np.histogram_bin_edges(values[known], bins=min(BINS, max(5, math.isqrt(int(known.sum())) * 2)))
    split = [values[known & passed], values[known & ~passed]]
    axes.hist(split, [float(edge) for edge in edges], stacked=True, color=[BLUE, RED], label=["passed", "failed"])
    match = LIMIT.fullmatch(judged.checked_metrics[name])
    if match is not None:
        axes.axvline(float(match[1]), color=GREY, linestyle="--", label=f"limit {judged.checked_metrics[name]}")
    axes.set(xlabel=name, ylabel="flights")
    legend_above(axes)
    return figure


def scatters(judged: Judged) -> tuple[list[Picture], str]:
    """Of pairs of parameters, and what to say of those left out; of a single one against the first checked metric."""
    keys = [key for key in judged.varied if np.ptp(judged.column(key)) > 0.0] if len(judged.flown) else []
    if len(keys) == 1 and (names := varying(judged)):
        return [_scatter(judged, keys[0], names[0], judged.metric(names[0]))], ""
    pairs, left_out = list(itertools.combinations(keys, 2)), ""
    if len(pairs) > MOST_PAIRS:
        left_out = (
            f"{MOST_PAIRS} of {len(pairs)} pairs: those of the parameters with the largest rank correlation with any "
            "checked metric. The page Campaign of `aeroloop dash` shows any two."
        )
        strength = dict.fromkeys(keys, 0.0)
        for each in judged.sensitivities:
            if each.key in strength:
                strength[each.key] = max(strength[each.key], abs(each.correlation))
        pairs.sort(key=lambda pair: -strength[pair[0]] - strength[pair[1]])  # equal ones stay in the file's order
    return [_scatter(judged, x, y, judged.column(y)) for x, y in pairs[:MOST_PAIRS]], left_out


def _scatter(judged: Judged, x: str, y: str, values: Array) -> Picture:
    def draw() -> Figure:
        figure = Figure(figsize=(WIDTH_IN, 3.4), layout="constrained")
        axes = figure.subplots()
        column, passed = judged.column(x), judged.passed
        shown, failed, many = _some(passed), _some(~passed), len(values) > MOST_VECTORS
        axes.scatter(column[shown], values[shown], s=14, color=BLUE, marker="o", label="passed", rasterized=many)
        axes.scatter(column[failed], values[failed], s=22, color=RED, marker="x", label="failed", rasterized=many)
        axes.set(xlabel=x, ylabel=y)
        for axis, key in ((axes.xaxis, x), (axes.yaxis, y)):
            if texts := judged.texts(key):
                axis.set_ticks(range(len(texts)), texts)
        legend_above(axes)
        return figure

    name = f"scatter-{re.sub(r'[^A-Za-z0-9]+', '-', f'{x}-{y}').strip('-')}"
    marks = "Each mark is a flight." if len(values) <= MOST_MARKS else f"At most {MOST_MARKS} flights of each kind."
    return picture(name, f"{x} and {y}", marks, draw)


def _some(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices, evenly spread where there are too many for a picture."""
    found = np.flatnonzero(flags)
    return found[:: max(1, math.ceil(len(found) / MOST_MARKS))]


def sensitivity(judged: Judged) -> list[Picture]:
    return [
        picture(
            f"sensitivity-{name}",
            f"Sensitivity of {name}",
            "Rank correlation with each parameter, and its 95 % interval.",
            lambda name=name: _bars(judged, name),  # type: ignore[misc]
        )
        for name in varying(judged)
        if any(each.metric == name for each in judged.sensitivities)
    ]


def _bars(judged: Judged, name: str) -> Figure:
    own = sorted((each for each in judged.sensitivities if each.metric == name), key=lambda each: abs(each.correlation))
    figure = Figure(figsize=(WIDTH_IN, 0.9 + 0.32 * len(own)), layout="constrained")
    axes = figure.subplots()
    middle = np.array([each.correlation for each in own])
    ends = np.array([each.interval for each in own]).T
    axes.barh(range(len(own)), middle, color=BLUE, height=0.6)
    axes.errorbar(middle, range(len(own)), xerr=np.abs(ends - middle), fmt="none", ecolor=GREY, capsize=3)
    axes.set_yticks(range(len(own)), [each.key for each in own])
    axes.set(xlim=(-1.0, 1.0), xlabel=f"rank correlation with {name}")
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    return figure
