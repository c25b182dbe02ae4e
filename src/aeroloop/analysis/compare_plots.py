"""Pictures of a comparison: the runs' paths, angles and commands over one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.compare import Run, difference_label, differences, labels
from aeroloop.analysis.drawing import (
    COLORS,
    GREY,
    PANEL_IN,
    Line,
    Path3,
    Picture,
    logarithmic,
    over_time,
    panels,
    path_pictures,
    picture,
)
from aeroloop.analysis.family import analysis_of
from aeroloop.analysis.track import ATTITUDE, Track

STROKES: tuple[dict[str, Any], ...] = (  # each lets the one below it show, so that equal runs are all seen
    {"linewidth": 3.6, "linestyle": "-"},
    {"linewidth": 2.0, "linestyle": (0, (6, 4))},
    {"linewidth": 1.2, "linestyle": (0, (2, 4))},
    {"linewidth": 0.8, "linestyle": "-"},
)


def pictures(runs: Sequence[Run]) -> list[Picture]:
    first, *others = labels(runs)
    drawn = [
        *path_pictures(
            _paths(runs),
            "Trajectories",
            f"The paths flown, overlaid, and the reference of {first}.",
            "Position over the ground, and height above the origin over time.",
        ),
        picture(
            "position-difference",
            "Position difference",
            f"Distance of {' and '.join(others)} from {first} at the same time; zero cannot be shown on a "
            "logarithmic axis.",
            lambda: _position_difference(runs),
        ),
        picture(
            "position",
            "Position",
            "Position on each world axis.",
            lambda: panels(_positions(runs), height_in=3 * PANEL_IN),
        ),
        picture(
            "attitude",
            "Roll, pitch and yaw",
            "Attitude of the body in ZYX angles.",
            lambda: panels(_angles(runs), height_in=3 * PANEL_IN),
        ),
    ]
    analysis, commands = analysis_of(runs[0].scenario), runs[0].tracks[0].commands
    if commands:
        drawn.append(
            picture(
                "commands",
                "Commands",
                analysis.command_caption,
                lambda: panels(_commands(runs), height_in=len(commands) * PANEL_IN),
            )
        )
    if all("cpu" in run.log.rows for run in runs) and any(len(run.log.rows["cpu"]) for run in runs):
        drawn.append(
            picture(
                "cpu-use",
                "Processor use",
                "Processor time in tasks, of the boards that report it.",
                lambda: over_time("processor use (%)", _lines(runs, "cpu", "use_pct")),
            )
        )
    return drawn


def _short(field: str) -> str:
    """thrust_right_N on two lines; a name without parts stays as it is."""
    quantity, *which, unit = field.split("_") if "_" in field else (field, "-")
    return "\n".join((quantity, " ".join((*which, f"({unit.replace('Nm', 'N m')})"))))


def _style(number: int, label: str) -> dict[str, Any]:
    return {"color": COLORS[number % len(COLORS)], "label": label, **STROKES[min(number, len(STROKES) - 1)]}


def _paths(runs: Sequence[Run]) -> list[Path3]:
    flown = [Path3(track.t_s, track.pos_W, style) for track, style in _tracks(runs)]
    styles = ({"color": GREY, "label": label, "linestyle": "--", "linewidth": 0.8} for label in _labelled("reference"))
    wanted = [
        Path3(track.reference_t_s, track.reference_W, style)
        for track, style in zip(runs[0].tracks, styles, strict=False)
    ]
    return [*flown, *wanted]


def _labelled(label: str) -> Iterator[str]:
    """A legend names many lines of one kind once; matplotlib leaves out a label that begins with an underscore."""
    return chain((label,), repeat("_"))


def _tracks(runs: Sequence[Run]) -> list[tuple[Track, dict[str, Any]]]:
    """Every aircraft of every run, with the style of its run."""
    return [
        (track, _style(number, name))
        for number, (run, label) in _numbered(runs)
        for track, name in zip(run.tracks, _labelled(label), strict=False)
    ]


def _lines(runs: Sequence[Run], stream: str, field: str, scale: float = 1.0) -> list[Line]:
    return [
        Line(label, run.log.column(stream, "t_s"), run.log.column(stream, field) * scale, _style(number, label))
        for number, (run, label) in _numbered(runs)
        if len(run.log.rows[stream])
    ]


def _positions(runs: Sequence[Run]) -> dict[str, Sequence[Line]]:
    return {
        f"{axis} (m)": [Line("", track.t_s, track.pos_W[:, i], style) for track, style in _tracks(runs)]
        for i, axis in enumerate("xyz")
    }


def _angles(runs: Sequence[Run]) -> dict[str, Sequence[Line]]:
    return {
        f"{angle} (deg)": [
            Line("", track.t_s, np.degrees(np.unwrap(track.attitude_rad[:, i])), style)
            for track, style in _tracks(runs)
        ]
        for i, angle in enumerate(ATTITUDE)
    }


def _commands(runs: Sequence[Run]) -> dict[str, Sequence[Line]]:
    """Of the aircraft that have what the first one has."""
    names = runs[0].tracks[0].commands
    return {
        _short(name): [
            Line("", track.command_t_s, track.command[:, i], style)
            for track, style in _tracks(runs)
            if track.commands == names and track.command_t_s.size
        ]
        for i, name in enumerate(names)
    }


def _numbered(runs: Sequence[Run]) -> list[tuple[int, tuple[Run, str]]]:
    return list(enumerate(zip(runs, labels(runs), strict=True)))


def _position_difference(runs: Sequence[Run]) -> Figure:
    """In the colours that the runs have elsewhere; several vehicles have one each."""
    lines = [
        Line(
            difference_label(runs, difference),
            difference.t_s,
            difference.distance_m * 1e3,
            {} if difference.name else {"color": COLORS[difference.run % len(COLORS)]},
        )
        for difference in differences(runs)
    ]
    return logarithmic(over_time("distance (mm)", lines), lines)
