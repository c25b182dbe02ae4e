"""The balance of forces, moments and energy of every aircraft, from its log alone (docs/check-physics.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace as with_values

from aeroloop.analysis.physics import Examined, examined
from aeroloop.api.scenarios import named, overrides_of
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.families.fixedwing import build as wing_build
from aeroloop.families.fixedwing.balance import WingForces
from aeroloop.families.multirotor import build as multirotor_build
from aeroloop.families.multirotor.balance import RotorForces
from aeroloop.flight.inline import KeptRows, fly_inline
from aeroloop.flight.part import built
from aeroloop.flight.physics_check import check_log
from aeroloop.recording.log import Log, log_sha256
from aeroloop.sim.vehicle import Vehicle

CLOSES = 1e-6
Command = tuple[float, ...]


class Flown(NamedTuple):
    scenario: str
    seconds: float
    settings: dict[str, Any]
    change: Command | None = None  # of the command of the start; None: held


LIFTED = (0.9, 0.88, 0.9, 0.89)
HEAVY = {"payload.mass_kg": 0.1, "payload.offset_B_m": [0.02, -0.01, -0.03], "payload.from_s": 0.7}
ROTATES = {"world.earth_rotation": True}
FINE = {"world.step_s": 0.005}
"""The rolling of the Aerosonde is within 1e-6 at these steps; at its usual 10 ms within 1e-5."""
TURNING_ROTORS = {"vehicle.rotors.inertia_kgm2": 2e-5, "world.step_s": 0.002}
"""After a jump of the command their gyroscopic torques are within 1e-6 at these steps; at 4 ms within 3e-6."""
FLIGHTS = {
    "multirotor from the ground": Flown("quad-wind", 1.5, {}, LIFTED),
    "multirotor with a payload": Flown("quad-wind", 1.5, HEAVY, LIFTED),
    "multirotor on the turning earth": Flown("quad-wind", 1.5, ROTATES, LIFTED),
    "multirotor with rotors in the flow": Flown("quad-wind", 1.5, {"vehicle.airframe": "iris-aero"}, LIFTED),
    "multirotor on a battery": Flown("quad-wind", 1.5, {"battery.pack": "iris", "battery.charge": 0.3}, LIFTED),
    "hexarotor": Flown("hexa-rotor-dead", 1.5, {}, (*LIFTED, 0.9, 0.9)),
    "multirotor whose rotors differ": Flown("quad-sync-weak", 1.5, {}, LIFTED),
    "fixed wing in turbulence, 5 ms": Flown("fixedwing-loiter", 1.0, FINE, (0.03, -0.02, 0.01, 0.1)),
    "fixed wing with another drag in gust rates, 5 ms": Flown(
        "fixedwing-loiter",
        1.0,
        {**FINE, "vehicle.airframe": "aerosonde", "world.wind.turbulence.rates": True},
        (0.03, -0.02, 0.01, 0.1),
    ),
    "fixed wing on a battery, 5 ms": Flown(
        "fixedwing-loiter",
        1.0,
        {**FINE, "battery.pack": "aerosonde", "battery.charge": 0.3},
        (0.03, -0.02, 0.01, 0.1),
    ),
    "fixed wing on the turning earth, 5 ms": Flown(
        "fixedwing-loiter", 1.0, {**FINE, **ROTATES, "world.wind.turbulence.fade_in_s": 0.0}, (0.03, 0.0, 0.0, 0.1)
    ),
    "free body that tumbles": Flown("check-case-3", 1.0, {}),
    "free body in a wind over height": Flown("check-case-8", 1.0, {}),
    "cannonball": Flown("check-case-9", 1.0, {}),
    "aircraft of tables": Flown("check-case-11", 1.0, {"world.step_s": 0.01, "controls.rudder_deg": 3.0}),
    "tilt-rotor": Flown("tiltrotor-spiral", 1.0, {}, (0.3, -0.2, 0.002, 0.001)),
    "tilt-rotor in wind": Flown("tiltrotor-wind", 1.0, {}, (0.3, -0.2, 0.002, 0.001)),
    "tilt-rotor on the turning earth": Flown("tiltrotor-spiral", 1.0, ROTATES, (0.3, -0.2, 0.002, 0.001)),
    "tilt-rotor with turning rotors, 2 ms": Flown("tiltrotor-spiral", 1.0, TURNING_ROTORS, (0.3, -0.2, 0.002, 0.001)),
    "tilt-rotor with turning rotors in wind on the turning earth, 2 ms": Flown(
        "tiltrotor-wind",
        1.0,
        {**TURNING_ROTORS, "vehicle.rotors.drag_Ns2_m": 1.75e-4, **ROTATES},
        (0.3, -0.2, 0.002, 0.001),
    ),
    "helicopter": Flown("heli-hover", 1.0, {}, (0.01, 0.005, 0.0, 0.01, 0.0)),
    "helicopter on the turning earth": Flown("heli-hover", 1.0, ROTATES, (0.01, 0.005, 0.0, 0.01, 0.0)),
    "robot of bodies, 0.5 ms": Flown("rrr-circle", 0.1, {"world.step_s": 0.0005}, (0.05, -0.03, 0.02)),
    "robot of reduced equations, 0.5 ms": Flown(
        "rrr-circle", 0.1, {"world.step_s": 0.0005, "world.model": "reduced"}, (0.05, -0.03, 0.02)
    ),
}


def flown(flight: Flown, cut_s: float | None = None, during: Callable[[Vehicle[Any, Any]], None] | None = None) -> Log:
    """Without a controller. `cut_s`: messages cut steps with this period; `during`: called half way."""
    settings = overrides_of({"log.balance": True, **flight.settings})
    scenario = named(flight.scenario).changed(settings).plan
    kept = KeptRows(scenario)  # type: ignore[arg-type]
    vehicle = built(scenario.family.vehicle, scenario, 0, kept.publish(0))  # type: ignore[union-attr, arg-type]
    vehicle.begin()
    if flight.change is not None:
        vehicle.command = tuple(a + b for a, b in zip(vehicle.command, flight.change, strict=True))
    if cut_s is not None:
        for number in range(1, int(flight.seconds / cut_s)):
            vehicle.advance(round(number * cut_s * NS), exact=True)
    vehicle.advance(round(flight.seconds * NS / 2), exact=False)
    if during is not None:
        during(vehicle)
    vehicle.advance(round(flight.seconds * NS), exact=False)
    return kept.log()


def lines(log: Log, within: float | None) -> Examined:
    (found,) = examined(log, within)
    return found


def failing(log: Log) -> set[str]:
    return {line.name for line in lines(log, None).findings if not line.ok}


@pytest.mark.parametrize("aircraft", FLIGHTS)
def test_the_balance_of_every_aircraft_closes_to_1e_6(aircraft: str) -> None:
    found = lines(flown(FLIGHTS[aircraft]), CLOSES)
    assert found.steps - found.supported > 50
    assert [line for line in found.findings if not line.ok] == []
    terms = {line.name: line.of for line in found.findings}
    assert terms["energy"]
    assert "robot" in aircraft or terms["force"] > 9.0  # something acts


LONGER = {
    "fixed wing at 10 ms: 1e-5 of the moment": (
        Flown("fixedwing-loiter", 1.0, {"world.wind": {}}, (0.05, 0.0, 0.0, 0.0)),
        ("moment", 0.01, 1e-5),
    ),
    "tilt-rotor with turning rotors at 4 ms: 3e-6 of the force": (
        FLIGHTS["tilt-rotor with turning rotors, 2 ms"],
        ("force", 0.004, 3e-6),
    ),
    "robot at 1 ms: 1e-5 of the power": (FLIGHTS["robot of bodies, 0.5 ms"], ("energy", 0.001, 1e-5)),
}


@pytest.mark.parametrize("what", LONGER)
def test_what_is_left_at_the_usual_steps_is_the_integrators_error(what: str) -> None:
    """Runge-Kutta of fourth order: half the step leaves a sixteenth. A mistake stays."""
    flight, (line, usual_s, most) = LONGER[what]

    def left(step_s: float) -> float:
        log = flown(flight._replace(settings={**flight.settings, "world.step_s": step_s}))
        return next(found.relative or math.nan for found in lines(log, None).findings if found.name == line)

    at_usual = left(usual_s)
    assert at_usual < most
    assert at_usual / left(0.5 * usual_s) == pytest.approx(16.0, rel=0.45)


@pytest.mark.parametrize("model", ["bodies", "reduced"])
def test_the_robot_with_all_disturbances_and_noise_closes_to_1e_4_at_1_ms(model: str) -> None:
    """Its torque commands jump at every step, a half of the motors' lag: 5e-5 of the power is the integrator's."""
    changes = ("log.balance=true", "duration_s=0.5", "disturbance.start_s=0.1", "checks=[]", f'world.model="{model}"')
    (log,) = fly_inline(named("rrr-all").changed(changes).plan).logs  # type: ignore[arg-type]
    (line,) = lines(log, 1e-4).findings
    assert line.ok and line.relative is not None and line.relative > 1e-6


def test_steps_that_messages_cut_are_rows_of_their_own() -> None:
    log = flown(FLIGHTS["multirotor from the ground"], cut_s=0.0073)
    step_s = log.column("balance", "step_s")
    assert len(set(np.round(step_s, 6))) > 10
    assert np.sum(step_s) == pytest.approx(1.5)
    assert failing(log) == set()


def test_a_change_of_mass_begins_anew() -> None:
    log = flown(FLIGHTS["multirotor from the ground"], during=lambda v: v.change("payload.mass_kg", (0.2,)))
    mass_kg, step_s = log.column("balance", "mass_kg"), log.column("balance", "step_s")
    assert mass_kg[-1] - mass_kg[0] == pytest.approx(0.2)
    assert np.sum(step_s == 0.0) == 2
    assert failing(log) == set()


def test_a_restart_begins_anew_on_the_ground() -> None:
    log = flown(FLIGHTS["multirotor from the ground"], during=Vehicle.restart)
    step_s, supported = log.column("balance", "step_s"), log.column("balance", "supported")
    (again,) = np.flatnonzero(step_s == 0.0)[1:]
    assert not supported[again - 1] and supported[again + 1]
    assert failing(log) == set()


def test_a_catapult_holds_the_wing_until_it_is_released() -> None:
    log = flown(Flown("fixedwing-px4", 2.0, {}, (0.0, 0.2, 0.0, 0.9)))
    supported = log.column("balance", "supported") != 0.0
    released = int(np.argmin(supported[1:])) + 1
    assert np.all(supported[1:released]) and not np.any(supported[released:])
    assert log.column("balance", "vx_m_s")[released] ** 2 + log.column("balance", "vy_m_s")[released] ** 2 > 100.0
    assert failing(log) == set()


def test_an_object_that_is_hit_begins_anew() -> None:
    """The impulse of a collision comes between two steps."""
    ball = {"name": "ball", "kind": "sphere", "at_m": [0.5, 0.0, 0.8], "size_m": [0.8, 0.8, 0.8]}
    log = flown(Flown("quad-wind", 1.5, {"world.objects": [ball]}, LIFTED))
    assert np.sum(log.column("balance", "step_s") == 0.0) > 1
    assert failing(log) == set()


def test_without_the_key_the_log_is_the_same_but_for_the_stream() -> None:
    flight = FLIGHTS["multirotor from the ground"]
    log, plain = flown(flight), flown(flight._replace(settings={"log.balance": False}))
    assert "balance" not in plain.rows
    others = tuple(stream for stream in log.streams if stream.name != "balance")
    assert log_sha256(replace(log, streams=others)) == log_sha256(plain)


def changed(log: Log, change: Callable[[np.ndarray], np.ndarray], *columns: str) -> Log:
    rows = log.rows["balance"].copy()
    for column in columns:
        index = log.columns["balance"].index(column)
        rows[:, index] = change(rows[:, index])
    return replace(log, rows={**log.rows, "balance": rows})


@pytest.fixture(scope="module")
def wing() -> Log:
    return flown(FLIGHTS["fixed wing in turbulence, 5 ms"])


def test_defects_of_a_log_are_found(wing: Log) -> None:
    assert failing(wing) == set()
    assert failing(changed(wing, lambda g: g * (1.0 + 1e-4), "gravity_z_m_s2")) >= {"force", "energy"}
    assert failing(changed(wing, lambda m: m * 1.001, "mass_kg")) >= {"force"}
    assert failing(changed(wing, lambda v: v + 0.001, "wind_x_m_s")) == {"wind"}
    assert failing(changed(wing, lambda q: -q, "rate_x_rad_s")) >= {"attitude"}
    assert failing(changed(wing, lambda f: np.roll(f, 1), "force_middle_z_N")) >= {"force"}  # of the row before
    turned = changed(wing, lambda t: t + 7.3e-5, "turn_z_rad_s")
    assert "force" in failing(turned)  # the Coriolis acceleration, 2e-3 m/s2
    halved = changed(wing, lambda q: q * 0.999, "qw")
    assert {"quaternion", "truth"} <= failing(halved)


def test_a_force_model_that_lacks_a_hundredth_of_the_drag_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def less_drag(airframe: Any, *rest: Any) -> WingForces:
        drag = with_values(airframe.drag, zero=0.99 * airframe.drag.zero, alpha=0.99 * airframe.drag.alpha)
        return WingForces(with_values(airframe, drag=drag), *rest)

    monkeypatch.setattr(wing_build, "WingForces", less_drag)
    assert failing(flown(FLIGHTS["fixed wing in turbulence, 5 ms"])) >= {"force", "energy"}

    def less_brake(airframe: Any, *rest: Any) -> RotorForces:
        drag = 0.99 * airframe.rotors.drag_Ns2_m
        return RotorForces(with_values(airframe, rotors=with_values(airframe.rotors, drag_Ns2_m=drag)), *rest)

    monkeypatch.setattr(multirotor_build, "RotorForces", less_brake)
    assert failing(flown(FLIGHTS["multirotor from the ground"])) >= {"force", "moment", "energy"}


def test_a_flight_that_never_takes_off_has_nothing_to_check(tmp_path: Path) -> None:
    log = flown(Flown("quad-wind", 0.2, {}))
    with pytest.raises(ConfigError, match="nothing to check: ground, stand or catapult held the aircraft in all 50"):
        check_log(log, tmp_path)


def test_a_fleet_has_each_part_by_its_name(tmp_path: Path) -> None:
    log = flown(Flown("check-case-9", 0.2, {}))
    parts = {f"{name}/{stream}": rows for name in ("a", "b") for stream, rows in log.rows.items()}
    streams = tuple(with_values(s, name=f"{name}/{s.name}") for name in ("a", "b") for s in log.streams)
    columns = {f"{name}/{stream}": names for name in ("a", "b") for stream, names in log.columns.items()}
    found = check_log(replace(log, rows=parts, streams=streams, columns=columns), tmp_path)
    assert {name: each.ok for name, (each,) in found.items()} == {"a": True, "b": True}


def test_a_family_without_it_is_refused_in_one_sentence() -> None:
    with pytest.raises(ConfigError, match=r"log\.balance: .* logs no balance; expected an aircraft whose family's row"):
        _ = named("examples/aircraft/sled.toml").changed(("log.balance=true",)).plan
