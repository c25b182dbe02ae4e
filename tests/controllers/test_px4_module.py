"""The exported PX4 module on a stand-in of PX4's bus: it compiles under PX4's warnings, commands what the law's C
does to the bit, and never trusts a number that is none."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import px4_bus
import px4_rows
import pytest
from px4_bus import BOARD, MODULE, SITL, Bus, SilLaw
from px4_rows import PERIOD_US, as_received, fly_on, sample, step

from aeroloop.control.cascade import DEFAULTS
from aeroloop.control.flight_gains import GAINS
from aeroloop.controllers.px4.module_export import described
from aeroloop.controllers.px4.module_topics import TOPICS
from aeroloop.core import scenario_files
from aeroloop.core.frames import quat_from_euler

OWN = Path(__file__).resolve().parents[2] / "examples" / "laws" / "quad_lqr.py"
HOVER = (0.0, 0.0, 3.0, *(0.0,) * 3, 1.0, *(0.0,) * 6)
ABOVE = (*HOVER[0:2], 3.0, *(0.0,) * 10, 1.0, 1.0, 0.0)
IRIS_HOVER_SHARE = 1.5 * 9.80665 / (4 * 5.84e-6 * 1100**2)
STARTED = ["control_allocator start", "mc_rate_control start", "mc_att_control start"]


@dataclass(frozen=True)
class Exported:
    folder: Path
    library: Path

    def started(self) -> Bus:
        bus = Bus(self.library, self.folder)
        bus.time_us = 1_000_000
        assert bus.command("start") == 0, bus.said
        return bus

    def hovering(self) -> Bus:
        """In the air over its setpoint, after a step."""
        bus = self.started()
        fly_on(bus)
        step(bus, HOVER, ABOVE)
        return bus


@pytest.fixture(scope="module")
def cascade(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    place = tmp_path_factory.mktemp("cascade")
    return Exported(px4_bus.exported(place / "module"), px4_bus.built(place / "module", place / "build"))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    place = tmp_path_factory.mktemp("own")
    return Exported(px4_bus.exported(place / "module", OWN), px4_bus.built(place / "module", place / "build"))


def moving(t_s: float) -> tuple[list[float], list[float]]:
    """State and setpoint of an aircraft that moves about all axes."""
    a, b, c = math.sin(t_s), math.cos(1.7 * t_s), math.sin(0.6 * t_s + 1)
    quat = quat_from_euler(0.3 * a, -0.2 * b, 2.5 * c)
    nav = [2 * a, -b, 3 + 0.2 * c, b, 0.5 * a, -0.3 * c, *quat, 0.4 * c, -0.3 * a, 0.2 * b]
    return nav, [a, 2 * b, 3 + c, 0.3 * c, -a, 0.2 * b, 0.1 * a, 0.2 * c, 0.1 * b, 3 * a, 0, 0, 0, 1, 1, 0.5 * b]


@pytest.mark.parametrize("law", ["cascade", "own"])
def test_it_commands_what_the_laws_c_commands_to_the_bit(
    law: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    exported: Exported = request.getfixturevalue(law)
    bus, sil = exported.started(), SilLaw(exported.folder, tmp_path)
    fly_on(bus)
    spread = set()
    for k in range(1500):
        nav, setpoint = moving(k * PERIOD_US * 1e-6)
        motors = step(bus, nav, setpoint)
        assert motors[:4] == sil(*as_received(nav, setpoint)), f"step {k}"
        assert all(math.isnan(value) for value in motors[4:]), "motors that the aircraft does not have"
        spread.add(motors[0])
    assert len(spread) > 300, "the commands moved"
    assert bus.command("status") == 0
    assert "steps 1500, late 0, bad 0" in bus.said


def test_it_is_the_casadi_law_of_the_aircraft(cascade: Exported) -> None:
    """In double precision, and with the project's own conversion of frames."""
    scenario = scenario_files.load(scenario_files.find("quad-px4"), ())
    law, memory = described(scenario, None, 250.0).law.function, np.zeros(19)
    bus = cascade.started()
    fly_on(bus)
    for k in range(500):
        nav, setpoint = moving(k * PERIOD_US * 1e-6)
        wanted, _, memory, _ = (np.array(value).ravel() for value in law(nav, setpoint, memory, DEFAULTS))
        assert step(bus, nav, setpoint)[:4] == pytest.approx(wanted.clip(0, 1).tolist(), abs=2e-4)


