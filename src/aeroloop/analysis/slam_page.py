"""The report of `aeroloop slam`: accuracy, paths, maps, times; with several front ends, their table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aeroloop.analysis import page, slam_maps, slam_plots
from aeroloop.analysis.page import Document, number
from aeroloop.analysis.section import Block, Column, Facts, Figures, Note, Section, Table, Text
from aeroloop.perception.slam.result import SlamResult
from aeroloop.world.room_layout import Layout

ERRORS = (
    "ATE: RMSE of position after one rigid alignment with ground truth, without scale. RPE: RMSE of the motion over "
    "1 s. False loop: more than 0.3 m or 15 deg from ground truth. Time: CPU time of one thread, mean."
)
COLUMNS: tuple[tuple[str, str, float], ...] = (
    ("ATE odometry (cm)", "ate_odometry_m", 100.0),
    ("ATE (cm)", "ate_optimised_m", 100.0),
    ("ratio", "ate_ratio", 1.0),
    ("RPE (cm)", "rpe_optimised_m", 100.0),
    ("RPE (deg)", "rpe_optimised_deg", 1.0),
    ("keyframes", "keyframes", 1.0),
    ("loops", "loops", 1.0),
    ("false", "false_loops", 1.0),
    ("lost", "frames_lost", 1.0),
    ("ms a frame", "frame_ms", 1.0),
)
"""Of the table of front ends: title, key of summary.json, factor."""


def render(result: SlamResult, numbers: dict[str, Any], layout: Layout | None = None) -> str:
    """`layout`: the room whose surfaces are known, if it is one."""
    lost = numbers["frames_lost"]
    words = f"{numbers['frames']} frames, {numbers['keyframes']} keyframes, {numbers['loops']} loops."
    if lost:
        words += f" Lost in {lost} frames: they are not in the map until a loop joins them."
    drawn = [slam_maps.room(result, layout)] if layout is not None else []
    drawn += [slam_plots.paths(result), slam_maps.cross_sections(result, layout), *slam_maps.views(result, layout)]
    drawn.append(slam_maps.sensor_range(result))
    error = slam_plots.error_over_time(result)
    others = [error] if error else []
    others += [slam_plots.inliers(result), slam_plots.times(result), slam_plots.graph(result)]
    sections = [
        Section("accuracy", "Accuracy", _accuracy(result, numbers)),
        Section("maps", "Paths and map", [Figures(drawn)]),
        Section("figures", "Over time", [Figures(others)]),
    ]
    return _page(f"SLAM: {Path(result.name).name}", f"front end {numbers['front_end']}", words, sections)


def render_comparison(folder: str, rows: Sequence[dict[str, Any]]) -> str:
    blocks: list[Block] = [comparison(rows), Note(ERRORS)]
    return _page(f"SLAM front ends: {folder}", "one sequence, one back end", f"{len(rows)} front ends.", [
        Section("front-ends", "Front ends", blocks)
    ])  # fmt: skip


def comparison(rows: Sequence[dict[str, Any]]) -> Table:
    columns = [Column("front end", "name"), *(Column(title) for title, _, _ in COLUMNS)]
    return Table(columns, [[row["front_end"], *cells(row)] for row in rows])


def cells(row: dict[str, Any]) -> list[str]:
    return [number(row[key], factor, 3) for _, key, factor in COLUMNS]


def _accuracy(result: SlamResult, numbers: dict[str, Any]) -> list[Block]:
    facts = [
        f"{number(numbers['frame_ms'], digits=3)} ms a frame ({number(numbers['rate_hz'], digits=3)} Hz), "
        f"95 %: {number(numbers['frame_ms_p95'], digits=3)} ms",
        f"{numbers['map_points']} voxels of {100 * result.settings.voxel_m:g} cm",
    ]
    if not result.calibrated:
        facts.append("no calibration.toml: TUM's default values")
    if result.truth is None:
        return [Text("The sequence has no groundtruth.txt, so errors are not known."), Facts(facts)]
    titles = [Column("path", "name"), Column("ATE (cm)"), Column("RPE (cm)"), Column("RPE (deg)")]
    rows = [
        [
            label,
            number(numbers[f"ate_{kind}_m"], 100.0, 3),
            number(numbers[f"rpe_{kind}_m"], 100.0, 3),
            number(numbers[f"rpe_{kind}_deg"], 1.0, 3),
        ]
        for label, kind in (("odometry", "odometry"), ("with loops", "optimised"))
    ]
    facts.append(f"{numbers['false_loops']} false loops")
    if "map_optimised_median_m" in numbers:
        facts.append(
            f"map to the true surfaces, median: {number(numbers['map_odometry_median_m'], 100.0, 3)} cm by odometry, "
            f"{number(numbers['map_optimised_median_m'], 100.0, 3)} cm with loops"
        )
    return [Table(titles, rows), Facts(facts), Note(ERRORS)]


def _page(heading: str, subtitle: str, words: str, sections: Sequence[Section]) -> str:
    verdict = Section("verdict", "", [Text(words)])
    return page.render(
        Document(
            title=heading, heading=heading, subtitle=subtitle, style="passed", verdict=verdict, sections=list(sections)
        )
    )
