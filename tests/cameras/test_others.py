"""Other aircraft: their shapes fit into a scene, and a frame waits for their poses."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from aeroloop.cameras import others
from aeroloop.cameras.pinhole import BodyPose, PoseHistory
from aeroloop.cameras.scene import of_ground
from aeroloop.cameras.seen import LOST_S, SeenPoses
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario_files import load
from aeroloop.core.shape import of_scenario
from aeroloop.world.terrain import Flat

LEVEL = (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["quad-hover", "tiltrotor-spiral", "fixedwing-loiter"])
def test_the_shape_of_every_family_fits_into_a_scene(name: str) -> None:
    shape = of_scenario(load(SCENARIOS / f"{name}.toml"))
    spec = of_ground(Flat())
    others.add(spec, shape, 2)
    model = spec.compile()
    data, updates = mujoco.MjData(model), []
    place = others.Placed(model, data, 2, lambda: updates.append(None))
    pose = BodyPose(0.0, (10.0, 20.0, 30.0), LEVEL)
    place({1: pose})
    assert updates
    drawn = model.geom_rgba[:, 3] > 0.0
    trees = [model.body_rootid[model.geom_bodyid] == model.body(others.body_name(vehicle)).id for vehicle in range(2)]
    assert [int((tree & drawn).sum()) for tree in trees] == [0, len(shape.parts) + len(shape.rotors)]
    away_m = np.linalg.norm(data.geom_xpos[trees[1]] - pose.pos_W, axis=1)
    assert away_m.max() <= shape.reach_m + 1e-6


def history(until_s: float, x_m: float = 0.0) -> PoseHistory:
    found = PoseHistory()
    for step in range(round(until_s * 100) + 1):
        found.add(BodyPose(step / 100, (x_m + step / 100, 0.0, 0.0), LEVEL))
    return found


def test_a_frame_waits_for_the_poses_of_all_aircraft_that_still_have_some() -> None:
    own = history(2.0)
    assert SeenPoses(own, {}).newest_s == 2.0
    assert SeenPoses(own, {1: history(1.9), 2: history(2.5)}).newest_s == 1.9
    ended = history(2.0 - LOST_S - 0.01)
    assert SeenPoses(own, {1: ended}).newest_s == 2.0
    assert SeenPoses(own, {1: PoseHistory()}).newest_s == 2.0
    assert SeenPoses(history(0.5), {1: PoseHistory()}).newest_s == -np.inf  # it has not come yet


def test_the_scene_of_a_frame_has_the_others_at_its_time_and_not_the_own_aircraft() -> None:
    placed: list[dict[int, BodyPose]] = []
    seen = SeenPoses(history(2.0), {1: history(2.0, 5.0), 2: PoseHistory()}, lambda poses: placed.append(dict(poses)))
    seen.set_scene(0.505)
    assert list(placed[0]) == [1]
    assert placed[0][1].pos_W[0] == pytest.approx(5.505)
