"""The tilt-rotor's spiral, started with the path: the predictive law is nowhere worse than the LQR law."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from aeroloop.api.flying import verified
from aeroloop.api.scenarios import named
from aeroloop.campaign.worker import flown


@cache
def metrics(law: str) -> dict[str, Any]:
    """Of the 60 s."""
    summary, _ = flown(verified(named("tiltrotor-spiral").changed((f'control.law="{law}"', 'loop="mil"'))))
    assert summary["ok"], summary["checks"]
    return dict(summary["metrics"])


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_its_errors_are_no_larger_than_those_of_the_lqr_law(axis: str) -> None:
    """Seen: 4, 10, 1.1 mm against 17, 47, 1.3 mm."""
    name = f"pos_{axis}_rms_m"
    assert 0.0 < metrics("mpc")[name] <= metrics("dlqr")[name]


def test_along_the_path_they_are_less_than_half() -> None:
    for name in ("pos_x_rms_m", "pos_y_rms_m", "yaw_max_deg"):
        assert metrics("mpc")[name] < 0.5 * metrics("dlqr")[name]
    assert metrics("mpc")["law_fallbacks"] == 0
