"""Faults of sensors that vary with time: drift and jump of a receiver, vibration and clipping of an IMU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from failing_sensors import FailingSuite
from sensor_scenes import AIR, PLACE, seconds, state

from aeroloop.core.fault_offers import of_sensor, words
from aeroloop.core.faults import PlannedFault, Switch, Switched, log_row
from aeroloop.core.signals import NS
from aeroloop.sensors.gnss import GnssConfig, GnssSample
from aeroloop.sensors.imu import ImuConfig, ImuSample
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import SensorSet

HOVER = state(pos_W=(0.0, 0.0, 5.0))
IDEAL = SensorSet(imu=ImuConfig(rate_hz=250.0), gnss=GnssConfig(rate_hz=10.0))
FROM_S, TO_S, END_S = 1.0, 3.0, 4.0


def measured(sensor: type, **fault: Any) -> tuple[np.ndarray, list[Any]]:
    """Times and samples of one sensor that fails from 1 to 3 s."""
    planned = PlannedFault(from_s=FROM_S, to_s=TO_S, **fault)
    suite = FailingSuite(IDEAL, Streams(1), (planned,))
    found: list[Any] = []
    while suite.next_ns < seconds(END_S):
        samples = suite.sample(HOVER._replace(t_ns=suite.next_ns), AIR, PLACE)
        found += [sample for sample in samples if isinstance(sample, sensor)]
    return np.array([sample.t_ns / NS for sample in found]), found


def since(t_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which samples are faulty, and their time since the first of them."""
    faulty = (t_s >= FROM_S) & (t_s < TO_S)
    return faulty, t_s - t_s[faulty][0]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("ramp", 0.5, lambda t_s: 0.5 * t_s),
        ("jump", 10.0, lambda t_s: 10.0 * np.exp(-t_s / 10.0)),
    ],
)
def test_a_receiver_drifts_and_jumps_and_returns(kind: str, value: float, expected: Any) -> None:
    t_s, found = measured(GnssSample, target="gnss", kind=kind, value=value)
    faulty, after_s = since(t_s)
    off_m = np.array([sample.alt_m for sample in found]) - PLACE.alt_m
    assert off_m[faulty] == pytest.approx(expected(after_s[faulty]), abs=1e-9)
    assert np.all(off_m[~faulty] == 0.0)


def test_a_drift_stops_where_its_message_ends() -> None:
    switch = PlannedFault(target="gnss", kind="ramp", value=100.0, from_s=0.0)
    suite, last = FailingSuite(IDEAL, Streams(1), (switch,)), 0.0
    for t_s in (0.0, 50.0, 99.0, 101.0, 500.0):
        for sample in suite.sample(HOVER._replace(t_ns=seconds(t_s)), AIR, PLACE):
            last = sample.alt_m - PLACE.alt_m if isinstance(sample, GnssSample) else last
    assert last == pytest.approx(1e4)


def test_an_imu_vibrates_at_its_frequency() -> None:
    t_s, found = measured(ImuSample, target="imu", kind="vibration", channel="accel", value=(3.0, 20.0, 0.5))
    faulty, after_s = since(t_s)
    accel = np.array([sample.accel_B for sample in found])
    wave = 3.0 * np.sin(math.tau * 20.0 * after_s[faulty] + 0.5)
    for axis in range(3):
        assert (accel[faulty] - accel[0])[:, axis] == pytest.approx(wave, abs=1e-9)
    assert np.all(accel[~faulty] == accel[0])
    assert np.all(np.array([sample.rate_B for sample in found]) == 0.0)


def test_an_imu_is_clipped_and_measures_again() -> None:
    t_s, found = measured(ImuSample, target="imu", kind="clipped", channel="accel", value=8.0)
    faulty, _ = since(t_s)
    up = np.array([sample.accel_B[2] for sample in found])
    assert np.all(up[faulty] == 8.0)
    assert np.all(up[~faulty] == up[0])
    assert up[0] > 9.7


@pytest.mark.parametrize("target", ["gnss", "imu"])
def test_every_one_is_offered_with_a_value_that_can_be_switched(target: str) -> None:
    offered = [offer for offer in of_sensor(target) if offer.kind in ("ramp", "jump", "vibration", "clipped")]
    assert len(offered) == 4
    for number, offer in enumerate(offered):
        switch = offer.switch(on=True)
        assert PlannedFault(target=switch.target, kind=switch.kind, value=switch.value, from_s=1.0)
        assert offer.unit.split(",")[0] in words(
            log_row(switch, Switched(number % 2, (switch.values * 3)[: offer.axes]))
        )


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"target": "imu", "kind": "ramp"}, "imu: cannot have ramp, expected one of: silent, frozen"),
        ({"target": "gnss", "kind": "ramp", "value": 200.0}, "gnss: ramp: expected -100 to 100"),
        ({"target": "imu", "kind": "vibration", "value": (1.0, 0.0, 0.0)}, "expected a frequency"),
        ({"target": "imu", "kind": "clipped"}, "imu: clipped: expected a value other than zero"),
    ],
)
def test_values_are_limited(fault: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Switch(on=True, **fault)
