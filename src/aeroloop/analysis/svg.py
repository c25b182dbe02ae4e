"""Figures as SVG elements of a page, with the data that its script needs to zoom and to show values."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

from markupsafe import escape
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def svg(figure: Figure) -> str:
    """The figure as an element of a page: no XML prologue, no fixed size, no duplicate id.

    `data-axes` has the data that `figures.js` needs to show values and to zoom.
    """
    plots = [(number, axes) for number, axes in enumerate(figure.axes) if _is_plot(axes)]
    names = {number: _marked(axes, number) for number, axes in plots}
    text = StringIO()
    FigureCanvasSVG(figure).print_svg(text, metadata=NO_METADATA)
    drawn = text.getvalue()
    drawn = re.sub(r' id="al-([\w-]+)"', r' data-al="\1"', drawn[drawn.index("<svg") :])
    drawn = re.sub(r' id="[\w.]+_\d+"', "", drawn)
    described = json.dumps([_described(axes, number, names[number]) for number, axes in plots], separators=(",", ":"))
    return re.sub(
        r'<svg ([^>]*?)width="\S+" height="\S+"',
        lambda match: f'<svg {match[1]}data-axes="{escape(described)}"',
        drawn,
        count=1,
    )


def _is_plot(axes: Any) -> bool:
    """Axes with two meaningful coordinates: neither a 3D view nor a colour bar nor a diagram."""
    return not hasattr(axes, "get_zlim") and axes.get_label() != "<colorbar>" and axes.axison


def _marked(axes: Any, number: int) -> list[tuple[int, str]]:
    """Name the elements that `figures.js` uses; returns number and label of each line with values."""
    axes.set_gid(f"al-axes-{number}")
    for axis, name in ((axes.xaxis, "al-x"), (axes.yaxis, "al-y")):
        axis.set_gid(name)
        axis.label.set_gid("al-label")
    names = []
    for index, line in enumerate(axes.lines):
        if line.get_linestyle() not in ("None", "none", "") and len(line.get_xdata()) > 2:
            line.set_gid(f"al-line-{index}")
            label = str(line.get_label())
            names.append((index, "" if label.startswith("_") else label))
    return names


def _described(axes: Any, number: int, names: list[tuple[int, str]]) -> dict[str, Any]:
    figure = axes.get_figure()
    width, height = (72.0 * side for side in figure.get_size_inches())  # SVG units are points
    place = axes.get_position()
    joined = axes.get_shared_x_axes().joined
    shared = min(i for i, other in enumerate(figure.axes) if other is axes or joined(axes, other))
    return {
        "number": number,
        "box": [round(value, 2) for value in (place.x0 * width, (1 - place.y1) * height, place.width * width)]
        + [round(place.height * height, 2)],
        "x": list(axes.get_xlim()),
        "y": list(axes.get_ylim()),
        "xlog": axes.get_xscale() == "log",
        "ylog": axes.get_yscale() == "log",
        "xlabel": axes.get_xlabel().replace("\n", " "),
        "ylabel": axes.get_ylabel().replace("\n", " "),
        "xticks": bool(axes.xaxis.get_tick_params().get("labelbottom", True)),
        "yticks": bool(axes.yaxis.get_tick_params().get("labelleft", True)),
        "map": axes.get_aspect() != "auto",
        "grid": bool(axes.xaxis.get_gridlines() and axes.xaxis.get_gridlines()[0].get_visible()),
        "shared": shared,
        "names": names,
    }
