"""Noise of motors: its spread, its correlation over time, and what it must not touch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from aeroloop.actuators.motor_noise import TIME_S, NoisyMotors
from aeroloop.core.frames import Vec

MS = 1_000_000


class Kept:
    def __init__(self) -> None:
        self.commands: list[tuple[float, ...]] = []

    def drive(self, command: Sequence[float], dt_ns: int) -> int:
        self.commands.append(tuple(command))
        return dt_ns

    def state(self, t_ns: int) -> int:
        return t_ns


def driven(command: Sequence[float], steps: int, std: float, seed: int = 1) -> Vec:
    kept = Kept()
    motors = NoisyMotors(kept, std, len(command), np.random.default_rng(seed))
    for _ in range(steps):
        assert motors.drive(command, 4 * MS) == 4 * MS
    assert motors.state(7) == 7
    return np.array(kept.commands)


def test_spread_and_correlation() -> None:
    noise = driven((0.5, 0.8, 0.5, 0.5), 20_000, 0.04) / (0.5, 0.8, 0.5, 0.5) - 1
    assert noise.std(axis=0) == pytest.approx(np.full(4, 0.04), rel=0.06)
    lag = round(TIME_S / 0.004)
    apart = [float(np.corrcoef(one[:-lag], one[lag:])[0, 1]) for one in noise.T]
    assert apart == pytest.approx([math.exp(-lag * 0.004 / TIME_S)] * 4, abs=0.05)
    assert np.abs(np.corrcoef(noise.T) - np.eye(4)).max() < 0.1, "each motor has its own"


def test_stopped_motors_stay_stopped_and_nan_stays_visible() -> None:
    commands = driven((0.0, -0.1, math.nan, 0.5), 100, 0.1)
    assert (commands[:, 0] == 0).all()
    assert (commands[:, 1] == -0.1).all()
    assert np.isnan(commands[:, 2]).all()


def test_a_seed_repeats() -> None:
    assert (driven((0.5,), 600, 0.1) == driven((0.5,), 600, 0.1)).all()
    assert (driven((0.5,), 600, 0.1) != driven((0.5,), 600, 0.1, seed=2)).any()
