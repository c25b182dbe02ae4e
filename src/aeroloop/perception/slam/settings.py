"""Every number of the pipeline. The defaults of ORB were checked on rendered sequences (docs/slam.md), the thresholds
of SIFT and ICP are estimates."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aeroloop.core.config import Config, apply_overrides, convert, meta, note

FrontEndName = Literal["orb", "sift", "icp"]
FRONT_ENDS: tuple[FrontEndName, ...] = ("orb", "sift", "icp")


class Settings(Config, frozen=True):
    """Keys of `aeroloop slam --set`."""

    front_end: Annotated[FrontEndName, note("what poses are computed from: `orb`, `sift` or `icp`")] = "orb"
    seed: Annotated[int, meta("-", "seed of RANSAC", ge=0, lt=2**31)] = 0
    every: Annotated[int, meta("-", "use each n-th frame of the sequence", ge=1, le=1000)] = 1
    features: Annotated[int, meta("-", "features of a frame, at most", ge=50, le=10_000)] = 1000
    fast_threshold: Annotated[int, meta("-", "FAST threshold of ORB", ge=1, le=255)] = 10
    levels: Annotated[int, meta("-", "image pyramid levels of ORB", ge=1, le=16)] = 8
    level_scale: Annotated[float, meta("-", "scale between these levels", gt=1, le=2)] = 1.2
    near_m: Annotated[float, meta("m", "depth below is not used", ge=0, le=10)] = 0.3
    far_m: Annotated[float, meta("m", "depth above is not used", gt=0, le=100)] = 4.5
    ratio: Annotated[float, meta("-", "best to second best match, at most", gt=0, le=1)] = 0.8
    orb_distance: Annotated[int, meta("-", "Hamming distance of an ORB match, at most", ge=1, le=256)] = 64
    orb_loop_distance: Annotated[int, meta("-", "the same in the loop search", ge=1, le=256)] = 40
    sift_distance: Annotated[float, meta("-", "distance of a SIFT match, at most", gt=0, le=1000)] = 300.0
    sift_loop_distance: Annotated[float, meta("-", "the same in the loop search", gt=0, le=1000)] = 180.0
    ransac_iterations: Annotated[int, meta("-", "RANSAC iterations", ge=1, le=10_000)] = 200
    ransac_px: Annotated[float, meta("px", "reprojection error of an inlier, at most", gt=0, le=50)] = 2.5
    refine_iterations: Annotated[int, meta("-", "Gauss-Newton iterations after RANSAC", ge=0, le=100)] = 6
    huber: Annotated[float, meta("-", "Huber threshold in standard deviations", gt=0, le=100)] = 1.5
    pixel_sigma_px: Annotated[
        float, meta("px", "standard deviation of a feature's place at the finest level of the pyramid", gt=0, le=50)
    ] = 0.6
    depth_sigma: Annotated[
        float,
        meta(
            "1/m",
            "standard deviation of depth by its square, calibration error included: noise alone has 1.425e-3",
            gt=0,
            le=1,
        ),
    ] = 3e-3
    icp_stride: Annotated[int, meta("px", "ICP uses each n-th pixel in both directions", ge=1, le=64)] = 4
    icp_iterations: Annotated[int, meta("-", "ICP iterations, at most", ge=1, le=200)] = 15
    icp_depth_sigma: Annotated[float, meta("1/m", "`depth_sigma` of ICP: noise alone", gt=0, le=1)] = 1.425e-3
    icp_distance_m: Annotated[float, meta("m", "distance of an ICP pair, at most", gt=0, le=10)] = 0.15
    min_inliers: Annotated[int, meta("-", "fewer inliers: the frame is lost", ge=6, le=100_000)] = 20
    lost_frames: Annotated[int, meta("-", "lost frames in a row before a new keyframe", ge=1, le=1000)] = 6
    keyframe_m: Annotated[float, meta("m", "new keyframe after this distance", gt=0, le=100)] = 0.25
    keyframe_deg: Annotated[float, meta("deg", "new keyframe after this rotation", gt=0, le=180)] = 12.0
    keyframe_inliers: Annotated[int, meta("-", "new keyframe below this number of inliers", ge=0, le=100_000)] = 60
    loops: Annotated[bool, note("search for loops and optimise the pose graph")] = True
    loop_descriptors: Annotated[int, meta("-", "strongest features compared in the loop search", ge=1, le=5000)] = 300
    loop_age: Annotated[int, meta("-", "keyframes between the two ends of a loop, at least", ge=1, le=100_000)] = 12
    loop_similar: Annotated[int, meta("-", "similar features of a loop candidate, at least", ge=1, le=5000)] = 25
    loop_candidates: Annotated[int, meta("-", "candidates verified per keyframe", ge=1, le=100)] = 4
    loop_inliers: Annotated[int, meta("-", "inliers of a loop, at least", ge=6, le=100_000)] = 30
    loop_fraction: Annotated[float, meta("-", "inliers by matches of a loop, at least", ge=0, le=1)] = 0.4
    loops_per_keyframe: Annotated[int, meta("-", "loops accepted per keyframe, at most", ge=1, le=100)] = 2
    loop_near_m: Annotated[float, meta("m", "`icp` compares keyframes this near by their estimate", gt=0, le=100)] = 1.0
    loop_near_deg: Annotated[float, meta("deg", "and this near in direction", gt=0, le=180)] = 30.0
    edge_sigma: Annotated[float, meta("m, rad", "standard deviation of an edge at rest", gt=0, le=1)] = 0.004
    edge_per_m: Annotated[float, meta("m", "it doubles with this distance", gt=0, le=100)] = 0.15
    edge_per_rad: Annotated[float, meta("rad", "and with this rotation", gt=0, le=100)] = 0.2
    lost_sigma: Annotated[float, meta("m, rad", "standard deviation of an edge across lost frames", gt=0, le=10)] = 0.5
    cauchy: Annotated[float, meta("-", "Cauchy threshold of loops in standard deviations", gt=0, le=100)] = 3.0
    optimise_period_s: Annotated[float, meta("s", "time between optimisations, at least", ge=0, le=1000)] = 1.0
    map_far_m: Annotated[
        float, meta("m", "depth above is not used in the map: its error grows with the distance", gt=0, le=100)
    ] = 3.0
    map_stride: Annotated[int, meta("px", "the map uses each n-th pixel in both directions", ge=1, le=64)] = 4
    voxel_m: Annotated[float, meta("m", "edge of a voxel", ge=0.005, le=2)] = 0.05
    voxel_points: Annotated[int, meta("-", "points of a voxel, at least", ge=1, le=1000)] = 3


def settings_of(overrides: tuple[str, ...] = (), **given: Any) -> Settings:
    """Settings with `key=value` texts applied; ConfigError names the key."""
    table: dict[str, Any] = dict(given)
    apply_overrides(table, overrides)
    return convert(table, Settings, "slam settings")
