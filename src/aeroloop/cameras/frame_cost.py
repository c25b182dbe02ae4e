"""Processor time of a camera's frame on this machine: rendering, effects and encoding.

`MUJOCO_GL=egl python -m aeroloop.cameras.frame_cost` prints it as JSON; a process of its own, since MuJoCo chooses
OpenGL when it is imported. Processor time, not wall time: other programs that run at the same time do not count.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Mapping

from aeroloop.cameras import encoding
from aeroloop.cameras.pinhole import BodyPose
from aeroloop.cameras.shots import Shooter
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import quat_from_euler

CAMERAS = {"RGB": Camera(name="rgb"), "RGB-D": Camera(name="rgbd", preset="rgbd", angles_deg=(0.0, 50.0, 0.0))}
"""Both 640 x 480 with the default errors, and the ground in view."""
SHARE = 0.5
"""Of a core, for cameras beside the plant."""
FRAMES = 8


def carried_hz(cost_s: float) -> float:
    """The rate at which frames take SHARE of a core, in whole Hz."""
    return math.floor(SHARE / cost_s)


def measured(cameras: Mapping[str, Camera] = CAMERAS, frames: int = FRAMES) -> tuple[dict[str, float], str]:
    """Median time of a frame in s, and what drew it; ConfigError says what is missing."""
    encoding.opencv()
    from aeroloop.cameras.render import Renderer
    from aeroloop.cameras.scene import of_ground
    from aeroloop.world.terrain import Flat

    sizes = [fitted(camera).size_px for camera in cameras.values()]
    renderer = Renderer(of_ground(Flat()), (max(width for width, _ in sizes), max(height for _, height in sizes)))
    costs: dict[str, float] = {}
    for name, camera in cameras.items():
        shooter, taken_s = Shooter(camera, 0, renderer), []
        for number in range(frames + 2):
            began_s = time.process_time()
            image = shooter.shoot(number, _above)
            encoding.jpeg(image.rgb, camera.jpeg_quality)
            if image.depth is not None:
                encoding.png16(image.depth)
            taken_s.append(time.process_time() - began_s)
        costs[name] = statistics.median(taken_s[2:])  # the first ones compile and fill tables
    return costs, renderer.driver()


def _above(t_s: float) -> BodyPose:
    return BodyPose(t_s, (0.5 * t_s, 0.0, 2.0), quat_from_euler(0.0, 0.0, 0.3 * t_s))


if __name__ == "__main__":
    try:
        found, drawn_by = measured()
    except ConfigError as error:
        sys.exit(str(error))
    print(json.dumps({"cost_s": found, "renderer": drawn_by}))
