"""The report's section on SLAM in flight: its errors against the truth, paths and maps, from the log alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aeroloop.analysis import slam_maps, slam_metrics, slam_plots
from aeroloop.analysis.drawing import Picture
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Facts, Figures, Section, Table, Text
from aeroloop.cameras.pinhole import intrinsics_px
from aeroloop.core.camera import fitted
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.perception.slam.camera import Intrinsics
from aeroloop.perception.slam.keyframes import SlamState, Tracked
from aeroloop.perception.slam.result import FEWEST_TRUE, Compared, SlamResult
from aeroloop.perception.slam.settings import settings_of
from aeroloop.perception.slam.voxels import VoxelMap
from aeroloop.recording.log import Log


@dataclass(frozen=True)
class LoggedResult(SlamResult):
    """As far as a log holds it: without keyframes, whose clouds are in the maps already."""

    maps: Mapping[bool, VoxelMap] | None = None  # by whether optimised

    def map(self, *, optimised: bool = True) -> VoxelMap:
        assert self.maps is not None
        return self.maps[optimised]


def sections(scenario: Scenario, log: Log) -> list[Section]:
    if scenario.slam is None:
        return []
    numbers = slam_metrics.metrics(scenario, log)
    if not len(log.rows["slam_path"]):
        return [Section("slam", "SLAM", [Text("It has no path: no frame arrived, or it ended before the flight.")])]
    result, room = of_log(scenario, log), value_at(scenario, "world.room")
    layout = None if room is None else room.layout
    drawn: list[Picture] = [slam_maps.room(result, layout)] if layout is not None else []
    drawn += [slam_plots.paths(result), slam_maps.cross_sections(result, layout), *slam_maps.views(result, layout)]
    error = slam_plots.error_over_time(result)
    drawn += [error] if error else []
    drawn.append(slam_plots.inliers(result))
    return [Section("slam", "SLAM", [*_accuracy(numbers), Figures(drawn)])]


def of_log(scenario: Scenario, log: Log) -> LoggedResult:
    found, column = slam_metrics.recorded(log), log.columns["slam"].index
    t_s = found.t_s
    frames = [
        Tracked(
            t_s=float(row[0]),
            keyframe=0,
            T_KC=np.eye(4),
            inliers=int(row[column("inliers")]),
            lost=bool(row[column("lost")]),
            loops=int(row[column("loops")]),
            ms={},
        )
        for row in log.rows["slam"]
    ]
    true = Compared(np.arange(len(t_s)), slam_metrics.true_poses(scenario, log, t_s))
    assert scenario.slam is not None and scenario.watched_camera is not None
    model = fitted(scenario.cameras[scenario.watched_camera])
    (width, height), (fx, fy, cx, cy) = model.size_px, intrinsics_px(model.focal_px, model.size_px)
    settings = settings_of(front_end=scenario.slam.features, loops=scenario.slam.loops)
    return LoggedResult(
        name=scenario.name,
        settings=settings,
        camera=Intrinsics(width=width, height=height, fx=fx, fy=fy, cx=cx, cy=cy),
        state=SlamState(frames=frames),
        t_s=t_s,
        odometry=found.odometry,
        trajectory=found.trajectory,
        truth=true if len(t_s) >= FEWEST_TRUE else None,
        maps={optimised: _map(log, settings.voxel_m, optimised=optimised) for optimised in (True, False)},
    )


def _map(log: Log, voxel_m: float, *, optimised: bool) -> VoxelMap:
    points, colours = slam_metrics.voxel_map(log, optimised=optimised)
    return VoxelMap(points, colours.astype(np.uint8), voxel_m)


def _accuracy(numbers: Mapping[str, float]) -> list[Block]:
    titles = [Column("path", "name"), Column("ATE (cm)")]
    rows = [
        ["odometry", number(numbers["ate_odometry_m"], 100.0, 3)],
        ["with loops", number(numbers["ate_m"], 100.0, 3)],
    ]
    facts = [
        f"{numbers['slam_loops']:.0f} loops, {numbers['false_loops']:.0f} of them false (0.3 m or 15 deg off)",
        f"lost in {number(numbers['slam_lost_pct'], digits=3)} % of the frames",
        f"{number(numbers['slam_hz'], digits=3)} frames per second of processor time",
        f"{numbers['map_points']:.0f} voxels; median distance to the true surfaces "
        f"{number(numbers['map_median_m'], 100.0, 3)} cm",
    ]
    words = (
        "The companion gets images alone; the flight does not use its result. ATE: root mean square of the distance "
        "from the true path after one rigid alignment. slam/ in the run's folder has trajectories and the map."
    )
    return [Text(words), Table(titles, rows), Facts(facts)]
