"""Faults that a scenario plans: the same flight twice, the same rows as by hand, and refused where nothing can fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from flown_faults import EXAMPLES, SLED, by_hand, opened, sha
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.actuators.motors import Motors, command_at, weakened
from aeroloop.analysis import generic
from aeroloop.controllers.law.request_tables import injected
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.faults import ACTUATOR_TARGETS, ROBOT_TARGETS, PlannedFault, Switch
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.signals import NS
from aeroloop.core.streams import streams_of
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.build import vehicle
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log
from aeroloop.sim.loop import Craft

PARTS = (*ACTUATOR_TARGETS, *ROBOT_TARGETS, "encoder")
"""Targets of which every fault is flown here; sensors and links have their own tests."""


class Aircraft(NamedTuple):
    scenario: str
    begin_s: float  # of the first fault: where one can be seen
    each_s: float  # how long a fault lasts, a whole number of rounds
    actuators: str  # the last one of each target


AIRCRAFT = (
    Aircraft("tiltrotor-spiral", 0.24, 0.036, "rotor_left tilt_left"),
    Aircraft("quad-hover", 8.0, 0.1, "rotor4"),
    Aircraft("fixedwing-loiter", 0.5, 0.1, "throttle rudder"),
    Aircraft("quad-law-hover", 3.5, 0.1, "rotor4"),
    Aircraft(SLED, 0.5, 0.1, "propeller"),
    Aircraft("rrr-circle", 0.1, 0.02, "motor3 joint3 angle"),
    Aircraft(str(EXAMPLES / "octo-hover.toml"), 8.0, 0.1, "rotor8"),
    Aircraft(str(EXAMPLES / "rocket-hop.toml"), 3.0, 0.1, "motor gimbal_y"),
)


def one_after_the_other(scenario: Scenario, aircraft: Aircraft) -> tuple[PlannedFault, ...]:
    """Every fault of an actuator, joint, platform or encoder that it has, each with its last channel."""
    last = {(offer.target, offer.kind): offer for offer in offers(scenario) if offer.target in PARTS}
    planned = []
    for number, ((target, kind), offer) in enumerate(last.items()):
        from_s = aircraft.begin_s + number * aircraft.each_s
        table: dict[str, Any] = {"target": target, "kind": kind, "from_s": from_s, "to_s": from_s + aircraft.each_s}
        planned.append(PlannedFault(**table, channel="".join(offer.channels), value=offer.value))
    return tuple(planned)


def test_faults_of_sensors_that_vary_act_as_planned_and_as_by_hand() -> None:
    kinds = (
        ("gnss", "ramp", ""),
        ("gnss", "jump", "velocity"),
        ("imu", "vibration", "accel"),
        ("imu", "clipped", "gyro"),
    )
    plain = opened("quad-hover", 7.0)
    offered = {(offer.target, offer.kind, *offer.channels): offer.value for offer in offers(plain)}
    faults = tuple(
        PlannedFault(
            target=target,  # type: ignore[arg-type]
            kind=kind,  # type: ignore[arg-type]
            channel=channel,
            value=offered[target, kind, channel or "position"],
            from_s=6.0 + 0.2 * number,
            to_s=6.2 + 0.2 * number,
        )
        for number, (target, kind, channel) in enumerate(kinds)
    )
    planned, hand = fly_inline(with_value(plain, "faults", faults)), fly_inline(plain, attend=by_hand(faults))
    assert sha(planned) == sha(hand) != sha(fly_inline(plain))
    assert len(planned.logs[0].rows["fault"]) == 8
    said = [event["value"] for event in generic.faults(planned.logs[0], plain)]
    assert said[0] == "GNSS: ramp of the position 0.5 m/s on"
    assert "IMU: vibration of the specific force 10 m/s2, 80 Hz, 0 rad on" in said


@pytest.mark.parametrize("aircraft", AIRCRAFT, ids=lambda aircraft: Path(aircraft.scenario).stem)
def test_every_actuator_fails_as_planned_again_and_again_and_as_by_hand(aircraft: Aircraft) -> None:
    plain = opened(aircraft.scenario, 1.0)
    faults = one_after_the_other(plain, aircraft)
    end_s = aircraft.begin_s + len(faults) * aircraft.each_s
    plain = opened(aircraft.scenario, end_s + aircraft.each_s)
    planned = with_value(plain, "faults", faults)
    first, again, hand = fly_inline(planned), fly_inline(planned), fly_inline(plain, attend=by_hand(faults))
    assert sha(first) == sha(again) == sha(hand)
    rows = first.logs[0].rows["fault"]
    assert np.array_equal(rows, hand.logs[0].rows["fault"])
    assert rows[:, 0] == pytest.approx(sorted([f.from_s for f in faults] + [f.to_s or 0.0 for f in faults]))
    said = [event["value"] for event in generic.faults(first.logs[0], planned)]
    for fault in faults:
        name = "encoders" if fault.target == "encoder" else fault.channel or fault.target
        for end in (" on", " off"):
            assert any(words.startswith(f"{name}: {fault.kind}") and words.endswith(end) for words in said)
    assert {fault.channel for fault in faults} - {""} == set(aircraft.actuators.split())


def speeds(log: Log, from_s: float, to_s: float, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    t_s = log.column("effort", "t_s")
    return log.column("effort", column)[(t_s > from_s + 1e-6) & (t_s < to_s + 1e-6)]


def test_what_a_multirotor_does_with_rotors_that_fail() -> None:
    """In the compiled step, by their speeds."""
    table: list[dict[str, Any]] = [
        {"target": "rotor", "kind": "dead", "channel": "rotor1", "from_s": 8.0},
        {"target": "rotor", "kind": "stuck", "channel": "rotor2", "from_s": 8.0},
        {"target": "rotor", "kind": "weak", "channel": "rotor3", "from_s": 8.0, "value": 0.25},
        {"target": "battery", "kind": "sag", "from_s": 7.5, "to_s": 7.6, "value": 0.5},
    ]
    log = fly_inline(with_value(opened("quad-hover", 8.1), "faults", tuple(PlannedFault(**row) for row in table))).logs[
        0
    ]
    dead, stuck, weak, whole = (speeds(log, 8.0, 8.1, f"speed_{number}_rad_s") for number in range(1, 5))
    assert dead[-1] < 20.0 and np.all(np.diff(dead) < 0), "it spins down"
    assert np.ptp(stuck) < 1e-6 and stuck[0] == pytest.approx(speeds(log, 7.9, 8.0, "speed_2_rad_s")[-1], rel=1e-3)
    assert weak.min() < 0.7 * speeds(log, 7.9, 8.0, "speed_3_rad_s")[-1], "half the speed, until more is asked for"
    assert whole.min() > 100.0
    for number in range(1, 5):
        before, sagging = (speeds(log, *span, f"speed_{number}_rad_s") for span in ((7.4, 7.5), (7.5, 7.6)))
        assert sagging.min() < 0.75 * before[-1]


@pytest.mark.parametrize("fault", ["dead", "stuck", "weak"])
def test_a_rotor_fails_in_the_compiled_step_as_it_does_with_motors_and_mujoco(fault: str) -> None:
    """Straight up at full command, and 0.1 s with a rotor that fails on the way down from it."""
    hover: Any = opened("quad-hover", 1.0)
    publish = {stream.name: lambda *row: None for stream in streams_of(hover)}
    ends = []
    for compiled in (True, False):
        flown = vehicle(hover, 0, publish, compiled=compiled)
        flown.command = (1.0,) * 4
        flown.advance(NS, exact=False)
        flown.command = (0.5,) * 4
        flown.advance(NS + NS // 50, exact=False)  # its rotors are spinning down
        flown.switch(Switch(target="rotor", kind=fault, on=True, channel="rotor3", value=0.5))  # type: ignore[arg-type]
        flown.advance(NS + NS // 10, exact=False)
        assert flown.state.pos_W[2] > 3.0
        ends.append(flown.state)
    assert math.hypot(*ends[0].rate_B) > 0.5, "it turns"
    for one, other in zip(ends[0][1:], ends[1][1:], strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@given(st.floats(0.1, 1.0), st.floats(0.05, 1.0))
def test_a_weak_rotor_settles_at_its_fraction_of_the_thrust(command: float, fraction: float) -> None:
    motor = airframe.load("iris").motors
    whole, weak = Motors(motor, 1), Motors(motor, 1)
    for motors, asked in ((whole, command), (weak, weakened(motor, command, fraction))):
        motors.step((asked,), NS)
    thrust = (weak.speed_rad_s[0] / whole.speed_rad_s[0]) ** 2
    assert thrust == pytest.approx(max(fraction, (motor.speed_idle_rad_s / whole.speed_rad_s[0]) ** 2), rel=1e-6)
    assert command_at(motor, whole.speed_rad_s[0]) == pytest.approx(command, rel=1e-6)


def test_what_a_fixed_wing_does_with_a_servo_that_fails() -> None:
    plain = opened("fixedwing-loiter", 2.0)
    table: list[dict[str, Any]] = [
        {"target": "servo", "kind": "stuck", "channel": "aileron", "from_s": 0.5, "to_s": 1.5},
        {"target": "servo", "kind": "offset", "channel": "rudder", "from_s": 0.5, "to_s": 1.5, "value": 0.1},
        {"target": "rotor", "kind": "dead", "from_s": 0.5, "to_s": 1.5},
    ]
    flight = fly_inline(with_value(plain, "faults", tuple(PlannedFault(**row) for row in table)))
    log = flight.logs[0]
    assert np.ptp(speeds(log, 0.55, 1.5, "aileron_rad")) < 1e-9
    assert np.ptp(speeds(log, 1.5, 2.0, "aileron_rad")) > 1e-4
    command = log.rows["command"]
    asked = command[(command[:, 0] > 0.9) & (command[:, 0] < 1.4), 4].mean()
    assert speeds(log, 0.9, 1.4, "rudder_rad").mean() - asked == pytest.approx(0.1, abs=0.01)
    assert speeds(log, 1.4, 1.5, "throttle").max() < 0.01


def test_a_planned_fault_is_switched_before_the_first_step_that_begins_at_its_time_or_after() -> None:
    sled = opened(SLED, 1.0, 'faults=[{target="rotor",kind="dead",from_s=0.3001,to_s=0.4}]')
    log = fly_inline(sled).logs[0]
    assert log.rows["fault"][:, 0].tolist() == [0.305, 0.4], "its steps are of 5 ms"
    push_N, t_s = log.column("effort", "push_N"), log.column("effort", "t_s")
    idle_s = t_s[(push_N == 0.0) & (t_s > 0.0)]
    assert (idle_s[0], idle_s[-1]) == pytest.approx((0.31, 0.4)), "rows are of the step that ends then"


def test_older_places_become_planned_faults() -> None:
    older = opened(
        "quad-hover",
        2.0,
        'sensors.faults=[{sensor="barometer",kind="bias",start_s=0.5,end_s=1.0,value=50.0}]',
        "sensors.gnss.lost_s=[[1.0,1.5]]",
        "sensors.gnss.start_s=0.0",
    )
    planned = (
        '{target="barometer",kind="bias",from_s=0.5,to_s=1.0,value=50.0}',
        '{target="gnss",kind="no_fix",from_s=1.0,to_s=1.5}',
    )
    newer = opened("quad-hover", 2.0, f"faults=[{','.join(planned)}]", "sensors.gnss.start_s=0.0")
    flights = [fly_inline(scenario) for scenario in (older, newer)]
    assert sha(flights[0]) == sha(flights[1])
    log = flights[0].logs[0]
    assert [event["value"] for event in generic.faults(log, older)] == [
        "barometer: bias of the pressure 50 Pa on",
        "barometer: bias of the pressure off",
        "GNSS: no_fix on",
        "GNSS: no_fix off",
    ]
    fix, measured_s = log.column("gnss", "fix"), log.column("gnss", "measured_s")
    assert np.array_equal(fix == 0.0, (measured_s > 1.0) & (measured_s <= 1.5))


def test_a_planned_fault_of_the_link_is_the_same_as_by_hand() -> None:
    fault = PlannedFault(target="to_board", kind="delay_s", from_s=0.24, to_s=0.48, value=0.006)
    plain = opened("tiltrotor-spiral", 0.8)
    planned, hand = fly_inline(with_value(plain, "faults", (fault,))), fly_inline(plain, attend=by_hand([fault]))
    assert sha(planned) == sha(hand) != sha(fly_inline(plain))


def test_a_fleet_plans_faults_for_each_of_its_parts(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    entries = "".join(f'[[aircraft]]\nname = "{name}"\nscenario = "{SLED}"\n' for name in ("one", "two"))
    dead = '[[faults]]\naircraft = "two"\ntarget = "rotor"\nkind = "dead"\nfrom_s = 0.5\n'
    file.write_text(f'name = "two"\nduration_s = 1.0\n{entries}{dead}')
    flight = fly_inline(load_plan(file))
    assert [len(log.rows["fault"]) for log in flight.logs] == [0, 1]
    file.write_text(f'name = "two"\nduration_s = 1.0\n{entries}{dead}channel = "wheel"\n')
    with pytest.raises(ConfigError, match=r"aircraft\[1\]\.faults\[0\]\.channel: rotor has no 'wheel'; .*: propeller$"):
        load_plan(file)


def test_the_second_of_several_aircraft_fails_alone() -> None:
    stuck = 'faults=[{target="servo",kind="stuck",from_s=0.1,vehicle=1}]'
    flight = fly_inline(opened("tiltrotor-spiral", 0.2, "vehicle.count=2", stuck))
    assert [len(log.rows["fault"]) for log in flight.logs] == [0, 1]


def test_faults_of_the_emulated_board_join_those_of_its_own_table() -> None:
    scenario: Any = opened("tiltrotor-watchdog", 9.0, "loop=pil", 'faults=[{target="board",kind="reset",from_s=2.0}]')
    assert [(fault.at_s, fault.kind) for fault in injected(scenario)] == [(8.0, "hang"), (2.0, "reset")]


REFUSED = [
    (
        "quad-hover",
        'target="rotor",kind="dead",channel="rotor9",from_s=1.0',
        r"quad-hover\.toml.*: faults\[0\]\.channel: rotor has no 'rotor9'; expected one of: rotor1, .*rotor4$",
    ),
    (
        "quad-hover",
        'target="servo",kind="stuck",from_s=1.0',
        r"faults\[0\]\.target: no fault of servo .*rotor, battery, board$",
    ),
    ("quad-hover", 'target="rotor",kind="slow",from_s=1.0', "rotor: cannot have slow, expected one of: dead, stuck"),
    ("quad-hover", 'target="rotor",kind="weak",value=1.5,from_s=1.0', "rotor: weak: expected 0 to 1, not 1.5"),
    ("quad-hover", 'target="rotor",kind="weak",value=0.5,from_s=-1.0', "from_s: expected .*>= 0"),
    ("quad-hover", 'target="rotor",kind="dead",from_s=1.0,to_s=0.5', "to_s: expected more than from_s"),
    ("quad-hover", 'target="rotor",kind="dead",from_s=1.0,vehicle=1', r"faults\[0\]\.vehicle: there are 1 aircraft"),
    ("quad-hover", 'target="motor",kind="dead",from_s=1.0', r"faults\[.*target: invalid.*expected one of: .*rotor"),
    ("quad-px4", 'target="board",kind="reset",from_s=1.0', r"faults\[0\]\.kind: the board of this flight .* none$"),
    ("quad-pose", 'target="board",kind="hang",from_s=1.0', r"\(mil, lockstep\) cannot hang; .* none$"),
    (
        "tiltrotor-spiral",
        'target="board",kind="hang",from_s=1.0,to_s=2.0',
        "to_s: a board's hang has no end; leave it out",
    ),
    ("tiltrotor-spiral", 'target="board",kind="slow",from_s=1.0', "board: slow: expected a value other than zero"),
    (
        "tiltrotor-spiral",
        'target="imu",kind="silent",from_s=1.0',
        r"no fault of imu .* one of: state, .*battery, board$",
    ),
    ("fixedwing-loiter", 'target="servo",kind="stuck",channel="flap",from_s=1.0', "one of: aileron, elevator, rudder$"),
    ("fixedwing-loiter", 'target="rotor",kind="load",value=1.0,from_s=1.0', r"faults\[0\]\.kind: rotor cannot .*weak$"),
    (
        "rrr-circle",
        'target="joint",kind="load",channel="joint4",value=1.0,from_s=1.0',
        "one of: joint1, joint2, joint3$",
    ),
    ("rrr-circle", 'target="joint",kind="load",value=[1.0,2.0,3.0],from_s=1.0', "joint: load: expected one number"),
    ("rrr-circle", 'target="joint",kind="load",value=0.0,from_s=1.0', "joint: load: expected a value other than zero"),
    (
        "rrr-circle",
        'target="joint",kind="load_sine",value=[1.0,80.0,0.0],from_s=1.0',
        "frequency .* 0.01 to 50, not 80",
    ),
    (
        "rrr-circle",
        'target="joint",kind="load_sine",value=[0.0,3.0,0.0],from_s=1.0',
        "expected a value other than zero",
    ),
    ("rrr-circle", 'target="joint",kind="friction",value=-1.0,from_s=1.0', "friction: expected 0 to 100, not -1"),
    ("rrr-circle", 'target="joint",kind="friction",channel="joint1",value=1.0,from_s=1.0', "so it has no channel"),
    ("rrr-circle", 'target="platform",kind="payload",value=-1.0,from_s=1.0', r"a mass \(kg\) from 0 to 100, not -1"),
    ("rrr-circle", 'target="platform",kind="payload",value=nan,from_s=1.0', "payload: expected a finite value"),
    ("rrr-circle", 'target="encoder",kind="silent",from_s=1.0', "encoder: cannot have silent, .*: frozen, bias, noise"),
    (
        "rrr-circle",
        'target="imu",kind="silent",from_s=1.0',
        "no fault of imu .* rotor, joint, platform, encoder, board$",
    ),
    (
        "quad-sync",
        'target="platform",kind="payload",value=1.0,from_s=1.0',
        "no fault of platform .* rotor, battery, board$",
    ),
    ("quad-sync", 'target="rotor",kind="load_sine",value=20000.0,from_s=1.0', "an amplitude from -10000 to 10000"),
    (
        SLED,
        'target="servo",kind="stuck",from_s=1.0',
        r"sled\.toml.*faults\[0\]\.target: .*one of: rotor, battery, board$",
    ),
]


@pytest.mark.parametrize(("scenario", "fault", "words"), REFUSED)
def test_what_cannot_fail_is_refused_before_take_off(scenario: str, fault: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        opened(scenario, 1.0, f"faults=[{{{fault}}}]")


def test_two_faults_of_the_same_at_one_time_are_refused() -> None:
    dead = 'target="rotor",kind="dead",channel="rotor1"'
    with pytest.raises(ConfigError, match=r"faults\[1\]: rotor: dead at 1 s is on already by faults\[0\]"):
        opened("quad-hover", 1.0, f"faults=[{{{dead},from_s=0.5}},{{{dead},from_s=1.0}}]")
    opened("quad-hover", 1.0, f"faults=[{{{dead},from_s=0.5,to_s=1.0}},{{{dead},from_s=1.0}}]")


def test_by_hand_an_actuator_that_is_not_there_is_not_switched_and_said() -> None:
    said: list[str] = []

    def attend(fleet: Sequence[Craft]) -> None:
        if fleet[0].vehicle.t_ns == NS // 10:
            for order in (
                {"target": "rotor", "kind": "dead", "channel": "rotor9"},
                {"target": "servo", "kind": "stuck"},
            ):
                with pytest.raises(ConfigError) as refused:
                    fleet[0].switch(Switch(on=True, **order))  # type: ignore[arg-type]
                said.append(str(refused.value))

    flight = fly_inline(opened("quad-hover", 0.2), attend=attend)
    assert said == [
        "rotor: unknown channel 'rotor9', expected one of: rotor1, rotor2, rotor3, rotor4",
        "servo: this aircraft has none; expected one of: rotor, battery",
    ]
    assert not len(flight.logs[0].rows["fault"])
