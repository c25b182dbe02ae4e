"""The symbolic error model against the bench's, fed with the same normal numbers."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.sensors import noise
from aeroloop.sensors.error_functions import Channel, SensorNoise, limited
from aeroloop.sensors.noise import Errors

SAMPLES = 40
CASES = {
    "all": Errors(
        white_std=0.3, offset=0.1, turn_on_std=0.2, drift_std=(0.5, 0.0, 1.0), drift_time_s=2.0, walk=0.4, quantum=0.05
    ),
    "density": Errors(white_density=0.02, range=(-0.1, 0.1)),
    "none": Errors(),
}


class Told:
    """A generator that hands out given numbers."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._left = numbers.ravel()

    def standard_normal(self, size: Any) -> np.ndarray:
        count = int(np.prod(size))
        taken, self._left = self._left[:count], self._left[count:]
        return taken.reshape(size)


@pytest.mark.parametrize("case", CASES)
def test_equal_numbers_give_equal_errors(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    errors, axes = CASES[case], 3
    rng = np.random.default_rng(5)
    drawn = {name: rng.standard_normal((200, axes)) for name in ("white", "drift", "walk", "turn-on", "fault")}
    monkeypatch.setattr(noise.Streams, "generator", lambda self, name: Told(drawn[name]))
    channel = noise.Channel(errors, 0.1, axes, noise.Streams(1))
    twin = SensorNoise((Channel("it", errors, axes, 0.1),), stream=0)

    memory, normals, value = (
        ca.SX.sym("memory", twin.memory),
        ca.SX.sym("normals", twin.first_count),
        ca.SX.sym("v", axes),
    )
    error, after = twin.sample(normals, memory)
    step = ca.Function("step", [memory, normals, value], [limited(value + error["it"], errors), after])
    first = ca.Function("first", [normals], [twin.first(normals)])

    def numbers(call: int) -> np.ndarray:
        """Of call 0, one period before the first sample, and of the samples after it."""
        made = np.zeros(twin.first_count)
        for name, place in twin.drawn("s").items():
            process = name.rsplit("/", 1)[-1]
            made[place.first : place.first + axes] = drawn[process][max(call - place.phase, 0)]
        return made

    kept = first(numbers(0))
    for call in range(1, SAMPLES + 1):
        truth = np.array([0.01 * call, 1.0, -2.0])
        made, kept = step(kept, numbers(call), truth)
        assert np.array(made).ravel() == pytest.approx(channel.measure3(*truth, 1), abs=1e-12)