@pytest.mark.parametrize("law", ["cascade", "own"])
def test_it_compiles_for_a_board_within_its_stack(law: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert len(px4_bus.objects(request.getfixturevalue(law).folder, tmp_path, BOARD)) == 3


def test_the_stand_in_is_as_strict_as_px4(cascade: Exported, tmp_path: Path) -> None:
    """The generated C needs the options that its CMakeLists.txt has for it, and no field is there by chance."""
    module = cascade.folder / MODULE
    px4_bus.topic_headers(tmp_path)
    with pytest.raises(AssertionError, match="float-equal"):
        px4_bus.compiled(module, "law.c", tmp_path, SITL)
    header = tmp_path / "uORB" / "topics" / "vehicle_attitude.h"
    header.write_text(header.read_text().replace("float q[4]", "float quaternion[4]"))
    with pytest.raises(AssertionError, match="has no member named"):
        px4_bus.compiled(module, "FlightRows.cpp", tmp_path, SITL)


def changed(setpoint: tuple[float, ...], **values: Any) -> dict[str, Any]:
    return {**px4_rows.trajectory(setpoint), **values}


NAN3 = (math.nan, math.nan, math.nan)
FLYING = [1.0, -2.0, 3.0, 0.4, -0.3, 0.2, *quat_from_euler(0.0, 0.0, 0.7), 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"position": NAN3}, {0: 1.0, 1: -2.0, 2: 3.0, 3: 0.5}, id="velocity leads"),
        pytest.param(
            {"position": NAN3, "velocity": NAN3}, {0: 1.0, 3: 0.4, 4: -0.3, 5: 0.2, 6: 0.1}, id="acceleration"
        ),
        pytest.param(
            {"position": NAN3, "velocity": NAN3, "acceleration": NAN3},
            {0: 1.0, 3: 0.0, 4: 0.0, 5: 0.0, 6: 0.0},
            id="nothing",
        ),
        pytest.param({"velocity": NAN3, "acceleration": NAN3}, {0: 5.0, 3: 0.0, 6: 0.0}, id="position alone"),
        pytest.param({"yaw": math.nan, "yawspeed": 0.5}, {9: 0.7 - 0.5 * 0.004, 15: -0.5}, id="yaw is turned"),
        pytest.param({"yaw": math.nan, "yawspeed": math.nan}, {9: 0.7, 15: 0.0}, id="yaw is kept"),
        pytest.param(
            {"position": (math.nan, math.nan, -4.0), "velocity": (math.nan, math.nan, 0.0)},
            {0: 1.0, 2: 4.0, 3: 0.4, 4: -0.3, 5: 0.0},
            id="height held, sideways pushed",
        ),
    ],
)
def test_each_value_of_a_trajectory_may_be_missing(
    cascade: Exported, given: dict[str, Any], expected: dict[int, float]
) -> None:
    setpoint = (5.0, 6.0, 4.0, 0.5, 0.6, 0.7, 0.1, 0.2, 0.3, 1.0, 0, 0, 0, 1, 1, 0.0)
    bus = cascade.started()
    fly_on(bus, armed=False)
    sample(bus, FLYING)  # the heading before take-off
    fly_on(bus)
    bus.put("trajectory_setpoint", **changed(setpoint, **given))
    sample(bus, FLYING)
    flown = bus.get("debug_array").data[3:19]
    assert {index: flown[index] for index in expected} == pytest.approx(expected, abs=1e-6)
    assert bus.get("debug_array").data[1] == 0, "no bad step"


def test_without_new_setpoints_it_stands_still_and_sinks(cascade: Exported) -> None:
    bus = cascade.hovering()
    for _ in range(124):
        sample(bus, HOVER)
    assert bus.get("debug_array").data[3 + 5] == 0.0
    sample(bus, HOVER)
    sample(bus, HOVER)
    assert list(bus.get("debug_array").data[3 + 3 : 3 + 6]) == pytest.approx([0.0, 0.0, -0.7])


