"""Pictures of many touchdowns: around the pad's middle, near and far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from aeroloop.analysis.drawing import BLUE, ORANGE, WIDTH_IN, Picture, legend_above, picture
from aeroloop.analysis.landing_plots import circles
from aeroloop.campaign.landings import GPS, VISION, Flown

STYLE: dict[str, dict[str, Any]] = {VISION: {"color": BLUE, "marker": "o"}, GPS: {"color": ORANGE, "marker": "x"}}
NEAR_CM = 15.0


def touchdowns(flights: Sequence[Flown]) -> list[Picture]:
    landed = [flight for flight in flights if flight.landed]
    return [
        picture(
            "touchdowns",
            "All touchdowns",
            "Relative to the pad's middle; circles of 5 and 10 cm.",
            lambda: _scatter(landed, None),
        ),
        picture(
            "touchdowns-near",
            f"Within {NEAR_CM:g} cm",
            f"The same, up to {NEAR_CM:g} cm east and north.",
            lambda: _scatter(landed, NEAR_CM),
        ),
    ]


def _scatter(flights: Sequence[Flown], limit_cm: float | None) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.6), layout="constrained")
    axes = figure.subplots()
    for use in dict.fromkeys(flight.use for flight in flights):
        own = [flight.numbers for flight in flights if flight.use == use]
        east, north = ([100 * numbers[name] for numbers in own] for name in ("east_m", "north_m"))
        axes.scatter(east, north, s=22, label=use, zorder=3, **STYLE[use])
    circles(axes)
    if limit_cm is not None:
        axes.set_aspect("equal", adjustable="box")
        axes.set(xlim=(-limit_cm, limit_cm), ylim=(-limit_cm, limit_cm))
    legend_above(axes)
    return figure
