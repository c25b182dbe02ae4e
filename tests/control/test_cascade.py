"""The multirotor's flight law, one call at a time: directions, limits, priorities, memory, gains, margins.

Margins are those of the linear model at hover with the slower lag of the motors and one period of delay, the loop cut
at the torque of one axis. The least of both airframes and periods: roll and pitch 43 degrees and 19 dB, yaw 56 degrees
and 22 dB, thrust 64 degrees and 31 dB.
"""

from __future__ import annotations

import math
from functools import cache

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.actuators.motors import Motors
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import allocation, cascade
from aeroloop.control.cascade import DEFAULTS, GAINS, LEARNED, MEMORY, RATE_LEARNED, Frame
from aeroloop.controllers.pixhawk import flight_law
from aeroloop.core import frames
from aeroloop.core.frames import GRAVITY_M_S2, Quat, Vec, Vec3
from aeroloop.core.signals import Setpoint
from aeroloop.families.multirotor import airframe
from aeroloop.models import linear, quadrotor

NAMES = ["iris", "hexarotor"]
FRAMES = {name: flight_law.frame(airframe.load(name)) for name in NAMES}
PERIOD_S = 0.004
LAWS = {name: Evaluator(cascade.law(frame, PERIOD_S)) for name, frame in FRAMES.items()}
NOWHERE = (0.0, 0.0, 0.0)
THRUST, ROLLING, PITCHING, TURNING = range(4)


def setpoint(
    pos_W: Vec3 = NOWHERE,
    *,
    vel_W: Vec3 = NOWHERE,
    yaw: float = 0.0,
    roll: float = 0.0,
    pitch: float = 0.0,
    thrust: float = 0.5,
    xy: bool = True,
    z: bool = True,
) -> Setpoint:
    return Setpoint(pos_W, vel_W, NOWHERE, yaw, roll, pitch, thrust, xy, z)


def step(
    name: str,
    wanted: Setpoint,
    *,
    vel_W: Vec3 = NOWHERE,
    quat: Quat = (1.0, 0.0, 0.0, 0.0),
    rate_B: Vec3 = NOWHERE,
    memory: Vec | None = None,
    gains: tuple[float, ...] = DEFAULTS,
) -> tuple[Vec, Vec, Vec]:
    """Motors, attitude asked for and memory of one call at the origin."""
    law = LAWS[name]
    for place, value in zip(
        law.inputs,
        ((*NOWHERE, *vel_W, *quat, *rate_B), wanted.row(), np.zeros(MEMORY) if memory is None else memory, gains),
        strict=True,
    ):
        place[:] = value
    law()
    motors, attitude, after = (output.copy() for output in law.outputs)
    return motors, attitude, after


def wrench(name: str, motors: Vec) -> Vec:
    """Thrust and torques that come of motor commands once the motors have followed: what actuators/ makes of them."""
    a, f = airframe.load(name), FRAMES[name]
    rotors = Motors(a.motors, a.rotors.count)
    for _ in range(50):
        rotors.step(motors.tolist(), 100_000_000)
    thrusts = f.thrust_Ns2 * np.array(rotors.speed_rad_s) ** 2
    effects: Vec = allocation.effects(f.rotor_pos_B_m, f.rotor_spin, f.torque_to_thrust_m)
    return effects @ thrusts


