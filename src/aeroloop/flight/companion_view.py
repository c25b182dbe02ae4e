"""What pages show of a companion's work: markers outlined in the image, and the map as it grows in the 3D view.

The map has a frame of its own, since SLAM knows no other. It is drawn where the camera really was at its first frame;
the camera process leaves that pose in a file for viewers, and SLAM does not read it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from aeroloop.cameras.pinhole import Pose
from aeroloop.companion.landing import STATES, Look
from aeroloop.core.frames import Vec
from aeroloop.core.overlay import Outline, Overlay
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.live import ShownMap
from aeroloop.perception.slam.tracker import T_WC_FIRST
from aeroloop.protocols.layers import Layer, layer

ORIGIN = "map-origin"
LOOP_RGB = (250, 204, 21)


def overlay_of(look: Look) -> Overlay:
    outlines = tuple(
        Outline(corners_px=tuple((float(x), float(y)) for x, y in corners), label=str(number))
        for number, corners in sorted(look.sighting.corners_px.items())
    )
    state = f"{STATES[look.state].value}, " if look.state >= 0 else ""
    far = f" at {look.distance_m:.1f} m" if look.sighting.pose is not None else ""
    return Overlay(number=look.number, t_s=look.t_s, outlines=outlines, state=f"{state}{look.outcome.value}{far}")


def write_origin(folder: Path, camera: Pose) -> None:
    """Of the first frame, from the camera process."""
    T_WC = se3.compose(camera.R_WC, camera.pos_W)
    draft = folder / f"{ORIGIN}.draft"
    draft.write_bytes(T_WC.astype("<f8").tobytes())
    draft.rename(folder / ORIGIN)


def read_origin(folder: Path) -> Vec | None:
    """From the map's frame to the world's; None before the first frame."""
    with suppress(OSError, ValueError):
        T_WC: Vec = np.frombuffer((folder / ORIGIN).read_bytes(), "<f8").reshape(4, 4)
        return T_WC @ se3.inverse(T_WC_FIRST)
    return None


def map_layer(shown: ShownMap, T_world_map: Vec) -> Layer:
    points_W = se3.transformed(T_world_map, shown.points_W.astype(float))
    loops_W = se3.transformed(T_world_map, shown.loops_W.reshape(-1, 3).astype(float)).reshape(-1, 2, 3)
    return layer(points_W, shown.colours, loops_W, LOOP_RGB)
