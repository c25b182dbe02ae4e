"""The world: hover, ground contact, partial steps."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from aeroloop.core.signals import Effort
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.build import out_of_control
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.models.tiltrotor import equilibrium
from aeroloop.world.multibody import Multibody

MS = 1_000_000
LEVEL = (1.0, 0.0, 0.0, 0.0)
IDLE = Effort((0.0, 0.0), (0.0, 0.0), False)


@pytest.fixture
def world() -> Multibody:
    return Multibody(airframe.build(parameters("cad"), 0.004))


def test_falls_freely_without_thrust(world: Multibody) -> None:
    world.reset((0.0, 0.0, 100.0), LEVEL, (0.0, 0.0))
    for _ in range(250):
        world.step(IDLE, 4 * MS)
    truth = world.state(0)
    assert truth.pos_W[2] == pytest.approx(100.0 - 9.81 / 2, abs=1e-6)
    assert truth.vel_W[2] == pytest.approx(-9.81, abs=1e-9)


def test_hovers_at_equilibrium(world: Multibody) -> None:
    q, u, _ = equilibrium(parameters("cad"))
    attitude = (math.cos(q[4] / 2), 0.0, math.sin(q[4] / 2), 0.0)
    world.reset((0.0, 0.0, 10.0), attitude, (q[6], q[7]))
    for _ in range(25):
        world.step(Effort((u[0], u[1]), (u[2], u[3]), False), 4 * MS)
    assert world.state(0).pos_W == pytest.approx((0.0, 0.0, 10.0), abs=1e-4)


def test_lands_on_its_legs_and_stays(world: Multibody) -> None:
    world.reset((0.0, 0.0, 0.5), LEVEL, (0.0, 0.0))
    assert not world.touching
    for _ in range(1000):
        world.step(IDLE, 4 * MS)
    truth = world.state(0)
    assert world.touching
    assert truth.pos_W == pytest.approx((0.0, 0.0, 0.208), abs=0.01)
    assert math.hypot(*truth.vel_W, *truth.rate_B) < 1e-3
    assert not out_of_control(truth, 200.0)


def test_a_step_may_be_cut_in_two(world: Multibody) -> None:
    """A message in the middle of a step costs truncation error of RK4, not more."""
    effort = Effort((11.0, 9.5), (0.01, -0.02), False)
    ends = []
    for parts in ([4], [1.5, 2.5]):
        world.reset((0.0, 0.0, 10.0), LEVEL, (0.1, -0.1))
        for _ in range(25):
            for part in parts:
                world.step(effort, int(part * MS))
        ends.append(world.state(0).pos_W)
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_a_state_that_is_no_number_stays_so(world: Multibody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a note about it where it runs
    world.reset((3.0, 4.0, 5.0), LEVEL, (0.0, 0.0), hinge_rates_rad_s=(math.nan, 0.0))
    world.step(IDLE, 4 * MS)
    assert out_of_control(world.state(0), 200.0)


@pytest.mark.parametrize(
    ("pos_W", "quat_WB", "tilt"),
    [
        ((300.0, 0.0, 0.0), LEVEL, (0.0, 0.0)),
        ((math.nan, 0.0, 0.0), LEVEL, (0.0, 0.0)),
        ((0.0, 0.0, 5.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0)),
        ((0.0, 0.0, 5.0), LEVEL, (0.0, -4.0)),
        ((0.0, 0.0, 5.0), LEVEL, (0.0, math.nan)),
        ((0.0, 0.0, 5.0), (math.nan, math.nan, 0.0, 0.0), (0.0, 0.0)),
    ],
)
def test_out_of_control_is_seen(
    world: Multibody,
    pos_W: tuple[float, float, float],
    quat_WB: tuple[float, float, float, float],
    tilt: tuple[float, float],
) -> None:
    truth = world.state(0)._replace(pos_W=pos_W, quat_WB=quat_WB, tilt_rad=tilt)
    assert out_of_control(truth, 200.0)