def test_the_table_suits_the_parameter_protocol() -> None:
    names = [gain.name for gain in GAINS]
    assert len(set(names)) == len(names)
    for gain in GAINS:
        assert len(gain.name) <= 16
        assert gain.minimum <= gain.default <= gain.maximum
        assert gain.unit
        assert gain.meaning
    changed = cascade.row({"MPC_XY_P": 0.5})
    assert changed[names.index("MPC_XY_P")] == 0.5
    assert sum(a != b for a, b in zip(changed, DEFAULTS, strict=True)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_asks_for_the_thrust_that_hovers(name: str) -> None:
    motors, attitude, memory = step(name, setpoint())
    expected = [FRAMES[name].mass_kg * GRAVITY_M_S2, 0.0, 0.0, 0.0]
    assert wrench(name, motors) == pytest.approx(expected, abs=1e-9)
    assert attitude == pytest.approx([0.0, 0.0, 0.0, FRAMES[name].hover_ratio], abs=1e-12)
    assert memory[0] == 1.0
    assert memory[1:] == pytest.approx(np.zeros(MEMORY - 1), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_thrust_is_linear_in_what_is_asked(name: str) -> None:
    all_N = FRAMES[name].hover_ratio ** -1 * FRAMES[name].mass_kg * GRAVITY_M_S2
    for ratio in (0.05, 0.2, 0.5, 0.8, 1.0):
        motors, attitude, _ = step(name, setpoint(thrust=ratio, xy=False, z=False))
        assert wrench(name, motors)[THRUST] == pytest.approx(ratio * all_N, rel=1e-9)
        assert attitude[3] == pytest.approx(ratio)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("yaw", [0.0, 2.0])
@pytest.mark.parametrize(
    ("wanted", "axis", "sign"),
    [
        (setpoint(roll=0.1, xy=False), ROLLING, 1),
        (setpoint(pitch=0.1, xy=False), PITCHING, 1),
        (setpoint((0.0, 0.0, 1.0)), THRUST, 1),
        (setpoint((0.0, 0.0, -1.0)), THRUST, -1),
    ],
)
def test_pushes_the_right_way(name: str, yaw: float, wanted: Setpoint, axis: int, sign: int) -> None:
    facing = wanted._replace(yaw_rad=yaw)
    quat = frames.quat_from_euler(0.0, 0.0, yaw)
    less = wrench(name, step(name, setpoint(yaw=yaw), quat=quat)[0])
    more = wrench(name, step(name, facing, quat=quat)[0]) - less
    assert sign * more[axis] > 0.05
    assert np.abs(np.delete(more, axis)).max() < 1e-6


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.5])
@pytest.mark.parametrize("towards", [0.0, 1.5, 3.0, -1.5])
def test_leans_to_where_it_should_go_at_any_heading(yaw: float, towards: float) -> None:
    goal = (0.5 * math.cos(towards), 0.5 * math.sin(towards), 0.0)
    _, attitude, _ = step("iris", setpoint(goal, yaw=yaw), quat=frames.quat_from_euler(0.0, 0.0, yaw))
    w, x, y, z = frames.quat_from_euler(*attitude[:3].tolist())
    lean = (2 * (x * z + w * y), 2 * (y * z - w * x))
    assert math.atan2(lean[1], lean[0]) == pytest.approx(towards, abs=1e-9)
    assert GRAVITY_M_S2 * math.hypot(*lean) / (1 - 2 * (x * x + y * y)) == pytest.approx(0.5 * 0.95 * 2.2)


@pytest.mark.parametrize(("turn", "sign"), [(3.0, 1), (-3.0, -1), (math.pi, 1), (4.0, -1), (-4.0, 1), (6.0, -1)])
def test_yaw_takes_the_shorter_way_and_leaves_the_tilt_alone(turn: float, sign: int) -> None:
    tilted = setpoint(yaw=turn, roll=0.3, xy=False)
    gains = cascade.row({"MC_YAWRATE_MAX": 10.0})
    # The body leans as asked but heads elsewhere: the same direction of thrust, so nothing to do but turn.
    w, x, y, z = frames.quat_from_euler(*step("iris", tilted)[1][:3].tolist())
    back = (math.cos(turn / 2), 0.0, 0.0, -math.sin(turn / 2))
    quat = (w * back[0] - z * back[3], x * back[0] + y * back[3], y * back[0] - x * back[3], w * back[3] + z * back[0])
    gave = wrench("iris", step("iris", tilted, quat=quat, gains=gains)[0])
    assert gave[TURNING] == pytest.approx(sign * 0.055225 * 10.0 * math.radians(10.0))
    assert gave[[ROLLING, PITCHING]] == pytest.approx([0.0, 0.0], abs=1e-9)
    w, x, y, z = quat
    assert step("iris", tilted, quat=(-w, -x, -y, -z))[0] == pytest.approx(step("iris", tilted, quat=quat)[0])


