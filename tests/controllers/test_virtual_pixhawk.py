"""The virtual Pixhawk as a whole, standing on the ground: what it answers, and what it makes of what it is told."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from pymavlink.dialects.v20 import common as dialect

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control.cascade import law
from aeroloop.controllers.pixhawk import flight_law
from aeroloop.controllers.pixhawk.virtual_pixhawk import LOGIC_PERIOD_NS, VirtualPixhawk, parameters
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.estimation import ekf
from aeroloop.families.multirotor import airframe
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import MavlinkCounters
from aeroloop.world.earth import Home
from aeroloop.world.magnetic import MagneticModel

STEP_NS = 4_000_000
HOME = Home()
FIELD_W_T = MagneticModel(HOME.date).field_T(HOME.lat_deg, HOME.lon_deg, HOME.alt_m)


class Desk:
    """A simulator whose aircraft stands still, level, nose to the east."""

    def __init__(self, runner: Any = Evaluator) -> None:
        self.pixhawk = VirtualPixhawk(
            airframe.load("iris"),
            parameters({}),
            number=2,
            period_s=STEP_NS / NS,
            runner=runner,
            field_at=MagneticModel(HOME.date).field_T,
            lockstep=True,
            ground_links=0,
        )
        self.t_ns = 0
        self.stepped: list[int] = []
        self._out = hil.HilOut(MavlinkCounters(), 1, 51)
        self._reader = dialect.MAVLink(None)

    def stand(self, seconds: float, *, silent: bool = False) -> list[Any]:
        """The answers of so long."""
        answers = []
        for _ in range(round(seconds * NS / STEP_NS)):
            self.t_ns += STEP_NS
            answers += self.send(self._sample(), *([] if silent or self.t_ns % (NS // 5) else [self._fix()]))
        return answers

    def send(self, *frames: bytes) -> list[Any]:
        back = self.pixhawk.receive(b"".join(frames), self.stepped.append)
        return self._reader.parse_buffer(bytearray(back)) or [] if back else []

    def _sample(self) -> bytes:
        wobble = 1e-4 * math.sin(self.t_ns)  # no sensor stands quite still
        slow = self.t_ns % (5 * STEP_NS) == 0
        return self._out.sensor(
            hil.HilSample(
                self.t_ns,
                (wobble, wobble, 9.80665),
                (wobble, -wobble, wobble),
                FIELD_W_T if slow else None,
                hil.BarometerSample(95_600.0, 488.0 + wobble, 285.0) if slow else None,
            )
        )

    def _fix(self) -> bytes:
        jitter = 1e-9 * (self.t_ns // NS)
        place = HOME.lat_deg + jitter, HOME.lon_deg, HOME.alt_m + 0.01 * math.sin(self.t_ns)
        return self._out.pack(hil.hil_gps(hil.HilFix(self.t_ns, *place, (0.0, 0.0, 0.0), 0.5, 0.8, 10, 3)))


def test_every_sample_is_answered_with_its_own_time_and_disarmed_motors_stand() -> None:
    desk = Desk()
    answers = desk.stand(0.1)
    assert [answer.time_usec for answer in answers] == [n * 4000 for n in range(1, 26)]
    assert desk.stepped == [n * STEP_NS for n in range(1, 26)]
    assert all(answer.flags == 1 and not answer.mode & 128 for answer in answers)
    assert all(max(answer.controls) == 0.0 for answer in answers)
    assert {answer.get_srcSystem() for answer in answers} == {3}, "the third of a flight"


def test_a_sample_from_the_past_is_not_answered() -> None:
    desk = Desk()
    old = desk._sample()
    desk.stand(0.1)
    assert desk.send(old) == []
    assert desk.pixhawk.sensors.counters.time_backwards == 1


def armed(desk: Desk) -> Desk:
    desk.stand(4.0)
    assert desk.pixhawk.logic.arm() is None
    assert desk.pixhawk.logic.take_off(5.0) is None
    return desk


def test_it_finds_out_that_it_stands_still_at_home_and_arms_then() -> None:
    desk = Desk()
    desk.stand(0.5)
    assert desk.pixhawk.logic.arm() is not None, "it does not know yet how it stands"
    armed(desk)
    estimate = desk.pixhawk.estimate
    assert estimate is not None
    assert math.hypot(*estimate.pos_W) < 0.2
    assert estimate.quat_WB[0] == pytest.approx(1.0, abs=1e-3)
    answers = desk.stand(1.0)
    assert answers[-1].mode & 128
    assert min(answers[-1].controls[:4]) > 0.3, "it wants to climb"
    assert max(answers[-1].controls[4:]) == 0.0


def test_the_law_that_reads_the_filters_state_gives_the_bits_of_the_law_that_reads_its_motion() -> None:
    iris = airframe.load("iris")
    plain, on_state = law(flight_law.frame(iris), 0.004), flight_law.on_state(iris, 0.004)
    draw = np.random.default_rng(7)
    state, others = draw.normal(size=ekf.STATES), [draw.uniform(0.1, 1.0, plain.size1_in(i)) for i in (1, 2, 3)]
    rate_B = state[ekf.LAST_RATE] - state[ekf.GYRO_BIAS]
    nav = np.concatenate([state[ekf.POS], state[ekf.VEL], state[ekf.QUAT], rate_B])
    for one, other in zip(plain(nav, *others), on_state(state, *others)[:-1], strict=True):
        assert np.array_equal(np.array(one), np.array(other))


def test_disarmed_it_forgets_what_its_law_has_learnt() -> None:
    desk = armed(Desk())
    desk.stand(1.0)
    assert desk.pixhawk._law.inputs[2].any()
    desk.pixhawk.logic.disarm(force=True)
    desk.stand(0.1)
    assert not desk.pixhawk._law.inputs[2].any()


def test_a_gain_that_is_set_acts_in_the_next_sample() -> None:
    desk = armed(Desk())
    desk.stand(0.5)
    desk.pixhawk.parameters.set("MPC_THR_MAX", 0.3)
    (answer,) = desk.stand(STEP_NS / NS)
    assert max(answer.controls) < 0.6, "three tenths of the thrust are no more than that of the speed"


class Spoiling(Evaluator):
    """A law whose numbers can be spoiled."""

    spoiled = False

    def __init__(self, function: ca.Function) -> None:
        super().__init__(function)
        if function.name() == "flight_law":
            self._sound, self.run = self.run, self._spoil

    def _spoil(self) -> None:
        self._sound()
        if Spoiling.spoiled:
            self.outputs[0][1] = math.nan


def test_when_the_law_gives_no_number_the_last_command_stands_and_it_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = armed(Desk(Spoiling))
    before = desk.stand(0.5)[-1].controls
    monkeypatch.setattr(Spoiling, "spoiled", True)
    after = desk.stand(0.1)
    assert all(answer.controls == before for answer in after)
    assert desk.pixhawk.law_not_finite == len(after)


@pytest.mark.parametrize("index", [ekf.POS.start, ekf.VEL.start, ekf.QUAT.start, ekf.LAST_RATE.start])
def test_a_nan_in_the_state_is_not_hidden_by_the_laws_limits(index: int) -> None:
    """Its motors alone would be numbers."""
    desk = armed(Desk())
    before = desk.stand(0.5)[-1].controls
    law = desk.pixhawk._law
    sound, law.run = law.run, lambda: (law.inputs[0].__setitem__(index, math.nan), sound())
    assert desk.stand(STEP_NS / NS)[-1].controls == before
    assert np.isfinite(law.outputs[0]).all()
    assert desk.pixhawk.law_not_finite == 1


def test_the_flight_logic_runs_a_hundred_times_a_second() -> None:
    desk = Desk()
    times = set()
    for _ in range(100):
        desk.stand(STEP_NS / NS)
        times.add(desk.pixhawk.decided_ns)
    gaps = {later - earlier for earlier, later in zip(sorted(times)[1:], sorted(times)[2:], strict=False)}
    assert gaps == {3 * STEP_NS}, f"at the first sample after {LOGIC_PERIOD_NS} ns"


def test_a_receiver_that_falls_silent_is_noticed() -> None:
    desk = Desk()
    desk.stand(4.0)
    assert desk.pixhawk.status.health.gnss
    desk.stand(2.5, silent=True)
    health = desk.pixhawk.status.health
    assert (health.imu, health.magnetometer, health.barometer, health.gnss) == (True, True, True, False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"NOPE": 1.0}, "unknown parameter NOPE"), ({"MPC_XY_CRUISE": 1e9}, r"autopilot\.parameters\.MPC_XY_CRUISE: ")],
)
def test_parameters_that_cannot_be_are_named(changes: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parameters(changes)


def test_flight_logic_and_law_share_the_parameters_that_both_know() -> None:
    names = [row.name for row in parameters({})]
    assert len(names) == len(set(names))
    assert {"MPC_XY_P", "MPC_ACC_HOR", "MIS_TAKEOFF_ALT"} <= set(names)
