"""Which part of a log is a flight, and signals at equal steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flown_logs import Array, times
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.flown.record import FlightRecord, Signal
from aeroloop.flown.resample import grid, resampled
from aeroloop.flown.segments import Segment, chosen, in_air, stretches


def record(**signals: tuple[Array, Array]) -> FlightRecord:
    made = {name: Signal(name, t_s, values, name) for name, (t_s, values) in signals.items()}
    return FlightRecord(Path("flight.bin"), "test", made)


def between(t_s: Array, start_s: float, end_s: float, value: float = 1.0) -> Array:
    return np.where((t_s >= start_s) & (t_s <= end_s), value, 0.0)


T_S = times(100.0, 10.0)
ROLL = (T_S, np.sin(T_S))


def test_in_the_air_is_where_throttle_is_up_without_the_ends() -> None:
    throttle = between(T_S, 10.0, 20.0, 0.5) + between(T_S, 40.0, 80.0, 0.4) + between(T_S, 90.0, 95.0, 0.9)
    flown = record(roll=ROLL, throttle=(T_S, throttle))
    found = in_air(flown)
    assert found == [Segment(13.0, 17.0), Segment(43.0, 77.0)]  # of the last, five seconds, nothing is left
    assert chosen(flown) == Segment(43.0, 77.0)


def test_a_dip_of_throttle_does_not_end_a_flight() -> None:
    throttle = between(T_S, 10.0, 40.0, 0.5) - between(T_S, 20.0, 20.5, 0.5)
    assert in_air(record(roll=ROLL, throttle=(T_S, throttle))) == [Segment(13.0, 37.0)]


def test_without_throttle_armed_and_high_enough() -> None:
    height = between(T_S, 10.0, 60.0, 5.0) + 100.0
    flown = record(roll=ROLL, height=(T_S, height), armed=(np.array([0.0, 30.0]), np.array([0.0, 1.0])))
    assert in_air(flown) == [Segment(33.0, 57.0)]


def test_a_log_that_does_not_tell_is_used_whole() -> None:
    flown = record(roll=ROLL)
    assert in_air(flown) is None
    assert chosen(flown) == Segment(0.0, 100.0)


def test_gaps_split_a_log() -> None:
    t_s = np.concatenate([times(20.0, 10.0), times(30.0, 10.0, 32.0), times(5.0, 10.0, 462.0)])
    flown = record(roll=(t_s, np.sin(t_s)), throttle=(t_s, np.full(len(t_s), 0.5)))
    assert stretches(flown) == [Segment(0.0, 20.0), Segment(32.0, 62.0), Segment(462.0, 467.0)]
    assert chosen(flown) == Segment(35.0, 59.0)


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({"throttle": np.full(len(T_S), 0.1)}, "no flight in it: throttle never stays above 30%"),
        ({"throttle": between(T_S, 10.0, 15.0)}, "no flight in it"),
        ({"height": np.zeros(len(T_S)), "armed": np.ones(len(T_S))}, "no flight in it"),
    ],
)
def test_a_log_without_a_flight_is_a_sentence(signals: dict[str, Array], words: str) -> None:
    flown = record(roll=ROLL, **{name: (T_S, values) for name, values in signals.items()})
    with pytest.raises(ConfigError, match=words):
        chosen(flown)
    with pytest.raises(ConfigError, match=r"no flight in it.*by hand \(the log is cut\)$"):
        chosen(replace(flown, remarks=["The log is cut."]))
    assert chosen(flown, from_s=5.0) == Segment(5.0, 100.0)


@pytest.mark.parametrize(("from_s", "to_s"), [(50.0, 40.0), (100.0, 120.0), (None, -1.0), (30.0, 30.0)])
def test_a_part_that_the_log_does_not_have(from_s: float | None, to_s: float | None) -> None:
    with pytest.raises(ConfigError, match=r"the log goes from 0.0 to 100.0 s; expected a part of that"):
        chosen(record(roll=ROLL), from_s, to_s)


def test_a_part_chosen_by_hand() -> None:
    assert chosen(record(roll=ROLL), 20.0, 30.0) == Segment(20.0, 30.0)
    assert chosen(record(roll=ROLL), None, 300.0) == Segment(0.0, 100.0)


@given(
    st.floats(-1e3, 1e3),
    st.floats(-1e3, 1e3),
    st.lists(st.floats(0.001, 0.4), min_size=2, max_size=50),
)
def test_a_line_is_resampled_exactly(slope: float, offset: float, steps_s: list[float]) -> None:
    t_s = np.cumsum(steps_s)
    line = Signal("roll", t_s, slope * t_s + offset, "")
    at_s = grid(t_s[0], t_s[-1])
    expected = slope * at_s + offset
    inside = at_s <= t_s[-1]
    np.testing.assert_allclose(resampled(line, at_s)[inside], expected[inside], rtol=1e-9, atol=1e-9)


def test_angles_are_unwrapped_and_states_held() -> None:
    t_s = np.array([0.0, 0.1, 0.2])
    yaw = Signal("yaw", t_s, np.array([3.1, -3.1, -3.0]), "")
    assert resampled(yaw, np.array([0.05]))[0] == pytest.approx(np.pi)
    lon = Signal("lon", t_s, np.array([179.9, -179.9, -179.8]), "")
    assert resampled(lon, np.array([0.05]))[0] == pytest.approx(180.0)
    pulse = Signal("pulse_1", t_s, np.array([1000.0, 1500.0, 2000.0]), "")
    assert resampled(pulse, np.array([0.05, 0.1, 0.19, 9.0])).tolist() == [1000.0, 1500.0, 1500.0, 2000.0]
    assert np.isnan(resampled(pulse, np.array([-0.1]))[0])


def test_nothing_is_made_up_outside_or_in_a_gap() -> None:
    t_s = np.array([0.0, 0.1, 0.2, 2.0, 2.1])
    roll = Signal("roll", t_s, t_s, "")
    found = resampled(roll, np.array([-0.01, 0.0, 0.15, 0.2, 1.0, 1.99, 2.0, 2.1, 2.11]))
    np.testing.assert_allclose(found, [np.nan, 0.0, 0.15, 0.2, np.nan, np.nan, 2.0, 2.1, np.nan], equal_nan=True)
    slow = replace(roll, t_s=np.array([0.0, 1.0, 2.0, 3.0, 4.0]))  # of 1 Hz: no gap
    assert np.isfinite(resampled(slow, np.array([0.5, 3.5]))).all()