def test_limits() -> None:
    far = setpoint((1000.0, -1000.0, 1000.0))
    _, attitude, _ = step("iris", far)
    assert math.cos(attitude[0]) * math.cos(attitude[1]) == pytest.approx(math.cos(math.radians(35.0)))
    assert attitude[3] == pytest.approx(0.95)
    hover = FRAMES["iris"].hover_ratio
    down = setpoint((0.0, 0.0, -1000.0))
    assert step("iris", down)[1][3] == pytest.approx(hover * (1 - 4.0 * 1.5 / GRAVITY_M_S2))
    assert step("iris", down, vel_W=(0.0, 0.0, 5.0))[1][3] == pytest.approx(0.12)
    assert step("iris", down, vel_W=(0.0, 0.0, -1.5))[1][3] == pytest.approx(hover)
    light = FRAMES["hexarotor"].hover_ratio  # less than twice MPC_THR_MIN: it must be able to sink all the same
    assert step("hexarotor", down, vel_W=(0.0, 0.0, 5.0))[1][3] == pytest.approx(light / 2)
    assert step("iris", far, vel_W=(12 / math.sqrt(2), -12 / math.sqrt(2), 3.0))[1] == pytest.approx(
        [0.0, 0.0, 0.0, FRAMES["iris"].hover_ratio], abs=1e-6
    )  # as fast as it may: nothing more to push
    _, attitude, _ = step("iris", setpoint(roll=1.0, pitch=-1.0, xy=False))
    assert math.hypot(*attitude[:2]) == pytest.approx(math.radians(35.0))
    assert attitude[0] == pytest.approx(-attitude[1])


def test_approaches_no_faster_than_it_can_brake() -> None:
    off, p, brake = 20.0, 0.95, 3.0
    speed = math.sqrt(2 * brake * (off - brake / p**2 / 2))  # slower than p * off, which is 19 m/s
    assert step("iris", setpoint((off, 0.0, 0.0)), vel_W=(speed, 0.0, 0.0))[1][1] == pytest.approx(0.0, abs=1e-6)


def test_changes_of_velocity_and_of_rates_are_resisted() -> None:
    memory = step("iris", setpoint())[2]
    share_vel, share_rate = (1 - math.exp(-2 * math.pi * cutoff_hz * PERIOD_S) for cutoff_hz in (5.0, 30.0))
    _, attitude, _ = step("iris", setpoint(), vel_W=(0.1, 0.0, 0.0), memory=memory)
    push = -2.2 * 0.1 - 0.1 * share_vel * 0.1 / PERIOD_S
    assert math.tan(attitude[1]) == pytest.approx(push / GRAVITY_M_S2)
    gave = wrench("iris", step("iris", setpoint(), rate_B=(0.1, 0.0, 0.0), memory=memory)[0])
    assert gave[ROLLING] == pytest.approx(0.029125 * (-20.0 * 0.1 - 0.3 * share_rate * 0.1 / PERIOD_S))


def test_a_turning_body_is_held_against_its_own_gyroscopic_torque() -> None:
    q, r = 0.5, 0.4
    gave = wrench("iris", step("iris", setpoint(), rate_B=(0.0, q, r))[0])
    assert gave[ROLLING] == pytest.approx((0.055225 - 0.029125) * q * r)


