"""Motors that differ and the law of the rotor speeds: the drive alone, and in short flights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.actuators.motors import Motor, Motors
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_gains import ROTOR
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import check_planned, offers
from aeroloop.core.faults import Switch
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.analysis.flight import Flight
from aeroloop.families.multirotor.analysis.metrics import metrics
from aeroloop.families.multirotor.analysis.report import sections
from aeroloop.families.multirotor.analysis.rotor_pictures import signals
from aeroloop.families.multirotor.rotor_drive import Differing, RotorDrive, SpeedLaw, Wiring, free_motor
from aeroloop.families.multirotor.rotor_tables import Load, MotorsTable, Spread
from aeroloop.flight.inline import fly_inline
from aeroloop.sensors.tachometer import TachometerSample

MOTOR = Motor(speed_max_rad_s=1100.0, speed_idle_rad_s=100.0, lag_up_s=0.0125, lag_down_s=0.025)
STEP_NS = 2_000_000
SPREAD = Spread(gain=(0.96, 1.03, 0.98, 1.05), lag=(1.1, 0.9, 1.15, 0.95))
HALF = (0.5,) * 4


class OnlyMotors:
    """A motion that is its motors alone."""

    def __init__(self) -> None:
        self._motors = Motors(free_motor(MOTOR), 4)
        self.state = lambda t_ns: None

    @property
    def speed_rad_s(self) -> tuple[float, ...]:
        return self._motors.speed_rad_s

    def drive(self, command: Sequence[float], dt_ns: int) -> Any:
        return self._motors.step(command, dt_ns)


class Rig:
    """A drive of motors, whose tachometer is exact unless a test says otherwise."""

    def __init__(self, table: MotorsTable | None = None, *, law: bool = False) -> None:
        self.motion: Any = OnlyMotors()
        self.rows: dict[str, list[tuple[float, ...]]] = {"rotor_law": [], "rotor_weights": [], "event": []}
        publish = {name: lambda *row, name=name: self.rows[name].append(row) for name in self.rows}
        differing = Differing.of(MOTOR, table or MotorsTable(), 4)
        axes = Axes(count=4, order=1, period_s=0.002, low=0.0, high=1100.0, lag_s=0.018)
        speed_law = SpeedLaw(axes, ROTOR, "mean", Evaluator) if law else None
        self.drive = RotorDrive(
            self.motion, self.motion.drive, Wiring(differing, speed_law, ActuatorFaults(()), STEP_NS), publish
        )
        self.t_ns = 0

    def fly(self, command: Sequence[float], steps: int, measured: Sequence[float] | None = None) -> list[float]:
        for _ in range(steps):
            self.drive.drive(tuple(command), STEP_NS)
            self.t_ns += STEP_NS
            speeds = tuple(self.motion.speed_rad_s if measured is None else measured)
            self.drive.take([TachometerSample(self.t_ns, self.t_ns, speeds)])
        return list(self.motion.speed_rad_s)

    def asked(self) -> tuple[float, ...]:
        return self.rows["rotor_law"][-1][9:13]


def test_equal_motors_without_a_law_turn_as_the_airframes_do() -> None:
    rig, plain = Rig(), Motors(MOTOR, 4)
    for command in ((0.4, 0.5, 0.6, 0.7), (0.2, 0.9, 0.1, 0.3), (0.0,) * 4):
        for _ in range(10):
            plain.step(command, STEP_NS)
        assert rig.fly(command, 10) == pytest.approx(plain.speed_rad_s, rel=1e-12, abs=1e-9)


def test_a_motor_has_its_own_gain_and_lag() -> None:
    rig = Rig(MotorsTable(spread=SPREAD))
    ways = [1.0 - math.exp(-0.01 / (0.0125 * factor)) for factor in SPREAD.lag]
    expected = [600.0 * gain * way for gain, way in zip(SPREAD.gain, ways, strict=True)]
    assert rig.fly(HALF, 5) == pytest.approx(expected, rel=1e-9)
    assert rig.fly(HALF, 500) == pytest.approx([600.0 * gain for gain in SPREAD.gain], rel=1e-9)


def test_a_load_decelerates_a_motor() -> None:
    constant = Load(rotor=1, deceleration_rad_s2=4000.0, from_s=1.0)
    wave = Load(rotor=4, deceleration_rad_s2=3000.0, frequency_hz=2.0, from_s=1.0)
    rig = Rig(MotorsTable(loads=(constant, wave)))
    assert rig.fly(HALF, 500) == pytest.approx([600.0] * 4, rel=1e-6)
    first = rig.fly(HALF, 1)
    assert (600.0 - first[0]) / 0.002 == pytest.approx(4000.0, rel=0.1)
    later = rig.fly(HALF, 61)  # a quarter of the wave, and many lags of the constant load
    assert later[0] == pytest.approx(600.0 - 4000.0 * 0.0125, rel=1e-3)
    assert later[3] == pytest.approx(600.0 - 3000.0 * 0.0125, rel=5e-3) and later[1] == pytest.approx(600.0)


def test_the_law_makes_unequal_motors_follow_their_setpoints() -> None:
    without, rig = Rig(MotorsTable(spread=SPREAD)), Rig(MotorsTable(spread=SPREAD), law=True)
    assert max(abs(speed - 600.0) for speed in without.fly(HALF, 1000)) > 20.0
    assert rig.fly(HALF, 1500) == pytest.approx([600.0] * 4, abs=0.5)
    sync = rig.rows["rotor_law"][-1][25:29]
    assert max(map(abs, sync)) < 0.5 and sum(sync) == pytest.approx(0.0, abs=1e-9)
    assert len(rig.rows["rotor_law"]) == 1500 and len(rig.rows["rotor_weights"]) == 300


def test_stopped_rotors_forget_what_the_law_learnt() -> None:
    used, fresh = Rig(law=True), Rig(law=True)
    used.fly((0.3, 0.6, 0.5, 0.5), 50)
    used.fly((0.0,) * 4, 2000)
    assert used.asked() == (0.0,) * 4
    used.fly(HALF, 5)
    fresh.fly(HALF, 5)
    assert used.asked() == pytest.approx(fresh.asked(), rel=1e-6)


def test_a_measured_nan_holds_the_last_command() -> None:
    rig = Rig(MotorsTable(spread=SPREAD), law=True)
    rig.fly(HALF, 200)
    before = rig.asked()
    rig.fly(HALF, 1, measured=(600.0, math.nan, 600.0, 600.0))  # this sample arrives after the step
    rig.fly((0.6,) * 4, 1)
    assert rig.asked() != pytest.approx((700.0,) * 4) and rig.asked() == pytest.approx(before, rel=1e-2)
    held = rig.asked()
    assert all(map(math.isfinite, held))
    assert rig.rows["event"] == [(rig.t_ns / 1e9 - 0.002, Event.IMPLAUSIBLE_SENSORS, 1)]
    assert all(math.isfinite(value) for row in rig.rows["rotor_law"] for value in row[1:5])


def test_limits_do_not_hide_that_the_law_has_gone_wrong() -> None:
    """Finite speeds whose sums overflow: NaN inside, which the limits of the speeds would turn into numbers."""
    rig = Rig(MotorsTable(spread=SPREAD), law=True)
    rig.fly(HALF, 200)
    rig.fly(HALF, 1, measured=(1e308, 1e308, -1e308, 1e308))
    before = rig.asked()
    rig.fly((0.6,) * 4, 1)
    assert rig.asked() == before and all(map(math.isfinite, rig.motion.speed_rad_s))
    assert rig.rows["event"] == [(rig.t_ns / 1e9 - 0.002, Event.LAW_NOT_FINITE, 0)]
    rig.fly(HALF, 1000)
    assert list(rig.motion.speed_rad_s) == pytest.approx([600.0] * 4, abs=1.0)
    assert len(rig.rows["event"]) == 1


def test_without_a_tachometer_the_setpoint_is_asked() -> None:
    rig = Rig(MotorsTable(spread=SPREAD), law=True)
    rig.fly(HALF, 200)
    assert rig.asked() != pytest.approx((600.0,) * 4)
    for _ in range(20):
        rig.drive.drive(HALF, STEP_NS)
    assert rig.asked() == pytest.approx((600.0,) * 4)


# --- Scenarios


def scenario(*overrides: str) -> Any:
    return load(find("quad-sync"), overrides)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("motors.spread.gain=[1.0, 1.0]",), r"motors\.spread\.gain: expected 4 numbers, one for each rotor, not 2"),
        (("motors.loads=[{rotor=5, deceleration_rad_s2=1.0}]",), r"motors\.loads\[0\]\.rotor: expected 1 to 4, not 5"),
        (("sensors.tachometer.rate_hz=100.0",), r"sensors\.tachometer\.rate_hz: expected at least the rate of the law"),
        (('sensors.fitted=["imu","magnetometer","barometer","gnss"]',), "needs rotor speeds"),
        (("world.step_s=0.004",), r"world\.step_s: the law of the rotors runs every 0\.002 s"),
        (("synchronisation.gs=240.0",), r"the loop with frozen weights is unstable: .* at lag 11\.\d ms, gain 1\.05"),
        (("synchronisation.eta=5000.0",), r"synchronisation\.eta: learning is stable below"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_flight(overrides: tuple[str, ...], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected) as refused:
        airframe.check(scenario(*overrides))
    assert "\n" not in str(refused.value)


def test_faults_of_motors_and_tachometer_are_offered() -> None:
    offered = {(offer.target, offer.kind) for offer in offers(scenario())}
    assert {("rotor", "effectiveness"), ("rotor", "load"), ("tachometer", "silent"), ("tachometer", "bias")} <= offered
    plan = 'faults=[{target="rotor", kind="load", channel="rotor2", from_s=1.0, value=4000.0}]'
    check_planned(load(find("quad-hover"), (plan,)))


def test_other_aircraft_have_no_tachometer_and_no_motor_faults() -> None:
    with pytest.raises(ConfigError, match="this aircraft cannot have a tachometer"):
        load(find("fixedwing-loiter"), ('sensors.fitted=["imu","tachometer"]',))
    kinds = {offer.kind for offer in offers(load(find("tiltrotor-spiral"), ()))}
    assert "weak" in kinds and not kinds & {"effectiveness", "load"}


WEAK = 'faults=[{target="rotor", kind="effectiveness", channel="rotor1", from_s=6.5, value=0.8}]'
HOVER = (
    'ground.trajectory={kind="hover", pos_W=[0.0, 0.0, 1.0]}',
    *("ground.takeoff_s=1.5", "duration_s=7.5", "checks=[]", "synchronisation.evaluate_from_s=6.0"),
)


@cache
def flown(law: str) -> tuple[Any, Any]:
    plan = load(find("quad-sync"), (*HOVER, WEAK, f"synchronisation.law={law}"))
    return fly_inline(plan).logs[0], plan


def test_a_weak_motor_kicks_the_attitude_less_with_the_law() -> None:
    """Acceptance of the table: six times less attitude, five times less difference between the rotors."""
    (log, plan), (pid_log, pid_plan) = flown("smc-sync-pidnn"), flown("pid")
    full, pid = metrics(log, plan), metrics(pid_log, pid_plan)
    assert pid["rotor_kick_deg"] > 6.0 * full["rotor_kick_deg"] > 0.0
    assert pid["rotor_sync_rms_rad_s"] > 5.0 * full["rotor_sync_rms_rad_s"]
    assert full["rotor_rms_rad_s"] < pid["rotor_rms_rad_s"]
    assert full["rotor_chatter_pct"] < 0.2 and 60.0 < full["rotor_effort_pct"] < 90.0
    weights = log.column("rotor_weights", "w_p_1")
    assert weights.max() > 0.9 and np.nanmin(weights) >= 0.0
    titles = [section.title for section in sections(plan, log, _summary(full))]
    assert "Rotor speeds" in titles


def test_its_report_has_the_figures_of_the_thesis_from_the_time_of_its_metrics_on() -> None:
    log, plan = flown("smc-sync-pidnn")
    (section,) = [each for each in sections(plan, log, _summary(metrics(log, plan))) if each.key == "rotors"]
    words, drawn = section.blocks
    assert "Figures begin at 6 s" in words.words  # type: ignore[union-attr]
    pictures = {picture.name: picture for picture in drawn.pictures}  # type: ignore[union-attr]
    names = ("scheme", "network", "path-3d", "disturbance", "sync-errors", "tracking-errors", "control", "surface")
    assert [*pictures] == [*names, "weights"]
    assert all(len(picture.caption) > 20 and len(picture.svg) > 3000 for picture in pictures.values())
    for name in ("path-3d", "disturbance", "sync-errors", "tracking-errors", "weights"):
        assert ">disturbed<" in pictures[name].svg, name
    assert "Φ = 333.3" in pictures["surface"].caption and "+Φ" in pictures["surface"].svg
    shown = signals(Flight(log, 0), plan, ROTOR)
    given = shown.disturbance["speed given (%)"][0]
    assert given.t_s[0] == pytest.approx(6.0) and [*shown.disturbance] == ["speed given (%)"]
    assert given.values[given.t_s < 6.499].min() == 100.0 and given.values[given.t_s > 6.501].max() == 80.0
    assert shown.spans == [pytest.approx((6.5, 7.5), abs=0.01)]


def test_the_loads_that_are_drawn_are_those_of_scenario_and_faults() -> None:
    constant, wave = ("{rotor=1,deceleration_rad_s2=4000.0,from_s=0.5}", '{target="rotor",kind="load_sine",')
    wave += 'channel="rotor4",value=[3000.0,2.5,0.0],from_s=1.0,to_s=2.0}'
    plan = scenario(f"motors.loads=[{constant}]", f"faults=[{wave}]", *HOVER, "duration_s=2.2")
    log = fly_inline(plan).logs[0]
    shown = signals(Flight(log, 0), plan, ROTOR)
    first, _, _, last = shown.disturbance["load (rad/s²)"]
    assert first.values[first.t_s > 0.501].min() == 4000.0 and first.values[first.t_s < 0.499].max() == 0.0
    assert last.values[np.searchsorted(last.t_s, 1.1 - 1e-6)] == pytest.approx(3000.0)
    assert not last.values[(last.t_s < 1.0) | (last.t_s > 2.001)].any()
    assert shown.spans == [pytest.approx((0.5, 2.2), abs=0.01)]


def test_a_sinusoidal_load_begins_with_its_switch() -> None:
    faults = ActuatorFaults(
        [Channel("rotor1", "rotor", slowed=lambda u, share: share * u, loaded=lambda u, load: u - load)]
    )
    for _ in range(2):  # switched on again, it begins again
        faults.switch(Switch(target="rotor", kind="load_sine", on=True, value=(0.5, 2.0, 0.0)), (0.0,))
        given = [faults.applied((1.0,), 10_000_000)[0] for _ in range(100)]
        assert given == pytest.approx([1.0 - 0.5 * math.sin(math.tau * 2.0 * 0.01 * i) for i in range(100)])
        off = Switch(target="rotor", kind="load_sine", on=False)
        assert faults.switch(off, (0.0,)).values == () and not faults.active
    assert faults.switch(Switch(target="rotor", kind="load_sine", on=True, value=9.0), (0.0,)).values == (9.0, 2.0, 0.0)


@pytest.mark.parametrize("rung", ["mil", "sil"])
def test_the_law_works_under_an_autopilot_with_noisy_sensors(rung: str) -> None:
    """At 4 ms, on commands of the virtual Pixhawk; one motor loses 20 %. The tachometer's samples stay aboard."""
    overrides = (
        *("duration_s=11.0", "checks=[]", "synchronisation.law=smc-sync-pidnn", "synchronisation.evaluate_from_s=9.0"),
        'sensors.fitted=["imu", "magnetometer", "barometer", "gnss", "tachometer"]',
        "motors.spread.gain=[0.96, 1.03, 0.98, 1.05]",
        WEAK.replace("6.5", "9.5"),
    )
    plan = load(find("quad-hover"), (*overrides, f'loop="{rung}"'))
    log = fly_inline(plan).logs[0]
    found = metrics(log, plan)
    assert found["height_max_m"] > 1.0
    assert found["rotor_sync_rms_rad_s"] < 10.0  # 29 without a law, and 98 with a motor at 80 %
    assert len(log.rows["tachometer"]) == pytest.approx(2750, abs=2)


def test_the_law_works_on_pil_as_on_mil() -> None:
    """The flight law is on the emulated board; the rotors' is on the actuators' side."""
    early = WEAK.replace("6.5", "3.5")
    short = (*HOVER, early, "duration_s=4.0", "synchronisation.evaluate_from_s=3.4")
    found = {}
    for rung in ("mil", "pil"):
        plan = load(find("quad-sync"), (*short, f'loop="{rung}"'))
        found[rung] = metrics(fly_inline(plan).logs[0], plan)
    for name in ("rotor_sync_rms_rad_s", "rotor_error_max_rad_s", "rotor_effort_pct"):
        assert found["pil"][name] == pytest.approx(found["mil"][name], rel=0.01), name
    assert 0.0 < found["pil"]["rotor_sync_rms_rad_s"] < 10.0


def _summary(found: dict[str, float]) -> dict[str, Any]:
    tracking = {"vehicle": 0, "modes": "whole flight", "roll_rms_deg": 0.0}
    return {"metrics": found, "events": [], "tracking": [tracking], "load": 0, "rates": []}
