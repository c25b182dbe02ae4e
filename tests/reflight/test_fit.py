"""Numbers of an aircraft from a log of it: found again, with errors as large as they are said to be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_logs import IRIS, made_log

from aeroloop.flown.record import FlightRecord, Signal
from aeroloop.reflight import attitude_loops
from aeroloop.reflight.attitude_loops import from_parameters
from aeroloop.reflight.numbers import Plant
from aeroloop.reflight.replay import Options, Replayed, replay
from aeroloop.reflight.rollout import STEP_S, Law

OTHER = Plant(1.8, (0.034, 0.026, 0.061), 0.022, 0.044, 0.017)
TRUTH = {"mass": 1.8, "inertia_x": 0.034, "inertia_y": 0.026, "inertia_z": 0.061, "lag": 0.022, "delay": 0.017}


def found(replayed: Replayed) -> dict[str, tuple[float, float]]:
    return {n.fitted.name: (n.fitted.value, n.fitted.std) for n in replayed.numbers}


ARDUPILOT = {
    **{f"ATC_RAT_{axis}_{gain}": x for axis in ("RLL", "PIT") for gain, x in {"P": 0.15, "I": 0.15, "D": 4e-3}.items()},
    "ATC_RAT_YAW_P": 0.5,
    "ATC_RAT_YAW_I": 0.05,
}


def thinned(signal: Signal, rate_hz: float) -> Signal:
    every = max(1, round(signal.rate_hz / rate_hz))
    return replace(signal, t_s=signal.t_s[::every], values=signal.values[::every])


def ardupilot_log() -> FlightRecord:
    """As boards write them: 50 Hz, pulses and throttle at 10 Hz, with the gains that were flown."""
    loops = from_parameters(ARDUPILOT)
    assert loops is not None
    law = Law(attitude_loops.law(IRIS, loops, STEP_S), loops.row())
    log = made_log(OTHER, seconds=12.0, law=law, parameters=ARDUPILOT)
    slow = ("motor", "pulse", "throttle")
    rates = {name: 10.0 if name.startswith(slow) else 50.0 for name in log.signals}
    return replace(log, signals={name: thinned(log[name], rate_hz) for name, rate_hz in rates.items()})


@pytest.mark.parametrize("drive", ["setpoints", "pulses"])
def test_a_log_with_other_numbers_gives_them_back(drive: str) -> None:
    log = ardupilot_log() if drive == "setpoints" else made_log(OTHER, seconds=12.0)
    replayed = replay(log, "iris", Options(replay=drive, fit=True, from_s=100.0, to_s=112.0))
    numbers = found(replayed)
    for name, true in TRUTH.items():
        value, std = numbers[name]
        assert value == pytest.approx(true, rel=0.05), name
        assert 0.0 < std < 0.05 * true, name
        assert abs(value - true) < 5 * std + 0.02 * true, name
    assert {n.by for n in replayed.numbers} == {drive}
    assert all(each.score.r > 0.9 for each in replayed.judged.comparison.signals if not each.remark)


def test_pulses_that_come_rarely_do_not_determine_the_lag() -> None:
    replayed = replay(ardupilot_log(), "iris", Options(replay="pulses", fit=True, from_s=100.0, to_s=112.0))
    assert not next(n.fitted for n in replayed.numbers if n.fitted.name == "lag").determined
    assert any("Pulses came at 10 Hz" in remark for remark in replayed.remarks)


def test_more_noise_makes_less_sure() -> None:
    options = Options(replay="pulses", fit=True, from_s=100.0, to_s=112.0)
    quiet, loud = (found(replay(made_log(OTHER, seconds=12.0, noise=n), "iris", options)) for n in (1.0, 16.0))
    for name in ("mass", "lag"):
        assert 3.0 * quiet[name][1] < loud[name][1] < 32.0 * quiet[name][1]
        assert abs(loud[name][0] - TRUTH[name]) < 3.0 * loud[name][1]


def test_what_does_not_move_is_not_determined_and_keeps_its_number() -> None:
    log = made_log(OTHER, seconds=12.0, yaws=False, noise=30.0)
    replayed = replay(log, "iris", Options(replay="pulses", fit=True, from_s=100.0, to_s=112.0))
    doubted = next(n.fitted for n in replayed.numbers if n.fitted.name == "inertia_z")
    assert not doubted.determined and doubted.relative_std > 0.2
    assert replayed.plant.inertia_kgm2[2] == 0.055225  # the file's
    assert any("inertia_z is not determined" in remark for remark in replayed.remarks)