@pytest.mark.parametrize("name", NAMES)
def test_thrust_fades_on_its_back_and_makes_up_for_a_lean(name: str) -> None:
    hover = FRAMES[name].hover_ratio
    assert step(name, setpoint(), quat=(0.0, 1.0, 0.0, 0.0))[1][3] == 0.0
    assert step(name, setpoint(), quat=frames.quat_from_euler(1.4, 0.0, 0.0))[1][3] < hover
    assert step(name, setpoint(), quat=frames.quat_from_euler(0.4, 0.3, 0.0))[1][3] == pytest.approx(
        hover / (math.cos(0.4) * math.cos(0.3))
    )


def test_the_frame_comes_from_the_parameter_file() -> None:
    iris, speed = FRAMES["iris"], math.sqrt(1.5 * GRAVITY_M_S2 / 4 / 5.84e-6)
    assert iris.drag_per_s == pytest.approx(4 * 1.75e-4 * speed / 1.5)
    assert iris.hover_ratio == pytest.approx((speed / 1100.0) ** 2)
    assert len(FRAMES["hexarotor"].rotor_pos_B_m) == 6


def test_a_gain_acts_at_once() -> None:
    soft, hard = (step("iris", setpoint((1.0, 0.0, 0.0)), gains=cascade.row({"MPC_XY_P": p}))[1] for p in (0.4, 0.8))
    assert math.tan(hard[1]) == pytest.approx(2 * math.tan(soft[1]))


THRUSTS = st.floats(-5.0, 40.0)
TORQUES = st.floats(-8.0, 8.0)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_rotors_cannot_all_give_is_cut_in_order(name: str) -> None:
    f = FRAMES[name]
    per_rotor = allocation.effects(f.rotor_pos_B_m, f.rotor_spin, f.torque_to_thrust_m)
    asked, least, most = ca.SX.sym("asked", 4), f.thrust_least_N, f.thrust_most_N
    allocate = Evaluator(ca.Function("allocate", [asked], [allocation.allocate(per_rotor, asked, least, most)]))
    shares = np.linalg.pinv(per_rotor)

    @settings(max_examples=150)
    @given(THRUSTS, TORQUES, TORQUES, TORQUES)
    def check(thrust: float, rolling: float, pitching: float, turning: float) -> None:
        wanted = np.array([thrust, rolling, pitching, turning])
        allocate.inputs[0][:] = wanted
        allocate()
        thrusts = allocate.outputs[0]
        assert thrusts.min() >= least
        assert thrusts.max() <= most
        gave = per_rotor @ thrusts
        plain = shares @ wanted
        if plain.min() >= least and plain.max() <= most:
            assert gave == pytest.approx(wanted, abs=1e-9)
        # Roll and pitch keep their proportion and are cut only where no total thrust has room for them.
        tilting = shares[:, 1:3] @ wanted[1:3]
        cut = min(1.0, (most - least) / max(float(np.ptp(tilting)), 1e-12))
        assert gave[1:3] == pytest.approx(cut * wanted[1:3], abs=1e-8)
        # Yaw gets nothing of the wrong sign, and no more than asked.
        assert -1e-9 <= gave[TURNING] * math.copysign(1.0, turning) <= abs(turning) + 1e-9
        # Thrust moves only as far as roll and pitch and the small reserve of yaw need.
        lift, tilting = shares[:, 0], cut * tilting
        low, high = ((least - tilting) / lift).max(), ((most - tilting) / lift).min()
        reserve = allocation.YAW_RESERVE * (most - least) / lift.min()
        assert abs(gave[THRUST] - np.clip(thrust, low, high)) <= reserve + 1e-8

    check()


def test_yaw_still_turns_at_full_thrust() -> None:
    level = wrench("iris", step("iris", setpoint(thrust=1.0, xy=False, z=False))[0])
    gave = wrench("iris", step("iris", setpoint(thrust=1.0, yaw=1.0, xy=False, z=False))[0])
    assert gave[TURNING] > 0.1
    assert 0.8 * level[THRUST] < gave[THRUST] < level[THRUST]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("roll", [0.0, 0.3])
