"""Kinematics and dynamics of the 3-RRR robot: given numbers, other forms of the same equations, MuJoCo, energy."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.rrr import dynamics
from aeroloop.families.rrr.disturbances import Acting
from aeroloop.families.rrr.kinematics import Kinematics, legs
from aeroloop.families.rrr.plants import Multibody, Reduced
from aeroloop.families.rrr.reference import Reference, Wanted, check
from aeroloop.families.rrr.robot import LEG_ANGLES_RAD, ROBOTS, Robot

ROBOT = Robot()
KINEMATICS = Kinematics(ROBOT)
POSE, RATE, ACCEL = (0.03, -0.02, 0.1), (0.2, -0.1, 0.5), (1.0, 2.0, -3.0)
NO_PAYLOAD, PAYLOAD = (0.0, 0.0, 0.0), (1.0, 0.05, 0.0)


def poses(count: int, reach_m: float = 0.08, angle_deg: float = 20.0) -> Vec:
    rng = np.random.default_rng(4)
    radius, turn = reach_m * np.sqrt(rng.random(count)), math.tau * rng.random(count)
    angle = math.radians(angle_deg) * (2 * rng.random(count) - 1)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), angle], axis=1)


def test_the_joints_of_given_poses() -> None:
    """A leg in the other working mode would have another angle."""
    centre = KINEMATICS.at((0.0, 0.0, 0.0))
    assert np.degrees(centre.q) == pytest.approx((85.24047, 205.24047, -34.75953), abs=1e-5)
    assert centre.det == pytest.approx(2.13446, abs=1e-5)
    assert KINEMATICS.at(POSE).q == pytest.approx((1.2466531, 3.6378999, -0.5987815), abs=1e-7)
    assert KINEMATICS.jacobian(POSE) @ RATE == pytest.approx((-1.4174675, 0.1894215, 0.1678161), abs=1e-7)


def test_accelerations_and_torques_of_a_given_motion() -> None:
    x, v = ca.SX.sym("x", 3), ca.SX.sym("v", 3)
    rate = dynamics.terms(ROBOT)(x, v, NO_PAYLOAD)[3]
    bent = ca.Function("bent", [x, v], [ca.jtimes(rate, x, v)])
    q_accel = np.array(bent(POSE, RATE)).ravel() + KINEMATICS.jacobian(POSE) @ ACCEL
    assert q_accel == pytest.approx((2.9818422, -11.5849596, 11.2195724), abs=1e-6)
    torque = dynamics.joint_torque(ROBOT)
    free, loaded = (np.array(torque(POSE, RATE, ACCEL, payload)).ravel() for payload in (NO_PAYLOAD, PAYLOAD))
    assert free == pytest.approx((0.0501312, -0.2583173, 0.3336373), abs=1e-6)
    assert loaded == pytest.approx((-0.0002856, -0.4863319, 0.5171022), abs=1e-6)
    assert dynamics.joint_inertia(ROBOT) == pytest.approx(0.0261751, abs=1e-7)


def test_forward_kinematics_returns_the_pose() -> None:
    rng = np.random.default_rng(5)
    for pose in poses(100):
        near = pose + np.array([0.005, 0.005, 0.03]) * (2 * rng.random(3) - 1)
        assert KINEMATICS.forward(KINEMATICS.at(pose).q, near) == pytest.approx(tuple(pose), abs=1e-10)
    with pytest.raises(AeroloopError, match="type 2"):
        KINEMATICS.forward(KINEMATICS.at((0.0, 0.0, 0.0)).q, (0.0, 0.0, math.radians(-35.0)))


def test_the_jacobian_is_the_derivative_of_the_joints() -> None:
    h = 1e-6
    for pose in poses(20):
        columns = [
            (np.array(KINEMATICS.at(pose + h * unit).q) - KINEMATICS.at(pose - h * unit).q) / (2 * h)
            for unit in np.eye(3)
        ]
        assert KINEMATICS.jacobian(pose) == pytest.approx(np.stack(columns, axis=1), abs=1e-7)


def test_equal_joint_rates_turn_the_platform_at_the_centre() -> None:
    found = KINEMATICS.jacobian((0.0, 0.0, 0.0))
    assert found[:, :2].sum(axis=0) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert found[:, 2] == pytest.approx((-0.506,) * 3, abs=5e-4)


def test_guards_in_the_workspace_and_beyond() -> None:
    reached = [KINEMATICS.at(pose) for pose in poses(2000)]
    assert not any(pose.problem for pose in reached)
    assert min(pose.det for pose in reached) >= 0.80 and max(pose.det for pose in reached) <= 2.58
    assert min(min(pose.legs) for pose in reached) >= 0.688
    assert "type 2" in KINEMATICS.at((0.0, 0.0, math.radians(-35.5))).problem
    assert "leg 1 is nearly stretched or folded" in KINEMATICS.at((0.147, 0.0849, 0.0)).problem
    assert "outside the workspace: leg 1" in KINEMATICS.at((0.3, 0.2, 0.0)).problem


def test_angles_are_continuous_across_the_workspace() -> None:
    """Leg 2 points to -x at y = -114 mm, where atan2 jumps."""
    below, above = (KINEMATICS.at((0.0, y, 0.0)).q for y in (-0.1141, -0.1139))
    assert np.abs(np.subtract(below, above)).max() < 0.01


def closed_chain(pose: Vec, rate: Vec, joint_torque: Vec, payload: tuple[float, float, float]) -> Vec:
    """Acceleration of the platform from nine coordinates (q, psi, x) and six constraints with multipliers."""
    robot, at = ROBOT, KINEMATICS.at(pose)
    l1, l2, r = robot.proximal_m, robot.distal_m, robot.platform_m
    z = ca.SX.sym("z", 9)
    dz = ca.SX.sym("dz", 9)
    gaps, energy = [], 0.5 * (robot.platform_kg * ca.sumsqr(dz[6:8]) + robot.platform_kgm2 * dz[8] ** 2)
    carried = z[6:8] + ca.vertcat(
        ca.cos(z[8]) * payload[1] - ca.sin(z[8]) * payload[2], ca.sin(z[8]) * payload[1] + ca.cos(z[8]) * payload[2]
    )
    energy += 0.5 * payload[0] * ca.sumsqr(ca.jtimes(carried, z, dz))
    for i, angle in enumerate(LEG_ANGLES_RAD):
        base = robot.base_m * np.array([math.cos(angle), math.sin(angle)])
        elbow = base + l1 * ca.vertcat(ca.cos(z[i]), ca.sin(z[i]))
        along = ca.vertcat(ca.cos(z[3 + i]), ca.sin(z[3 + i]))
        joint = z[6:8] + r * ca.vertcat(ca.cos(angle + z[8]), ca.sin(angle + z[8]))
        gaps.append(elbow + l2 * along - joint)
        middle = ca.jtimes(elbow + l2 / 2 * along, z, dz)
        energy += 0.5 * (robot.proximal_kg * l1**2 / 3 + robot.motor_kgm2) * dz[i] ** 2
        energy += 0.5 * robot.distal_kg * (ca.sumsqr(middle) + l2**2 / 12 * dz[3 + i] ** 2)
    momentum, gap = ca.gradient(energy, dz), ca.vertcat(*gaps)
    mass, across = ca.jacobian(momentum, dz), ca.jacobian(gap, z)
    h = ca.jtimes(momentum, z, dz) - ca.gradient(energy, z)
    bent = ca.jtimes(ca.jtimes(gap, z, dz), z, dz)
    parts = ca.Function("parts", [z, dz], [mass, h, across, bent])
    zs = np.concatenate([at.q, at.distal, pose])
    full = parts(zs, np.zeros(9))[2]
    rates = np.concatenate([np.linalg.solve(np.array(full)[:, :6], -np.array(full)[:, 6:] @ rate), rate])
    m, force, g, b = (np.array(part) for part in parts(zs, rates))
    matrix = np.block([[m, g.T], [g, np.zeros((6, 6))]])
    right = np.concatenate([np.concatenate([joint_torque, np.zeros(6)]) - force.ravel(), -b.ravel()])
    return np.linalg.solve(matrix, right)[6:9]


def test_the_reduced_equations_are_those_with_multipliers() -> None:
    rng = np.random.default_rng(6)
    for index, pose in enumerate(poses(12)):
        payload = PAYLOAD if index % 2 else NO_PAYLOAD
        rate, torque = rng.normal(size=3) * (0.3, 0.3, 1.0), rng.normal(size=3)
        mass, h, at_q, _, _ = (np.array(part) for part in dynamics.terms(ROBOT)(pose, rate, payload))
        reduced = np.linalg.solve(mass, at_q.T @ torque - h.ravel())
        expected = closed_chain(pose, rate, torque, payload)
        assert np.linalg.norm(reduced - expected) < 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize("payload", [NO_PAYLOAD, PAYLOAD])
def test_the_bodies_in_mujoco_move_as_the_reduced_equations(payload: tuple[float, float, float]) -> None:
    start = (0.04, -0.05, 0.1, 0.05, 0.02, -0.1)
    reduced, bodies = Reduced(ROBOT, start), Multibody(ROBOT, start)
    acts = Acting((0.02, 0.0, -0.01), (0.5, 1.0, 1.0), (0.0, 0.0), payload)
    apart, gap = 0.0, 0.0
    for k in range(600):
        command = (0.5 * math.sin(0.007 * k), 0.1 * math.cos(0.005 * k), -0.08)
        reduced.step(command, acts, 0.001)
        bodies.step(command, acts, 0.001)
        apart = max(apart, math.dist(reduced.motion[:2], bodies.motion[:2]))
        gap = max(gap, bodies.gap_m)
    assert math.dist(start[:2], reduced.motion[:2]) > 0.02
    assert apart < 3e-8 and gap < 4e-8


def test_energy_is_kept_without_torque_and_friction() -> None:
    robot = Reduced(ROBOT, (0.02, 0.01, 0.1, 0.15, -0.1, 0.6))
    acts = Acting((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 0.0), PAYLOAD)
    terms = dynamics.terms(ROBOT)

    def energy() -> float:
        return float(terms(robot.motion[:3], robot.motion[3:], PAYLOAD)[4])

    first = energy()
    for _ in range(300):
        robot.step((0.0, 0.0, 0.0), acts, 0.001)
    assert energy() == pytest.approx(first, rel=1e-9)


def test_references_have_their_peaks_and_are_consistent() -> None:
    for reference, rate, accel in (
        (Reference(), 1.25, 4.6),
        (Reference(path="square", size_m=0.04), 1.76, 11.5),
    ):
        wanted = Wanted(ROBOT, reference)
        rows = np.array([wanted.at(0.001 * k)[1] for k in range(4000)])
        assert np.abs(rows[:, 3:6]).max() == pytest.approx(rate, rel=0.01)
        assert np.abs(rows[:, 6:]).max() == pytest.approx(accel, rel=0.01)
        steps = (rows[2:, :6] - rows[:-2, :6]) / 0.002
        assert np.abs(steps[:, :3] - rows[1:-1, 3:6]).max() < 1e-4
    assert Wanted(ROBOT, Reference()).at(0.0)[0] == pytest.approx((0.05, 0.0, 0.0, 0.0, 0.0, 0.0), abs=1e-12)
    square = Wanted(ROBOT, Reference(path="square", size_m=0.04))
    corners = [square.at(0.5 * k)[0][:2] for k in range(5)]
    assert np.array(corners) == pytest.approx(
        np.array([(0.04, -0.04), (0.04, 0.04), (-0.04, 0.04), (-0.04, -0.04), (0.04, -0.04)]), abs=1e-9
    )


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (Reference(size_m=0.25), r"reference: at 0.00 s the pose \(250 mm, 0 mm, 0.0 deg\) is outside the workspace"),
        (Reference(size_m=0.17), r"singularity of type 1: leg \d is nearly stretched"),
        (Reference(angle_rad=math.radians(36.0)), r"at \d\.\d\d s the pose .* is near a singularity of type 2"),
    ],
)
def test_a_path_past_a_guard_is_refused_with_its_place(reference: Reference, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check(ROBOT, reference, 6.0)


def test_the_large_robot_reaches_its_circle() -> None:
    robot = Robot(**ROBOTS["large"])
    check(robot, Reference(), 6.0)
    x = ca.SX.sym("x", 3)
    assert ca.Function("q", [x], [legs(robot, x).q])((0.0, 0.0, 0.0)).is_regular()
