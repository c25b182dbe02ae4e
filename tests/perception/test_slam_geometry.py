"""Algebra, pose graph, errors and map of SLAM: none needs OpenCV."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.perception.slam import pose_graph, se3
from aeroloop.perception.slam import trajectory_errors as errors
from aeroloop.perception.slam.pose_graph import Edge
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.voxels import voxel_map

SEEDS = st.integers(0, 2**32 - 1)


def _motions(rng: np.random.Generator, count: int, size: float = 1.0) -> Array:
    return se3.exp(size * rng.normal(size=(count, 6)))


def _circle(rng: np.random.Generator, count: int = 40) -> Array:
    """Poses on two laps, a little irregular."""
    turn = np.linspace(0, 4 * np.pi, count)
    xi = np.stack([0 * turn, 0 * turn, 0 * turn, 0 * turn, 0 * turn, turn % (2 * np.pi)], axis=1)
    T = se3.exp(xi)
    T[:, :3, 3] = np.stack([3 * np.cos(turn), 2 * np.sin(turn), 1 + 0.2 * np.sin(3 * turn)], axis=1)
    return T @ se3.exp(0.02 * rng.normal(size=(count, 6)))


def _between(T: Array, i: int, j: int) -> Array:
    return se3.inverse(T[i]) @ T[j]


def _edges(T: Array, rng: np.random.Generator, noise: float) -> list[Edge]:
    """A chain, and loops between the laps."""
    half = len(T) // 2
    pairs = [(i, i + 1) for i in range(len(T) - 1)] + [(i, i + half) for i in range(0, half, 3)]
    return [
        Edge(i, j, _between(T, i, j) @ se3.exp(noise * rng.normal(size=6)), 0.01, loop=j != i + 1) for i, j in pairs
    ]


@given(SEEDS)
def test_exponential_and_logarithm_are_inverse_of_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    xi = rng.normal(size=(20, 6)) * rng.choice([1e-9, 1e-4, 0.1, 1.0], size=(20, 1))
    angle = np.linalg.norm(xi[:, 3:], axis=1)
    xi[angle > 3.0, 3:] *= 0.5
    assert np.allclose(se3.log(se3.exp(xi)), xi, atol=1e-9)


@given(SEEDS)
def test_adjoint_and_inverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T, xi = _motions(rng, 5), 0.3 * rng.normal(size=(5, 6))
    moved = se3.exp((se3.adjoint(T) @ xi[..., None])[..., 0])
    assert np.allclose(T @ se3.exp(xi) @ se3.inverse(T), moved, atol=1e-9)


def test_right_jacobian_is_the_derivative_of_the_logarithm() -> None:
    rng = np.random.default_rng(3)
    for scale in (1e-3, 0.3, 0.9):
        xi, small = scale * rng.normal(size=6), 1e-6
        columns = [
            (se3.log(se3.exp(xi) @ se3.exp(small * axis)) - se3.log(se3.exp(xi) @ se3.exp(-small * axis))) / (2 * small)
            for axis in np.eye(6)
        ]
        assert np.allclose(se3.inverse_right_jacobian(xi), np.array(columns).T, atol=1e-6)


@given(SEEDS)
def test_an_error_of_a_path_does_not_depend_on_where_either_path_lies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = _circle(rng)
    own = true @ se3.exp(0.05 * rng.normal(size=(len(true), 6)))
    move_own, move_true = _motions(rng, 2)
    assert errors.ate_m(move_own @ own, move_true @ true) == pytest.approx(errors.ate_m(own, true), abs=1e-9)
    t_s = np.arange(len(true)) / 10
    moved, unmoved = errors.rpe(t_s, move_own @ own, move_true @ true), errors.rpe(t_s, own, true)
    assert moved is not None and unmoved is not None
    assert moved.translation_m == pytest.approx(unmoved.translation_m, abs=1e-9)
    assert moved.rotation_deg == pytest.approx(unmoved.rotation_deg, abs=1e-6)


def test_ate_of_a_moved_path_is_zero_and_of_a_scaled_one_is_not() -> None:
    rng = np.random.default_rng(1)
    true = _circle(rng)
    assert errors.ate_m(_motions(rng, 1) @ true, true) < 1e-9
    scaled = true.copy()
    scaled[:, :3, 3] *= 1.1
    centred = true[:, :3, 3] - true[:, :3, 3].mean(axis=0)
    assert errors.ate_m(scaled, true) == pytest.approx(0.1 * np.sqrt(np.mean(np.sum(centred**2, axis=1))))


def test_a_mirrored_path_is_not_turned_into_the_true_one_by_a_reflection() -> None:
    true = _circle(np.random.default_rng(2))
    mirrored = true.copy()
    mirrored[:, 2, 3] *= -1
    T = errors.alignment(mirrored[:, :3, 3], true[:, :3, 3])
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)


def test_rpe_of_a_constant_drift() -> None:
    t_s = np.arange(31) / 10
    true = np.tile(np.eye(4), (31, 1, 1))
    own = true.copy()
    own[:, 0, 3] = 0.02 * t_s
    found = errors.rpe(t_s, own, true)
    assert found is not None
    assert found.translation_m == pytest.approx(0.02)
    assert (found.rotation_deg, found.pairs) == (0.0, 21)
    assert errors.rpe(t_s[:5], own[:5], true[:5]) is None


def test_times_are_paired_once_and_only_within_the_limit() -> None:
    own, other = errors.nearest(np.array([0.0, 0.01, 1.0, 2.0]), np.array([0.008, 0.999, 2.03]))
    assert (own.tolist(), other.tolist()) == ([1, 2], [0, 1])


def test_an_exact_graph_has_no_cost_and_stays() -> None:
    rng = np.random.default_rng(4)
    T = _circle(rng)
    edges = _edges(T, rng, 0.0)
    found = pose_graph.optimise(T, edges)
    assert found.cost < 1e-18
    assert np.allclose(found.T_W, T, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_perturbed_graph_returns_to_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = _circle(rng)
    start = T @ se3.exp(0.05 * rng.normal(size=(len(T), 6)))
    start[0] = T[0]
    assert pose_graph.cost_of(start, _edges(T, rng, 0.0)) > 1.0
    assert np.allclose(pose_graph.optimise(start, _edges(T, rng, 0.0)).T_W, T, atol=1e-6)


def _drifted(T: Array, edges: list[Edge]) -> Array:
    """Poses of the chain alone."""
    out = [T[0]]
    for edge in edges[: len(T) - 1]:
        out.append(out[-1] @ edge.Z_ij)
    return np.array(out)


@pytest.mark.parametrize("seed", range(3))
def test_the_optimiser_agrees_with_gtsam(seed: int) -> None:
    gtsam = pytest.importorskip("gtsam")
    rng = np.random.default_rng(seed)
    T = _circle(rng)
    edges = _edges(T, rng, 0.01)
    edges.append(Edge(2, 30, _between(T, 2, 30) @ se3.exp(np.array([1.0, 0, 0, 0, 0.5, 0])), 0.01, loop=True))
    start = _drifted(T, edges)
    graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    graph.add(gtsam.NonlinearEqualityPose3(0, gtsam.Pose3(start[0])))
    for edge in edges:
        noise = gtsam.noiseModel.Isotropic.Sigma(6, edge.sigma)
        if edge.loop:
            noise = gtsam.noiseModel.Robust.Create(gtsam.noiseModel.mEstimator.Cauchy.Create(3.0), noise)
        graph.add(gtsam.BetweenFactorPose3(edge.i, edge.j, gtsam.Pose3(edge.Z_ij), noise))
    for index, pose in enumerate(start):
        values.insert(index, gtsam.Pose3(pose))
    parameters = gtsam.LevenbergMarquardtParams()
    parameters.setMaxIterations(200)
    parameters.setRelativeErrorTol(1e-14)
    parameters.setAbsoluteErrorTol(1e-14)
    theirs = gtsam.LevenbergMarquardtOptimizer(graph, values, parameters).optimize()
    reference = np.array([theirs.atPose3(index).matrix() for index in range(len(T))])
    found = pose_graph.optimise(start, edges, iterations=200, tolerance=1e-14)
    assert not np.allclose(start, reference, atol=1e-2)
    assert np.abs(found.T_W - reference).max() < 1e-5


@settings(max_examples=15)
@given(SEEDS)
def test_a_false_loop_moves_no_pose_by_more_than_5_cm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = _circle(rng)
    edges = _edges(T, rng, 0.004)
    right = pose_graph.optimise(_drifted(T, edges), edges).T_W
    i = int(rng.integers(0, 15))
    wrong = _motions(rng, 1)[0]
    false = Edge(i, i + 20, _between(T, i, i + 20) @ wrong, 0.01, loop=True)
    if se3.distance_m(wrong) < 0.3:  # not false
        return
    found = pose_graph.optimise(right, [*edges, false]).T_W
    assert np.linalg.norm(found[:, :3, 3] - right[:, :3, 3], axis=1).max() < 0.05


def test_a_graph_of_one_node_or_without_edges_is_left_alone() -> None:
    T = np.eye(4)[None]
    assert np.array_equal(pose_graph.optimise(T, []).T_W, T)


def test_voxels_are_means_of_enough_points() -> None:
    points = np.array([[0.01, 0.01, 0.01], [0.02, 0.02, 0.02], [0.03, 0.03, 0.03], [-0.01, 0.0, 0.0], [np.nan, 0, 0]])
    colours = np.array([[0, 30, 60], [10, 30, 60], [20, 30, 60], [9, 9, 9], [1, 1, 1]], dtype=np.uint8)
    found = voxel_map(points, colours, voxel_m=0.05, at_least=3)
    assert np.allclose(found.points_W, [[0.02, 0.02, 0.02]])
    assert found.colours.tolist() == [[10, 30, 60]]
    assert len(voxel_map(points, colours, voxel_m=0.05, at_least=1).points_W) == 2
