"""The report's section of a world with objects: what stood around the flight, and what was touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from aeroloop.analysis.drawing import COLORS, RED, WIDTH_IN, Picture, legend_above, picture, stride
from aeroloop.analysis.family import analysis_of
from aeroloop.analysis.section import Column, Figures, Note, Section, Table
from aeroloop.analysis.track import Track
from aeroloop.core.errors import AeroloopError
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log
from aeroloop.world.footprints import outline_W
from aeroloop.world.placed_objects import PlacedObject
from aeroloop.world.placed_objects import of_scenario as objects_of

AROUND_M = 15.0
"""Objects this far beyond the track are in the figure."""
STEPS = 240
"""Outlines of a path on which an object moves."""


def sections(scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    """None for a world without objects."""
    try:
        objects = objects_of(scenario)
    except AeroloopError:  # a mesh is missing
        return []
    if not objects:
        return []
    tracks = [track for track in analysis_of(scenario).tracks(log) if track.t_s.size]
    hits = [event for event in summary["events"] if event["event"] == Event.COLLISION.name]
    kinds = dict.fromkeys(each.kind for each in objects)
    counted = ", ".join(f"{sum(each.kind == kind for each in objects)} {kind}" for kind in kinds)
    blocks: list[Any] = [Note(f"{len(objects)} objects: {counted}.")]
    if tracks:
        blocks.append(Figures([_picture(objects, tracks, hits)]))
    if hits:
        columns = (Column("Time (s)"), Column("Aircraft"), Column("Touched", "text"))
        rows = [(f"{hit['t_s']:.3f}", str(hit["vehicle"]), str(hit["value"])) for hit in hits]
        blocks.append(Table(columns, rows))
    return [Section("world", "Objects of the world", blocks)]


def _picture(objects: tuple[PlacedObject, ...], tracks: list[Track], hits: list[Any]) -> Picture:
    caption = "The track among the objects, from above: dashed where they move, crosses where one was touched."
    return picture("world", "Objects around the track", caption, lambda: _figure(objects, tracks, hits))


def _figure(objects: tuple[PlacedObject, ...], tracks: list[Track], hits: list[Any]) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.0), layout="constrained")
    axes = figure.subplots()
    flown = np.concatenate([track.pos_W[:, :2] for track in tracks])
    flown = flown[np.isfinite(flown).all(axis=1)]
    low, high = flown.min(axis=0) - AROUND_M, flown.max(axis=0) + AROUND_M
    last_s = max(float(track.t_s[-1]) for track in tracks)
    for thing in objects:
        outline = np.array(outline_W(thing, 0.0))
        if thing.moving:
            path = np.array([thing.pose(last_s * step / STEPS)[0][:2] for step in range(STEPS + 1)])
            axes.plot(*path.T, color="#555555", linestyle=(0, (3, 3)), linewidth=0.8)
        if (outline.max(axis=0) > low).all() and (outline.min(axis=0) < high).all():
            rgba = thing.parts[-1 if thing.kind == "tree" else 0].rgba
            axes.add_patch(
                Polygon(outline, closed=True, facecolor=(*rgba[:3], 0.6), edgecolor="#555555", linewidth=0.5)
            )
    for track, colour in zip(tracks, COLORS * len(tracks), strict=False):
        axes.plot(stride(track.pos_W[:, 0]), stride(track.pos_W[:, 1]), color=colour, label=track.name or "flown")
    for hit in hits:
        track = tracks[min(int(hit["vehicle"]), len(tracks) - 1)]
        x, y, _ = track.pos_W[min(int(np.searchsorted(track.t_s, hit["t_s"])), len(track.t_s) - 1)]
        axes.plot([x], [y], marker="x", color=RED, markersize=mpl.rcParams["lines.markersize"] + 2, linestyle="none")
    axes.set(xlabel="x east (m)", ylabel="y north (m)", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_aspect("equal", adjustable="box")
    legend_above(axes)
    return figure
