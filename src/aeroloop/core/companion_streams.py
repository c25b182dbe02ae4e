"""The streams of a flight with a companion computer, whatever aircraft flies."""

from __future__ import annotations

from aeroloop.core.stream import QUATERNION, Stream, fields

NAMES = ("x_m", "y_m", "z_m")
LANDING_STREAMS = (
    Stream(
        "landing",
        "companion",
        0.0,
        False,  # pixels depend on the machine's renderer
        True,
        "a frame as the landing companion sees it; its time is that of the image",
        fields(
            ("number", "-", "number of the frame"),
            ("outcome", "-", "0 pad found, 1 no marker, 2 one marker twice, 3 corners do not fit"),
            ("markers", "-", "markers seen"),
            ("residual_px", "px", "reprojection error, root mean square; NaN: no pose"),
            ("seen_x", "m", "the pad as seen, in the autopilot's local frame: east"),
            ("seen_y", "m", "north"),
            ("seen_z", "m", "up"),
            ("pad_x", "m", "the filtered pad: east"),
            ("pad_y", "m", "north"),
            ("pad_z", "m", "up"),
            ("innovation_m", "m", "distance between filter and sighting; NaN: nothing to compare with"),
            ("accepted", "-", "1: the filter took it"),
            ("distance_m", "m", "from camera to pad; NaN: no pose"),
            ("landing", "-", "1: the aircraft is landing"),
            ("state", "-", "landing by the companion: its state (docs/precision-landing.md); -1: it does not command"),
            ("sent_s", "s", "simulated time of its messages"),
            ("work_s", "s", "wall time of the detector"),
            ("own_x", "m", "the aircraft at the time of the image, in the autopilot's local frame: east"),
            ("own_y", "m", "north"),
            ("own_z", "m", "up"),
        ),
    ),
)
XYZ = tuple((name, "m", f"position in the map's frame, {axis}") for name, axis in zip(NAMES, "xyz", strict=True))
POSE = (*XYZ, *QUATERNION)
"""Of the camera: its optical frame in the map's."""
ODOMETRY = tuple((f"odometry_{name}", unit, f"{meaning}, by odometry alone") for name, unit, meaning in POSE)
SLAM, SLAM_PATH, SLAM_LOOP, SLAM_MAP = SLAM_STREAMS = (
    Stream(
        "slam",
        "companion",
        0.0,
        False,  # pixels depend on the machine's renderer
        True,
        "a frame as SLAM took it when it arrived; its time is that of the image",
        fields(
            ("number", "-", "number of the frame"),
            ("lost", "-", "1: the pose is a guess"),
            ("keyframe", "-", "1: it became a keyframe"),
            ("keyframes", "-", "keyframes so far"),
            ("inliers", "-", "matches that fit"),
            ("loops", "-", "loops accepted at this frame"),
            *POSE,
            *ODOMETRY[:3],
            ("work_s", "s", "processor time"),
        ),
    ),
    Stream(
        "slam_path",
        "companion",
        0.0,
        False,
        True,
        "the camera's path as SLAM knows it at the end; its time is that of the image",
        fields(*POSE, *ODOMETRY),
        batch=64,
    ),
    Stream(
        "slam_loop",
        "companion",
        0.0,
        False,
        True,
        "a closed loop, at the end; its time is that of the later keyframe",
        fields(("from_s", "s", "time of the earlier keyframe"), *POSE),
    ),
    Stream(
        "slam_map",
        "companion",
        0.0,
        False,
        True,
        "the map at the end, with loops and by odometry alone: a voxel in each row",
        fields(
            ("odometry", "-", "1: of the map by odometry alone"),
            *XYZ,
            ("red", "-", "mean colour, 0 to 255"),
            ("green", "-", "the same"),
            ("blue", "-", "the same"),
        ),
        batch=64,
    ),
)
