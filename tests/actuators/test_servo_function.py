"""The symbolic servos against the bench's."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from msgspec.structs import replace

from aeroloop.actuators.servo_function import servos
from aeroloop.actuators.servos import HingedServos, Hinges, Limits, Servos

LIMITS = Limits(
    low=(-0.5, -0.4, -0.3, 0.0),
    high=(0.5, 0.4, 0.3, 1.0),
    rate_per_s=(4.0, 0.5, 3.0, 2.0),
    lag_s=(0.05, 0.05, 0.0, 0.2),
)


def test_symbols_move_as_the_servos_do() -> None:
    at, command = ca.SX.sym("at", 4), ca.SX.sym("command", 4)
    step = ca.Function("servos", [at, command], list(servos(LIMITS, at, command, 0.01)))
    bench, rng = Servos(LIMITS, (0.0, 0.1, 0.0, 0.5)), np.random.default_rng(2)
    position = ca.DM([0.0, 0.1, 0.0, 0.5])
    seen = set()
    for number in range(300):
        if number % 5 == 0:
            wanted = rng.uniform(-0.7, 0.7, 4) * (1, 1, 1, 2) if number % 2 else position.full().ravel() + 0.01
        effort = bench.step(tuple(wanted), 10_000_000)
        position, mean, beyond = step(position, wanted)
        assert np.array(position).ravel() == pytest.approx(bench.controls, abs=1e-12)
        assert np.array(mean).ravel() == pytest.approx(effort.controls, abs=1e-12)
        assert bool(beyond) == effort.saturated
        seen |= {("limit", effort.saturated), ("rate", effort.rate_limited)}
    assert len(seen) == 4


def test_symbols_yield_to_the_air_as_the_servos_do() -> None:
    weak = Hinges(
        torque_Nm=(0.05, 0.1, 5.0), area_m2=(0.02, 0.03, 0.02), chord_m=(0.05, 0.05, 0.05), moment_1_rad=(0.5, 0.6, 0.5)
    )
    limits, rng, pressure_Pa = replace(LIMITS, hinges=weak), np.random.default_rng(5), 0.0
    at, command, q = ca.SX.sym("at", 4), ca.SX.sym("command", 4), ca.SX.sym("q")
    step = ca.Function("servos", [at, command, q], list(servos(limits, at, command, 0.01, q)))
    bench, position = HingedServos(limits, lambda: pressure_Pa, (0.0,) * 4), ca.DM.zeros(4)
    for pressure_Pa in (0.0, 100.0, 600.0, 1500.0, 200.0) * 8:
        wanted = rng.uniform(-0.7, 0.7, 4)
        effort = bench.step(tuple(wanted), 10_000_000)
        position, mean, beyond = step(position, wanted, pressure_Pa)
        assert np.array(position).ravel() == pytest.approx(bench.controls, abs=1e-12)
        assert np.array(mean).ravel() == pytest.approx(effort.controls, abs=1e-12)
        assert bool(beyond) == effort.saturated
