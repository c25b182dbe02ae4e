"""A flight on the bench with another aircraft: flown again with the usual one, `--fit` finds what differs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from made_logs import IRIS, made_log

from aeroloop.api.scenarios import named, overrides_of
from aeroloop.core.errors import ConfigError
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.flight.inline import fly_inline
from aeroloop.flown.own_run import from_log
from aeroloop.flown.record import FlightRecord, Signal
from aeroloop.reflight import as_json, fitted_airframe, page
from aeroloop.reflight.numbers import Plant
from aeroloop.reflight.replay import Options, Replayed, replay

MASS_KG, LAG_UP_S, DELAY_S = 1.65, 0.025, 0.02
SCENARIO = {
    "duration_s": 36.0,
    "pilot.commands": [
        {"at_s": 6.0, "do": "arm"},
        {"at_s": 6.5, "do": "takeoff", "value": 6.0},
        {"at_s": 12.0, "do": "altitude"},
    ],
    "pilot.stick_start_s": 0.0,
    "link.to_plant.delay_s": DELAY_S,
}


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> FlightRecord:
    """Of an aircraft that is heavier, with slower motors, over a slower link."""
    file = tmp_path_factory.mktemp("other") / "other.toml"
    text = Path(airframes.__file__).with_name("iris.toml").read_text(encoding="utf-8")
    changes = {
        "mass_kg = 1.5": f"mass_kg = {MASS_KG}",
        "lag_up_s = 0.0125": f"lag_up_s = {LAG_UP_S}",
        "lag_down_s = 0.025": f"lag_down_s = {2 * LAG_UP_S}",
    }
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")
    plan = named("quad-manual").changed(overrides_of({**SCENARIO, "vehicle.airframe": str(file)})).plan
    flown = fly_inline(plan)
    assert flown.ended == "completed"
    return from_log(flown.logs[0], file.parent / "flight.mcap")


def test_a_flight_on_the_bench_tells_its_mass_lag_and_delay(flight: FlightRecord, tmp_path: Path) -> None:
    done: list[tuple[str, float]] = []
    replayed = replay(flight, "iris", Options(fit=True), lambda what, share: done.append((what, share)))
    numbers = {n.fitted.name: n.fitted for n in replayed.numbers}
    for name, true in (("mass", MASS_KG), ("lag", LAG_UP_S), ("delay", DELAY_S)):
        assert numbers[name].value == pytest.approx(true, rel=0.05), name
        assert numbers[name].std < 0.1 * true and numbers[name].determined, name
    assert numbers["inertia_x"].value == pytest.approx(IRIS.body.inertia_kgm2[0], rel=0.05)
    assert [half.role for half in replayed.halves] == ["fitted", "judged"]
    fitted, judged = (half.comparison.segment for half in replayed.halves)
    assert fitted.end_s <= judged.start_s + 0.02 and judged.duration_s > 8.0
    assert replayed.judged.comparison["roll"].score.r > 0.99
    assert replayed.judged.comparison["gyro_x"].score.r > 0.9
    assert done[-1] == ("flying", 1.0) and [share for what, share in done if what == "fitting"][-1] == 1.0
    file = tmp_path / "fitted.toml"
    file.write_text(fitted_airframe.toml(replayed), encoding="utf-8")
    flies = airframes.load(str(file))
    assert flies.body.mass_kg == pytest.approx(numbers["mass"].value, rel=1e-5)
    assert flies.motors.lag_down_s == pytest.approx(2 * numbers["lag"].value, rel=1e-5)
    assert flies.contact == IRIS.contact and flies.rotors == IRIS.rotors
    assert f"link.to_plant.delay_s={numbers['delay'].value:.4f}" in file.read_text(encoding="utf-8")
    assert "standard error" in file.read_text(encoding="utf-8")
    told = json.loads(json.dumps(as_json.numbers(replayed), allow_nan=False))
    assert [part["role"] for part in told["parts"]] == ["fitted", "judged"]
    assert {n["name"]: n["std"] for n in told["numbers"]}["mass"] == pytest.approx(numbers["mass"].std)
    assert told["airframe"]["body"]["mass_kg"] == pytest.approx(numbers["mass"].value)
    text = page.render(replayed)
    for words in ("Numbers of the aircraft", "not used by the fit (judged)", "on which the numbers were fitted"):
        assert words in text


@pytest.fixture(scope="module")
def log() -> FlightRecord:
    return made_log(Plant.of(IRIS), seconds=12.0)


WHOLE = MappingProxyType({"from_s": 100.0, "to_s": 112.0})


def names(replayed: Replayed) -> set[str]:
    return {each.quantity.name for each in replayed.whole.signals}


def test_setpoints_compare_attitude_and_rates_and_no_position(log: FlightRecord) -> None:
    replayed = replay(log, "iris", Options(**WHOLE))
    assert names(replayed) == {"roll", "pitch", "yaw", "gyro_x", "gyro_y", "gyro_z", "accel_z"}
    assert [half.role for half in replayed.halves] == ["flown"] and replayed.fitted_airframe is None
    assert replayed.whole["roll"].score.r > 0.999
    assert "Numbers of the aircraft" not in page.render(replayed)


def test_pulses_compare_angular_acceleration_after_each_restart(log: FlightRecord) -> None:
    replayed = replay(log, "iris", Options(replay="pulses", restart_s=0.5, **WHOLE))
    assert {"angular_accel_x", "angular_accel_y", "angular_accel_z"} <= names(replayed)
    assert "roll" not in names(replayed)
    assert replayed.whole["angular_accel_x"].score.r > 0.95


def test_a_route_is_flown_by_position_and_compares_all(log: FlightRecord) -> None:
    """The log's own track, here a circle, is the reference."""
    t_s = log["north"].t_s
    angle = 0.4 * (t_s - t_s[0])
    track = {
        "north": 10 * np.sin(angle),
        "east": 10 * np.cos(angle),
        "down": -20.0 + 0 * angle,
        "vel_north": 4 * np.cos(angle),
        "vel_east": -4 * np.sin(angle),
        "vel_down": 0 * angle,
    }
    signals = {**log.signals, **{name: Signal(name, t_s, values, "made") for name, values in track.items()}}
    replayed = replay(replace(log, signals=signals), "iris", Options(replay="route", **WHOLE))
    assert {"north", "east", "down", "lat", "lon", "accel_x", "roll"} <= names(replayed)
    for name in ("north", "east"):
        assert replayed.whole[name].score.r > 0.99
        assert replayed.whole[name].score.rmse < 1.5


