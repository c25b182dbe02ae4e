"""The page of a comparison: the runs' paths, angles and commands over one another, and their numbers side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis import page
from aeroloop.analysis.board import clock_words
from aeroloop.analysis.compare import ATTITUDE, COMMAND, POSITION, Run, differences, labels
from aeroloop.analysis.drawing import (
    COLORS,
    GREY,
    Line,
    Path3,
    Picture,
    logarithmic,
    over_time,
    panels,
    picture,
    top_and_altitude,
    trajectory_3d,
)

STROKES: tuple[dict[str, Any], ...] = (  # each lets the one below it show, so that equal runs are all seen
    {"linewidth": 3.6, "linestyle": "-"},
    {"linewidth": 2.0, "linestyle": (0, (6, 4))},
    {"linewidth": 1.2, "linestyle": (0, (2, 4))},
    {"linewidth": 0.8, "linestyle": "-"},
)
PANEL_IN = 1.35
BOARD_NUMBERS = {
    "cpu_use_mean_pct": "processor use, mean (%)",
    "cpu_use_max_pct": "processor use, most (%)",
    "switches_per_s_mean": "context switches, mean (1/s)",
    "stack_used_B": "stack used (B)",
    "stack_size_B": "stack there is (B)",
    "worst_cycle_s": "longest work of a cycle (s)",
    "overruns": "overruns",
}


def render(runs: Sequence[Run], comparison: Mapping[str, Any]) -> str:
    """`comparison` is what `compare` made of the runs."""
    clocks = dict.fromkeys(clock_words(board) for board in comparison["board"] if board)
    return page.render(
        "compare.html.j2",
        comparison=comparison,
        verdicts=[page.verdict(run["exit_code"]) for run in comparison["runs"]],
        pictures=pictures(runs),
        board_numbers=BOARD_NUMBERS,
        clocks=list(clocks),
    )


def pictures(runs: Sequence[Run]) -> list[Picture]:
    first, *others = labels(runs)
    drawn = [
        picture(
            "trajectory",
            "Trajectories",
            f"The paths flown over one another, and the reference of {first}.",
            lambda: trajectory_3d(_paths(runs)),
        ),
        picture(
            "top-and-altitude",
            "From above, and altitude",
            "The same paths seen from above, and their height over time.",
            lambda: top_and_altitude(_paths(runs)),
        ),
        picture(
            "position-difference",
            "Position difference",
            f"Distance of {' and '.join(others)} from {first} at the same time; a difference of zero has no place on "
            "a logarithmic axis.",
            lambda: _position_difference(runs),
        ),
        picture(
            "position",
            "Position",
            "Position on each world axis.",
            lambda: panels({f"{a[0]} (m)": _truth(runs, a) for a in POSITION}, height_in=3 * PANEL_IN),
        ),
        picture(
            "attitude",
            "Roll, pitch and yaw",
            "Attitude of the body in ZYX angles.",
            lambda: panels(
                {f"{a} (deg)": _truth(runs, f"{a}_rad", np.degrees(1.0)) for a in ATTITUDE}, height_in=3 * PANEL_IN
            ),
        ),
        picture(
            "commands",
            "Commands",
            "Thrusts in N and tilt torques in N m that the plant accepted from the board.",
            lambda: panels({_short(f): _lines(runs, "command", f) for f in COMMAND}, height_in=4 * PANEL_IN),
        ),
    ]
    if any(len(run.log.rows["board_cpu"]) for run in runs):
        drawn.append(
            picture(
                "cpu-use",
                "Processor use",
                "Processor time in tasks, of the boards that tell it.",
                lambda: over_time("processor use (%)", _lines(runs, "board_cpu", "use_pct")),
            )
        )
    return drawn


def _short(field: str) -> str:
    quantity, side, unit = field.split("_")
    return f"{quantity}\n{side} ({unit.replace('Nm', 'N m')})"


def _style(number: int, label: str) -> dict[str, Any]:
    return {"color": COLORS[number % len(COLORS)], "label": label, **STROKES[min(number, len(STROKES) - 1)]}


def _paths(runs: Sequence[Run]) -> list[Path3]:
    flown = [Path3(run.log, "truth", _style(number, label)) for number, (run, label) in _numbered(runs)]
    reference = {"color": GREY, "label": "reference", "linestyle": "--", "linewidth": 0.8}
    return [*flown, Path3(runs[0].log, "reference", reference)]


def _lines(runs: Sequence[Run], stream: str, field: str, scale: float = 1.0) -> list[Line]:
    return [
        Line(label, run.log.column(stream, "t_s"), run.log.column(stream, field) * scale, _style(number, label))
        for number, (run, label) in _numbered(runs)
        if len(run.log.rows[stream])
    ]


def _truth(runs: Sequence[Run], field: str, scale: float = 1.0) -> list[Line]:
    return _lines(runs, "truth", field, scale)


def _numbered(runs: Sequence[Run]) -> list[tuple[int, tuple[Run, str]]]:
    return list(enumerate(zip(runs, labels(runs), strict=True)))


def _position_difference(runs: Sequence[Run]) -> Figure:
    """In the colours that the runs have elsewhere."""
    lines = [
        Line(label, difference.t_s, difference.distance_m * 1e3, {"color": COLORS[number % len(COLORS)]})
        for number, (label, difference) in enumerate(zip(labels(runs)[1:], differences(runs), strict=True), 1)
    ]
    return logarithmic(over_time("distance (mm)", lines), lines)