def test_every_sample_is_answered(cascade: Exported) -> None:
    """In lockstep the simulation waits for it: also disarmed, on the ground, before the law's period is over, with a
    bad step."""
    bus = cascade.started()
    before = bus.count("actuator_motors")
    assert all(math.isnan(value) for value in sample(bus, HOVER)), "stopped"
    fly_on(bus, takeoff_state=3)
    assert sample(bus, HOVER)[:4] == [0.0] * 4, "idle"
    fly_on(bus)
    step(bus, HOVER, ABOVE)
    for _ in range(24):
        sample(bus, HOVER, PERIOD_US // 4)
    sample(bus, HOVER, x=math.nan)
    assert bus.count("actuator_motors") == before + 28
    assert bus.count("vehicle_thrust_setpoint") == before + 28
    bus.command("status")
    assert "steps 8, late 0, bad 1" in bus.said, "a gyroscope four times as fast is thinned to the law's rate"


def test_a_late_sample_is_counted(cascade: Exported) -> None:
    bus = cascade.hovering()
    sample(bus, HOVER, 3 * PERIOD_US)
    sample(bus, HOVER)
    bus.command("status")
    assert "late 1" in bus.said


def test_touchdown_idles_the_motors_and_empties_the_memory(cascade: Exported) -> None:
    bus = cascade.hovering()
    off = [value + 0.5 if index < 3 else value for index, value in enumerate(HOVER)]
    for _ in range(50):
        sample(bus, off)
    assert any(bus.get("debug_array").data[40:58])
    bus.put("vehicle_land_detected", ground_contact=True)
    assert sample(bus, off)[:4] == [0.0] * 4
    assert not any(bus.get("debug_array").data[40:58])
    assert bus.get("vehicle_thrust_setpoint").xyz[2] == 0.0, "or the land detector waits for ever"


def test_ground_contact_while_it_takes_off_is_no_touchdown(cascade: Exported) -> None:
    bus = cascade.started()
    fly_on(bus, takeoff_state=4)
    bus.put("vehicle_land_detected", ground_contact=True)
    assert min(step(bus, HOVER, ABOVE)[:4]) > 0.5


def test_in_hover_the_thrust_setpoint_is_the_share_of_the_weight(cascade: Exported) -> None:
    bus = cascade.hovering()
    assert bus.get("vehicle_thrust_setpoint").xyz[2] == pytest.approx(-IRIS_HOVER_SHARE, rel=1e-3)
    assert bus.get("actuator_motors").timestamp_sample == bus.time_us


BAD = [
    pytest.param({"x": math.nan}, "NaN input", id="position"),
    pytest.param({"vz": math.inf}, "NaN input", id="velocity"),
    pytest.param({"q": (math.nan, 0.0, 0.0, 0.0)}, "NaN input", id="attitude"),
    pytest.param({"xyz": (0.0, math.nan, 0.0)}, "NaN input", id="rate"),
    pytest.param({"q": (0.0, 0.0, 0.0, 0.0)}, "NaN output", id="attitude of length 0"),
    pytest.param({"xy_valid": False}, "no estimate", id="no position"),
    pytest.param({"v_z_valid": False}, "no estimate", id="no velocity"),
]


@pytest.mark.parametrize(("broken", "words"), BAD)
def test_a_failed_step_keeps_the_last_command_and_five_hand_over(
    cascade: Exported, broken: dict[str, Any], words: str
) -> None:
    bus = cascade.hovering()
    good = sample(bus, HOVER)[:4]
    for _ in range(4):
        assert sample(bus, HOVER, **broken)[:4] == good
    assert bus.started == []
    sample(bus, HOVER)  # a good one between them: they count in a row
    for _ in range(4):
        sample(bus, HOVER, **broken)
    assert bus.started == []
    count = bus.count("actuator_motors")
    sample(bus, HOVER, **broken)
    assert bus.started == STARTED
    assert words in bus.told
    for _ in range(10):
        sample(bus, HOVER)
    assert bus.count("actuator_motors") == count, "PX4's own control drives the motors now"
    assert bus.advertised("actuator_motors"), "a module that stopped would silence them"
    assert bus.started == STARTED, "once"


def test_motors_alone_would_not_have_shown_it(cascade: Exported, tmp_path: Path) -> None:
    """The reason for the checks: the law's limits drop NaN."""
    sil = SilLaw(cascade.folder, tmp_path)
    motors = sil([math.nan, *HOVER[1:]], ABOVE)
    assert all(math.isfinite(value) for value in (*motors, *sil.memory))


def test_without_a_position_velocities_can_still_be_flown(cascade: Exported) -> None:
    bus = cascade.started()
    fly_on(bus)
    for _ in range(10):
        bus.put("trajectory_setpoint", **changed(ABOVE, position=(math.nan, math.nan, -3.0)))
        sample(bus, HOVER, xy_valid=False, x=math.nan, y=math.nan)
    assert bus.get("debug_array").data[1] == 0
    assert bus.started == []


def test_a_stale_estimate_hands_over(cascade: Exported) -> None:
    bus = cascade.hovering()
    for _ in range(200):
        bus.time_us += PERIOD_US
        bus.put("trajectory_setpoint", **px4_rows.trajectory(ABOVE))
        bus.put("vehicle_angular_velocity", timestamp_sample=bus.time_us)
    assert bus.started == STARTED
    assert "no estimate" in bus.told


def test_a_reset_of_the_estimator_is_no_motion(cascade: Exported) -> None:
    """The law differentiates the velocity: a jump of 2 m/s in a sample would be 500 m/s2."""
    calm, jumped, ignored = (cascade.hovering() for _ in range(3))
    moved = {**px4_rows.estimate(HOVER), "vx": 2.0, "vy": 0.0, "vz": 1.0}
    told = {"delta_vxy": (2.0, 0.0), "vxy_reset_counter": 1, "delta_vz": 1.0, "vz_reset_counter": 1}
    level = sample(calm, HOVER)[:4]
    assert sample(jumped, HOVER, **{**moved, **told})[:4] == pytest.approx(level, abs=0.02)
    assert sample(ignored, HOVER, **moved)[:4] != pytest.approx(level, abs=0.1)
    for _ in range(1000):
        sample(jumped, HOVER, **{**moved, **told})
    assert jumped.get("debug_array").data[19 + 4] == pytest.approx(2.0, abs=1e-3), "then it has all of it"


def test_gains_are_parameters_and_change_in_flight(cascade: Exported) -> None:
    bus, off = cascade.hovering(), (0.0, 0.0, 2.5, *HOVER[3:])
    before = sample(bus, off)[0]
    bus.set("AL_Z_P", 2.0)
    assert sample(bus, off)[0] == pytest.approx(before, abs=2e-3)
    bus.put("parameter_update")
    assert sample(bus, off)[0] > before + 0.02


def test_the_hand_over_can_be_tried_in_sitl(cascade: Exported) -> None:
    bus = cascade.hovering()
    bus.set("AL_TEST_NAN", 1)
    bus.put("parameter_update")
    for _ in range(5):
        sample(bus, HOVER)
    assert bus.started == STARTED


MANUAL = {"flag_control_manual_enabled": True, "flag_control_attitude_enabled": True}


def test_the_sticks_fly_where_no_height_is_held(cascade: Exported) -> None:
    bus = cascade.started()
    fly_on(bus, **MANUAL)
    bus.put("manual_control_setpoint", throttle=0.0)
    level = sample(bus, HOVER)[:4]
    assert bus.get("vehicle_thrust_setpoint").xyz[2] == pytest.approx(-IRIS_HOVER_SHARE, rel=1e-3)
    bus.put("manual_control_setpoint", throttle=0.0, roll=0.5)
    right_front, left_rear, left_front, right_rear = (a - b for a, b in zip(sample(bus, HOVER), level, strict=False))
    assert max(right_front, right_rear) < -0.05 < 0.05 < min(left_front, left_rear), "right side down"
    bus.put("manual_control_setpoint", throttle=0.0, pitch=0.5)
    right_front, left_rear, left_front, right_rear = (a - b for a, b in zip(sample(bus, HOVER), level, strict=False))
    assert max(right_front, left_front) < -0.05 < 0.05 < min(left_rear, right_rear), "nose down"
    bus.put("manual_control_setpoint", throttle=-1.0)
    assert max(sample(bus, HOVER)[:4]) < 0.01


@pytest.mark.parametrize(
    ("law", "mode"),
    [("own", MANUAL), ("cascade", {"flag_control_manual_enabled": True})],
    ids=["positions only", "acro"],
)
def test_a_mode_that_the_law_cannot_fly_hands_over(
    law: str, mode: dict[str, bool], request: pytest.FixtureRequest
) -> None:
    bus: Bus = request.getfixturevalue(law).hovering()
    fly_on(bus, **mode)
    bus.put("manual_control_setpoint", throttle=0.0)
    for _ in range(5):
        sample(bus, HOVER)
    assert bus.started == STARTED
    assert "mode not flown" in bus.told


def test_it_starts_only_after_px4s_control_has_stopped(cascade: Exported) -> None:
    """A module that stops takes the topic from all readers: started before, its motors would never move."""
    bus = Bus(cascade.library, cascade.folder)
    bus.advertise("actuator_motors", advertised=True)
    assert bus.command("start") != 0
    assert "control_allocator stop" in bus.said
    bus.advertise("actuator_motors", advertised=False)
    assert bus.command("start") == 0


def test_it_does_not_stop_while_armed(cascade: Exported) -> None:
    bus = cascade.hovering()
    assert bus.command("stop") != 0
    assert "armed" in bus.said
    assert bus.command("status") == 0
    fly_on(bus, armed=False)
    sample(bus, HOVER)
    assert bus.command("stop") == 0
    assert bus.command("status") != 0, "not running"
    assert not bus.advertised("actuator_motors")


def test_parameters_are_as_px4_takes_them(cascade: Exported, own: Exported) -> None:
    found = px4_bus.parameters(cascade.folder)
    assert len(found) == len(GAINS) + 1
    assert all(re.fullmatch(r"AL_[A-Z0-9_]{1,13}", name) for name in found)
    assert [default for is_float, default in found.values() if is_float] == list(DEFAULTS)
    assert list(px4_bus.parameters(own.folder)) == ["AL_TEST_NAN"], "its numbers are in the law"


def test_the_model_for_sitl_is_this_aircraft(cascade: Exported) -> None:
    script = (cascade.folder / "airframes" / "22016_none_iris_law").read_text()
    values = dict(re.findall(r"param set-default (\w+) (\S+)", script))
    assert values["MPC_THR_HOVER"] == "0.69"
    assert (values["CA_ROTOR0_PX"], values["CA_ROTOR0_PY"], values["CA_ROTOR0_KM"]) == ("0.13", "0.22", "0.06")
    assert script.rstrip().endswith("set VEHICLE_TYPE law\naeroloop_law start")
    extras = (cascade.folder / "boards" / "extras.txt").read_text().splitlines()
    assert extras == ["control_allocator stop", "mc_rate_control stop", "mc_att_control stop", "aeroloop_law start"]


def test_the_table_of_topics_is_px4s(tmp_path: Path) -> None:
    checkout = os.environ.get("AEROLOOP_PX4", "")
    if not checkout:
        pytest.skip("AEROLOOP_PX4 names no checkout of PX4, whose msg folder the table is compared with")
    for topic in TOPICS:
        text = (Path(checkout) / "msg" / f"{topic.message}.msg").read_text()
        found = {name: kind for kind, name in re.findall(r"^(\w+(?:\[\d+\])?)\s+(\w+)\s*(?:#.*)?$", text, re.MULTILINE)}
        constants = {name: int(value) for name, value in re.findall(r"^\w+\s+(\w+)\s*=\s*(\d+)", text, re.MULTILINE)}
        assert {name: found.get(name) for name, _ in topic.fields} == dict(topic.fields), topic.message
        assert {name: constants.get(name) for name, _ in topic.constants} == dict(topic.constants), topic.message
