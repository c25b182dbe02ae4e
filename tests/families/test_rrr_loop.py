"""The synchronisation law on the 3-RRR robot in an ideal loop, against the numbers of its design."""

from __future__ import annotations

import pytest

from aeroloop.families.rrr import plants
from helpers.rrr_loop import SQUARE, fly

NAMES = ("joint_rms_rad", "joint_sync_rms_rad", "joint_error_max_rad", "position_rms_m", "torque_rms_Nm")
SCALES = (1e-3, 1e-3, 1e-3, 1e-3, 1.0)
CIRCLE = {
    ("pid", "none"): (0.190, 0.179, 0.454, 0.053, 0.063),
    ("pid", "load"): (1.89, 1.58, 5.62, 0.454, 0.356),
    ("pid", "payload"): (0.323, 0.310, 1.01, 0.093, 0.103),
    ("pid", "friction"): (1.23, 1.07, 4.81, 0.296, 0.272),
    ("pid", "weak"): (0.253, 0.236, 0.842, 0.069, 0.080),
    ("pid", "noise"): (0.191, 0.181, 0.470, 0.053, 0.140),
    ("pid", "all"): (2.72, 2.33, 9.69, 0.647, 0.764),
    ("smc-sync-pidnn", "none"): (0.073, 0.058, 0.210, 0.015, 0.063),
    ("smc-sync-pidnn", "load"): (1.08, 0.273, 2.71, 0.089, 0.350),
    ("smc-sync-pidnn", "payload"): (0.086, 0.065, 0.445, 0.020, 0.103),
    ("smc-sync-pidnn", "friction"): (0.632, 0.233, 2.19, 0.074, 0.272),
    ("smc-sync-pidnn", "weak"): (0.091, 0.063, 0.392, 0.018, 0.080),
    ("smc-sync-pidnn", "noise"): (0.088, 0.075, 0.290, 0.020, 0.186),
    ("smc-sync-pidnn", "all"): (1.45, 0.390, 4.97, 0.114, 0.767),
}
"""RMS, synchronisation error and largest error (mrad), position (mm), torque (N m)."""


@pytest.mark.parametrize(("law", "kind"), CIRCLE)
def test_the_circle_has_the_numbers_of_the_design(law: str, kind: str) -> None:
    found = fly(law, kind)  # type: ignore[arg-type]
    for name, scale, expected in zip(NAMES, SCALES, CIRCLE[law, kind], strict=True):
        assert found[name] == pytest.approx(scale * expected, rel=0.1), name


def test_the_square_is_followed_with_the_joints_together() -> None:
    for kind, pid, full in (("none", 1.20, 0.176), ("load", 1.90, 0.266)):
        for law, expected in (("pid", pid), ("smc-sync-pidnn", full)):
            found = fly(law, kind, SQUARE)  # type: ignore[arg-type]
            assert found["joint_sync_rms_rad"] == pytest.approx(1e-3 * expected, rel=0.1)


def test_the_world_of_bodies_gives_the_numbers_of_the_reduced_equations() -> None:
    reduced, bodies = (
        fly("smc-sync-pidnn", "load", duration_s=3.0, world=w) for w in (plants.Reduced, plants.Multibody)
    )
    for name in NAMES:
        assert bodies[name] == pytest.approx(reduced[name], rel=0.002), name


def test_coupling_divides_differences_and_leaves_the_angle() -> None:
    alone, coupled = (fly("smc-sync", "load", beta=beta) for beta in (0.0, 1.0))
    assert 1.8 <= alone["joint_sync_rms_rad"] / coupled["joint_sync_rms_rad"] <= 2.0
    assert coupled["angle_rms_rad"] == pytest.approx(alone["angle_rms_rad"], rel=0.05)


def test_learning_halves_the_synchronisation_error() -> None:
    learning, frozen = fly("smc-sync-pidnn", "load"), fly("smc-sync-pidnn", "load", eta=0.0)
    assert frozen["joint_sync_rms_rad"] / learning["joint_sync_rms_rad"] >= 2.0
    assert frozen["joint_sync_rms_rad"] == pytest.approx(0.740e-3, rel=0.1)


def test_the_acceptance_and_where_it_is_not_better() -> None:
    """It keeps the joints together; in the common mode, which turns the platform, and under noise it is no better."""
    pid, full = (fly(law, "load", duration_s=3.0) for law in ("pid", "smc-sync-pidnn"))  # type: ignore[arg-type]
    assert full["angle_rms_rad"] == pytest.approx(pid["angle_rms_rad"], rel=0.1)
    assert pid["joint_sync_rms_rad"] > 4.0 * full["joint_sync_rms_rad"]
    assert pid["position_rms_m"] > 3.2 * full["position_rms_m"]
    pid, full = (fly(law, "noise", duration_s=2.0) for law in ("pid", "smc-sync-pidnn"))  # type: ignore[arg-type]
    assert 1.2 < full["torque_chatter_pct"] / pid["torque_chatter_pct"] < 1.6