def test_idles_evenly_with_the_stick_at_the_bottom_and_learns_nothing(name: str, roll: float) -> None:
    memory = np.zeros(MEMORY)
    for _ in range(1000):
        motors, _, memory = step(
            name,
            setpoint(thrust=0.0, yaw=1.0, xy=False, z=False),
            quat=frames.quat_from_euler(roll, 0, 0),
            memory=memory,
        )
    assert motors == pytest.approx(np.full(len(motors), cascade.COMMAND_LEAST), abs=1e-9)
    assert np.abs(memory[RATE_LEARNED]).max() == 0.0
    assert np.abs(memory[LEARNED]).max() < 0.2  # level ground or a slope: the idling rotors' own push


def test_what_it_learned_stays_within_bounds() -> None:
    memory = np.zeros(MEMORY)
    for _ in range(20_000):  # held on the ground against its will
        memory = step("iris", setpoint((9.0, 9.0, 9.0), yaw=2.0), memory=memory)[2]
    assert np.abs(memory[LEARNED]).max() <= 8.0
    assert np.abs(memory[RATE_LEARNED]).max() <= 30.0
    assert np.isfinite(memory).all()


def test_the_first_call_differentiates_nothing() -> None:
    moving = {"vel_W": (3.0, 0.0, 0.0), "rate_B": (0.5, 0.0, 0.0)}
    memory = step("iris", setpoint(), **moving)[2]  # type: ignore[arg-type]
    assert memory[cascade.ACCEL] == pytest.approx(np.zeros(3))
    assert memory[cascade.RATE_DOT] == pytest.approx(np.zeros(3))
    again = step("iris", setpoint(), memory=memory, **moving)[2]  # type: ignore[arg-type]
    assert again[cascade.RATE_DOT] == pytest.approx(np.zeros(3))


def test_letting_go_of_position_and_height_with_matching_setpoints_changes_nothing() -> None:
    memory, quat = np.zeros(MEMORY), frames.quat_from_euler(0.05, -0.1, 0.4)
    memory[LEARNED], memory[RATE_LEARNED] = (1.0, -0.5, 0.4), (0.2, 0.1, -0.1)
    held = setpoint((1.0, 2.0, 0.3), yaw=0.4)
    motors, attitude, after = step("iris", held, vel_W=(1.0, 0.0, 0.2), quat=quat, memory=memory)
    roll, pitch, yaw, thrust = attitude.tolist()
    for xy, z in ((False, True), (True, False), (False, False)):
        let_go = setpoint((1.0, 2.0, 0.3), yaw=yaw, roll=roll, pitch=pitch, thrust=thrust, xy=xy, z=z)
        same = step("iris", let_go, vel_W=(1.0, 0.0, 0.2), quat=quat, memory=memory)
        assert same[0] == pytest.approx(motors, abs=1e-12)
        assert same[1] == pytest.approx(attitude, abs=1e-12)
        assert same[2] == pytest.approx(after, abs=1e-12)


