"""What pages show of a companion: outlines where the markers are, and the map where the camera was."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from aeroloop.cameras.pinhole import BodyPose, camera_pose
from aeroloop.companion.landing import STATES, UNKNOWN, Look
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.frames import quat_from_euler
from aeroloop.flight.companion_view import map_layer, overlay_of, read_origin, write_origin
from aeroloop.perception.landing_states import State
from aeroloop.perception.pad_detector import Outcome, Sighting
from aeroloop.perception.slam.live import ShownMap
from aeroloop.perception.slam.tracker import T_WC_FIRST


def look(state: int = -1) -> Look:
    corners = np.array([(1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (1.0, 4.0)])
    sighting = Sighting(Outcome.RESIDUAL, None, {4: corners, 2: corners + 10.0})
    pose = (2, math.nan, UNKNOWN, UNKNOWN, math.nan, False, math.nan)
    return Look(1.5, 30, Outcome.RESIDUAL, *pose, landing=False, state=state, sighting=sighting, own_W=UNKNOWN)


def test_markers_are_outlined_and_the_state_is_said() -> None:
    overlay = overlay_of(look())
    assert [outline.label for outline in overlay.outlines] == ["2", "4"]
    assert overlay.outlines[1].corners_px == ((1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (1.0, 4.0))
    assert (overlay.number, overlay.t_s, overlay.state) == (30, 1.5, "corners do not fit the pad")
    assert overlay_of(look(STATES.index(State.ABORT))).state.startswith("abort, ")


def test_the_map_is_drawn_where_the_camera_was(tmp_path: Path) -> None:
    assert read_origin(tmp_path) is None
    camera = fitted(Camera(name="eyes", preset="rgbd"))
    pose = camera_pose(BodyPose(0.0, (3.0, -2.0, 1.2), quat_from_euler(0.0, 0.0, 0.7)), camera)
    write_origin(tmp_path, pose)
    origin = read_origin(tmp_path)
    assert origin is not None
    ahead_C = np.array([0.3, -0.2, 2.0])
    in_map = (T_WC_FIRST @ [*ahead_C, 1.0])[:3].astype(np.float32)
    shown = ShownMap(
        in_map[None], np.array([[1, 2, 3]], np.uint8), 0.1, in_map[None], np.array([[in_map, in_map]], np.float32)
    )
    layer = map_layer(shown, origin)
    assert np.allclose(layer.points_W[0], pose.pos_W + pose.R_WC @ ahead_C, atol=1e-5)
    assert np.allclose(layer.lines_W[0, 1], layer.points_W[0])
    assert layer.point_colours.tolist() == [[1, 2, 3]]
