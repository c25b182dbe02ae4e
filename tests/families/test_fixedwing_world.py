"""Fixed wings from their files: bad files, the world they fly in, and their picture."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from fixedwing_flights import AEROSONDE, DENSITY, NAMES, STILL

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.core.signals import Air
from aeroloop.families.fixedwing import airframe, shape
from aeroloop.families.fixedwing.build import Start, build_world
from aeroloop.families.fixedwing.trim import GRAVITY_M_S2, trim
from aeroloop.world.flight_model import FlightModel

STEP_NS = 5_000_000
AIR = Air(STILL, 101325.0, 288.15, DENSITY)


def test_your_own_file_flies(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(Path(airframe.__file__).with_name("anaconda.toml").read_text(encoding="utf-8"), encoding="utf-8")
    assert trim(airframe.load(str(file))) == trim(airframe.load("anaconda"))


def fly(world: FlightModel, controls: tuple[float, ...], seconds: float, air: Air = AIR) -> None:
    for _ in range(round(seconds * 1e9) // STEP_NS):
        world.step(SimpleNamespace(controls=controls), air, GRAVITY_M_S2, STEP_NS)


def test_the_world_flies_on_in_trim_and_drifts_with_the_wind() -> None:
    wind = (3.0, -2.0, 0.0)
    world, servos = build_world(AEROSONDE, Start((10.0, 20.0, 300.0), yaw_rad=0.5, wind_W=wind), Evaluator)
    before = world.state(0)
    fly(world, servos.controls, 4.0, Air(wind, 101325.0, 288.15, DENSITY))
    after = world.state(4_000_000_000)
    assert after.t_ns == 4_000_000_000
    moved = np.array(before.pos_W) + 4.0 * np.array(before.vel_W)
    assert after.pos_W == pytest.approx(moved, abs=1e-6)
    assert after.accel_W == pytest.approx(STILL, abs=1e-6)
    assert before.accel_W == pytest.approx(STILL, abs=1e-6)


def test_the_worlds_acceleration_adds_up_to_the_velocity() -> None:
    turning = trim(AEROSONDE, turn_rate_rad_s=0.2)
    world, _ = build_world(AEROSONDE, Start((0.0, 0.0, 300.0)), Evaluator, at=turning)
    start = world.state(0)
    assert start.accel_W == pytest.approx((-0.2 * start.vel_W[1], 0.2 * start.vel_W[0], 0.0))
    gained = np.zeros(3)
    for _ in range(200):
        fly(world, turning.controls, 0.005)
        gained += 0.005 * np.array(world.state(0).accel_W)
    end = world.state(0)
    assert gained == pytest.approx(np.array(end.vel_W) - np.array(start.vel_W))
    assert math.hypot(*end.accel_W) == pytest.approx(0.2 * 20.0, rel=1e-3)


def test_steps_of_other_lengths_lead_to_the_same_place() -> None:
    ends = []
    for cuts in ([STEP_NS] * 100, [2_000_000, 3_000_000] * 100):
        world, servos = build_world(AEROSONDE, Start((0.0, 0.0, 300.0)), Evaluator)
        command = tuple(np.array(servos.controls) + np.array([0.05, 0.02, 0.0, 0.0]))
        for dt_ns in cuts:
            world.step(SimpleNamespace(controls=command), AIR, GRAVITY_M_S2, dt_ns)
        ends.append(world.state(0))
    assert ends[0].pos_W == pytest.approx(ends[1].pos_W, abs=1e-5)
    assert ends[0].quat_WB == pytest.approx(ends[1].quat_WB, abs=1e-6)
    assert abs(ends[0].quat_WB[1]) > 0.05


def test_compiled_and_interpreted_fly_alike_to_the_bit(tmp_path: Path) -> None:
    """So that a flight's hash does not depend on whether there is a compiler."""
    states = []
    for run in (Evaluator, lambda function: Evaluator(compiled(function, tmp_path))):
        world, servos = build_world(AEROSONDE, Start((0.0, 0.0, 300.0)), run)
        fly(world, tuple(np.array(servos.controls) + np.array([0.02, 0.01, 0.01, 0.1])), 1.0)
        states.append(world.state(0))
    assert states[0] == states[1]


def test_touches_the_ground_where_it_is() -> None:
    world, servos = build_world(AEROSONDE, Start((0.0, 0.0, 100.0)), Evaluator, ground=lambda x, _: 99.0 + 0.05 * x)
    assert not world.touching
    fly(world, servos.controls, 1.2)
    assert world.touching
    free, _ = build_world(AEROSONDE, Start((0.0, 0.0, -5.0)), Evaluator)
    assert not free.touching


@pytest.mark.parametrize("broken", range(4))
def test_what_is_no_number_stays_visible(broken: int) -> None:
    world, servos = build_world(AEROSONDE, Start((0.0, 0.0, 100.0)), Evaluator, ground=lambda _x, _y: 0.0)
    fly(world, tuple(math.nan if i == broken else value for i, value in enumerate(servos.controls)), 0.01)
    fly(world, servos.controls, 0.01)
    state = world.state(0)
    assert math.isnan(state.vel_W[0])
    assert math.isnan(state.accel_W[0])
    assert not world.touching


@pytest.mark.parametrize("name", NAMES)
def test_its_picture_has_its_size_and_moving_surfaces(name: str) -> None:
    frame = airframe.load(name)
    model = shape.build(frame)
    assert 2 * model.geom("wing").size[1] == pytest.approx(frame.wing.span_m, rel=1e-3)
    assert model.geom("propeller").size[0] == pytest.approx(frame.propulsion.diameter_m / 2)
    assert model.geom("propeller").pos[0] < model.geom("wing").pos[0]  # a pusher
    data = mujoco.MjData(model)
    rear = {}
    for word, controls in (("still", STILL), ("right", (0.3, 0, 0)), ("down", (0, 0.3, 0)), ("left", (0, 0, 0.3))):
        for joint, angle in zip(shape.SURFACES, shape.deflections_rad(controls), strict=True):
            data.joint(joint).qpos[0] = angle
        mujoco.mj_forward(model, data)
        rear[word] = np.array([data.geom(joint).xpos.copy() for joint in shape.SURFACES])
    assert np.sign((rear["right"] - rear["still"])[:2, 2]).tolist() == [-1, 1]  # left aileron down, right one up
    assert (rear["down"] - rear["still"])[2:, 2].max() < 0.0
    assert (rear["left"] - rear["still"])[2:, 1].min() > 0.0  # both trailing edges go left