def test_the_log_s_own_gains_are_flown(log: FlightRecord) -> None:
    gains = {"ATC_RAT_RLL_P": 0.2, "ATC_RAT_PIT_P": 0.2, "ATC_RAT_YAW_P": 0.3}
    assert "ArduPilot's loops with 3 gains" in replay(replace(log, parameters=gains), "iris", Options(**WHOLE)).loops
    own = replay(replace(log, parameters={"MC_ROLL_P": 3.0}), "iris", Options(**WHOLE))
    assert "virtual autopilot's loops with 1 gains" in own.loops
    usual = replay(log, "iris", Options(**WHOLE))
    assert own.whole["roll"].score.rmse > 2 * usual.whole["roll"].score.rmse  # slower than it was flown


def without(log: FlightRecord, *gone: str) -> FlightRecord:
    return replace(log, signals={name: signal for name, signal in log.signals.items() if not name.startswith(gone)})


def test_what_a_log_lacks_is_said(log: FlightRecord) -> None:
    replayed = replay(without(log, "yaw_setpoint", "throttle", "north", "lat"), "iris", Options(**WHOLE))
    told = " ".join(replayed.remarks)
    for words in ("no setpoint of yaw", "no throttle", "no velocity", "no place on earth"):
        assert words in told


@pytest.mark.parametrize(
    ("options", "gone", "words"),
    [
        (Options(replay="sideways"), (), "--replay sideways: expected one of: setpoints, route, pulses"),
        (Options(fit=True, unknowns=("colour",)), (), "--unknown colour: expected one or more of: mass"),
        (Options(restart_s=0.0), (), "--restart 0: expected 0.1 to 60 s"),
        (Options(from_s=100.0, to_s=103.0), (), "3.0 s of flight are too short to fly again; expected 5 s"),
        (Options(fit=True, from_s=100.0, to_s=108.0), (), "too short to fit on one half"),
        (Options(**WHOLE), ("roll_setpoint",), "has no roll_setpoint"),
        (Options(**WHOLE), ("roll",), "has no roll"),
        (Options(replay="pulses", **WHOLE), ("motor_3", "pulse_3"), "has pulses of 3 motors; expected those of all 4"),
        (Options(replay="route", **WHOLE), ("north", "lat"), "has no position"),
    ],
)
def test_bad_input_is_one_sentence(log: FlightRecord, options: Options, gone: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        replay(without(log, *gone) if gone else log, "iris", options)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_an_airframe_with_aerodynamics_of_its_rotors_is_refused(log: FlightRecord) -> None:
    with pytest.raises(ConfigError, match=r"iris-aero: a log is flown again without rotors\.aerodynamics"):
        replay(log, "iris-aero", Options(**WHOLE))


def test_another_kind_of_aircraft_is_refused(log: FlightRecord) -> None:
    with pytest.raises(ConfigError, match="was flown by a fixedwing; only multirotors"):
        replay(replace(log, vehicle="fixedwing"), "iris", Options(**WHOLE))