@cache
def linear_loop(name: str, period_s: float) -> tuple[Vec, Vec, Vec]:
    """At hover: what the aircraft and the law do without commands, what commands do, and how they are made."""
    a, f = airframe.load(name), FRAMES[name]
    n, lag_s = a.rotors.count, a.motors.lag_down_s
    A, B, _ = quadrotor.hover_linear(a.flight)
    span = f.speed_max_rad_s - f.speed_idle_rad_s
    Ad, Bd = linear.zero_order_hold(
        np.block([[A, B], [np.zeros((n, 12)), -np.eye(n) / lag_s]]),
        np.vstack([np.zeros((12, n)), np.eye(n) * span / lag_s]),
        period_s,
    )
    Ad = np.block([[Ad, Bd], [np.zeros((n, 12 + 2 * n))]])  # one period late
    error, memory = ca.SX.sym("error", 12), ca.SX.sym("memory", MEMORY)
    half = error[3:6] / 2
    nav = ca.vertcat(error[:3], error[6:9], ca.sqrt(1 - ca.sumsqr(half)), half, error[9:])
    motors, _, after = cascade.law(f, period_s)(nav, ca.DM(setpoint().row()), memory, ca.DM(DEFAULTS))
    slopes = ca.Function(
        "slopes", [error, memory], [ca.jacobian(y, x) for y in (motors, after) for x in (error, memory)]
    )
    started = np.zeros(MEMORY)
    started[0] = 1.0
    D, C, Bm, Am = (np.array(ca.DM(part)) for part in slopes(np.zeros(12), started))
    seen = np.hstack([np.eye(12), np.zeros((12, 2 * n))])
    free = np.block([[Ad, np.zeros((12 + 2 * n, MEMORY))], [Bm @ seen, Am]])
    drive = np.vstack([np.zeros((12 + n, n)), np.eye(n), np.zeros((MEMORY, n))])
    return free, drive, np.hstack([D @ seen, C])


def cut_loop(name: str, period_s: float, axis: int) -> tuple[Vec, Vec]:
    """Frequencies, and the response of the loop that is cut at one axis' torque."""
    f = FRAMES[name]
    free, drive, command = linear_loop(name, period_s)
    effects = allocation.effects(f.rotor_pos_B_m, f.rotor_spin, f.torque_to_thrust_m)
    into, out = np.linalg.pinv(effects)[:, axis], effects[axis]
    others = free + drive @ (np.eye(drive.shape[1]) - np.outer(into, out)) @ command
    w = np.geomspace(0.3, math.pi / period_s, 300)
    moved = np.exp(1j * w * period_s)[:, None, None] * np.eye(len(others)) - others
    inner = np.linalg.solve(moved, np.tile((drive @ into)[:, None], (len(w), 1, 1)))
    return w, -(inner[..., 0] @ (out @ command))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("period_s", [0.004, 0.002])
@pytest.mark.parametrize(("axis", "phase_deg"), [(THRUST, 60), (ROLLING, 42), (PITCHING, 42), (TURNING, 52)])
def test_margins(name: str, period_s: float, axis: int, phase_deg: float) -> None:
    free, drive, command = linear_loop(name, period_s)
    assert np.abs(np.linalg.eigvals(free + drive @ command)).max() < 1.0
    w, loop = cut_loop(name, period_s, axis)
    crossing = np.flatnonzero(np.diff(np.sign(np.abs(loop) - 1.0)))
    assert len(crossing) == 1
    assert 180.0 - abs(math.degrees(np.angle(loop[crossing[0]]))) > phase_deg
    turned = np.flatnonzero((np.diff(np.sign(loop.imag)) != 0) & (loop.real[:-1] < 0) & (w[:-1] > w[crossing[0]]))
    assert np.abs(loop[turned]).max(initial=0.0) < 10 ** (-18 / 20)


def test_an_airframe_of_plain_numbers_will_do() -> None:
    places = tuple((0.2 * math.cos(k * math.pi / 4), 0.2 * math.sin(k * math.pi / 4), 0.0) for k in range(8))
    octo = Frame(3.0, (0.05, 0.05, 0.09), places, (1, -1) * 4, 6e-6, 0.06, 100.0, 1100.0)
    law = cascade.law(octo, 0.004)
    assert [law.size1_in(i) for i in range(4)] == [13, 16, MEMORY, len(GAINS)]
    motors, _, _ = law((*NOWHERE, *NOWHERE, 1.0, 0.0, 0.0, 0.0, *NOWHERE), setpoint().row(), np.zeros(MEMORY), DEFAULTS)
    assert np.ptp(np.array(motors)) < 1e-12
    assert float(motors[0]) == pytest.approx((math.sqrt(3.0 * GRAVITY_M_S2 / 8 / 6e-6) - 100.0) / 1000.0)
