"""The delay margin that a linear model predicts, beside the delay of a flight: the report's figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import BLUE, GREEN, GREY, ORANGE, RED, Picture, legend_above, picture, single
from aeroloop.analysis.section import Figures, Note, Section
from aeroloop.core.scenario import Scenario
from aeroloop.models import delay

STEPS = 73
RESOLUTION_S = 1e-4


class DelayMargin(TypedDict):
    """The design model's prediction over added delay, and the delay of a flight."""

    delays_s: list[float]
    radius: list[float]  # spectral radius of the closed loop at each delay
    margin_s: float
    flight_delay_s: float


def predicted(scenario: Scenario, radius: Callable[[float], float], most_s: float) -> DelayMargin:
    """The margin of a loop from its spectral radius over added delay, up to `most_s`."""
    delays_s = [most_s * i / (STEPS - 1) for i in range(STEPS)]
    return DelayMargin(
        delays_s=delays_s,
        radius=[radius(delay_s) for delay_s in delays_s],
        margin_s=delay.smallest_unstable_s(radius, most_s, resolution_s=RESOLUTION_S),
        flight_delay_s=scenario.link.to_board.delay_s + scenario.link.to_plant.delay_s,
    )


def margin_section(margin: DelayMargin | None, *, diverged: bool, where: str, note: str = "") -> Section:
    """`where` the law was linearised; used in the note if a law has no derivative there."""
    if margin is None:
        return Section(
            "margin",
            "Delay margin of the closed loop",
            [Note(f"No prediction: the law is not differentiable in {where}.")],
        )
    notes = [Note(note)] if note else []
    return Section(
        "margin",
        "Delay margin of the closed loop",
        [Figures([delay_margin_picture(margin, diverged=diverged)]), *notes],
    )


def delay_margin_picture(margin: DelayMargin, *, diverged: bool) -> Picture:
    stable = margin["flight_delay_s"] < margin["margin_s"]
    caption = (
        f"Spectral radius of the closed loop over added delay; above 1 it is unstable. The design model "
        f"predicts a margin of {margin['margin_s'] * 1e3:.1f} ms. This flight had "
        f"{margin['flight_delay_s'] * 1e3:.1f} ms added, for which the prediction is "
        f"{'stable' if stable else 'unstable'}: it {'diverged' if diverged else 'did not diverge'}."
    )
    return picture("delay-margin", "Delay margin", caption, lambda: _delay_margin(margin, diverged=diverged))


def _delay_margin(margin: DelayMargin, *, diverged: bool) -> Figure:
    figure, axes = single()
    delays_ms = np.array(margin["delays_s"]) * 1e3
    margin_ms, flight_ms = margin["margin_s"] * 1e3, margin["flight_delay_s"] * 1e3
    axes.plot(delays_ms, margin["radius"], color=BLUE, label="closed loop")
    axes.axhline(1.0, color=GREY, linewidth=1)
    axes.axvline(margin_ms, color=ORANGE, linestyle="--", linewidth=1, label=f"margin {margin_ms:.1f} ms")
    axes.plot(
        flight_ms,
        np.interp(flight_ms, delays_ms, margin["radius"]),
        linestyle="none",
        marker="X" if diverged else "o",
        markersize=8,
        color=RED if diverged else GREEN,
        label=f"this flight {'diverged' if diverged else 'flew'}",
    )
    axes.set(xlabel="added delay (ms)", ylabel="spectral radius")
    legend_above(axes)
    return figure
