"""The helicopter's design model against closed forms: hover, induced velocity, flapping; its linear model and margins.

The closed forms are those of textbooks (momentum theory; Lock number), none is computed by the code under test.
"""

from __future__ import annotations

import math

import casadi as ca
import msgspec
import numpy as np
import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec, quat_from_euler
from aeroloop.families.helicopter import airframe, design, law, model
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.families.helicopter.rotors import Blades
from aeroloop.models import linear

DENSITY = model.SEA_LEVEL_KG_M3
PERIOD_S = 0.01


@pytest.fixture(scope="module")
def h() -> Helicopter:
    return airframe.load("xcell60")


def thrusts(h: Helicopter, state: Vec, command: Vec) -> tuple[float, float]:
    _, found = model.in_air(h)(state, command, [0, 0, 0], DENSITY)
    main, tail = np.array(found).ravel()
    return float(main), float(tail)


def test_in_hover_thrust_carries_weight_and_download_and_the_tail_cancels_the_torque(h: Helicopter) -> None:
    state, command = model.hover(h)
    roll, pitch, _ = state[model.ANGLES]
    main, tail = thrusts(h, state, command)
    inflow = state[model.INFLOW][0]
    weight = h.body.mass_kg * GRAVITY_M_S2
    download = 0.5 * DENSITY * h.body.drag_area_m2[2] * inflow**2
    tilt_x, tilt_y = state[model.TILT]
    # Along the body's z: the disc's tilt only turns the thrust.
    assert main - download == pytest.approx(weight * math.cos(roll) * math.cos(pitch), rel=1e-9)
    # The leaning weight carries the tail's side force and the tilted thrust; the disc tilts little.
    assert tail + main * -tilt_x == pytest.approx(weight * math.sin(roll), rel=1e-9)
    assert math.degrees(roll) == pytest.approx(math.degrees(math.atan(tail / weight)), abs=0.6)
    assert 4.0 < math.degrees(roll) < 6.0, "a clockwise rotor: the tail pushes left, and it leans to the right"
    # The engine's torque on the body is what the tail's thrust cancels on its arm.
    engine_Nm = command[model.THROTTLE] * h.drive.power_max_W / h.head.speed_rad_s
    assert tail * -h.tail_rotor.hub_B_m[0] == pytest.approx(engine_Nm, rel=1e-9)
    assert tilt_y == pytest.approx(0.0, abs=1e-9)


def test_a_rotor_that_turns_the_other_way_leans_the_other_way(h: Helicopter) -> None:
    mirrored = msgspec.structs.replace(h, head=msgspec.structs.replace(h.head, spin=1))
    (state, command), (other, others) = model.hover(h), model.hover(mirrored)
    assert other[model.ANGLES][0] == pytest.approx(-state[model.ANGLES][0])
    assert others[[0, 3, 4]] == pytest.approx(command[[0, 3, 4]]), "collective, tail pitch and power are the same"


def test_hover_is_refused_where_a_limit_does_not_permit_it(h: Helicopter) -> None:
    weak = msgspec.structs.replace(h, drive=msgspec.structs.replace(h.drive, power_max_W=1000.0))
    with pytest.raises(ConfigError, match=r"drive\.power_max_W: hover needs 1171 W"):
        model.hover(weak)
    stiff = msgspec.structs.replace(h, swashplate=msgspec.structs.replace(h.swashplate, tail_rad=(-0.2, 0.2)))
    with pytest.raises(ConfigError, match=r"swashplate\.tail_rad: hover needs 0\.218 rad"):
        model.hover(stiff)


def settled(h: Helicopter, *, climb: float, along: float, pitch: float = 0.1) -> tuple[float, float]:
    """Thrust and inflow of the world's main rotor when its inflow has come to rest, and the design model's thrust."""
    rotor, blades = h.main_rotor, Blades(h.main_rotor)
    tip, inflow = h.head.speed_rad_s * rotor.radius_m, 3.0
    for _ in range(2000):
        found = blades.load(DENSITY, pitch, tip, along, climb, inflow)
        inflow += 1e-3 * found.inflow_dot
    same = float(ca.DM(model.thrust_N(rotor, DENSITY, pitch, tip, along**2, climb + inflow)))
    assert found.thrust_N == pytest.approx(same, rel=1e-12)
    return found.thrust_N, inflow


@pytest.mark.parametrize("pitch", [0.05, 0.1, 0.15])
def test_inflow_in_hover_is_blade_element_and_momentum_theory_s(h: Helicopter, pitch: float) -> None:
    """2 k l^2 + s a l / 4 - s a theta / 6 = 0, for the inflow ratio l."""
    rotor = h.main_rotor
    sa, k = rotor.solidity * rotor.lift_slope, rotor.wake_factor
    ratio = (-sa / 4 + math.sqrt((sa / 4) ** 2 + 8 * k * sa * pitch / 6)) / (4 * k)
    thrust, inflow = settled(h, climb=0.0, along=0.0, pitch=pitch)
    assert inflow == pytest.approx(ratio * h.head.speed_rad_s * rotor.radius_m, rel=1e-6)
    assert thrust == pytest.approx(2 * k * DENSITY * rotor.disc_m2 * inflow**2, rel=1e-6)


@pytest.mark.parametrize("climb", [-1.0, 2.0, 6.0])
def test_inflow_in_a_climb_is_momentum_theory_s(h: Helicopter, climb: float) -> None:
    thrust, inflow = settled(h, climb=climb, along=0.0)
    hover2 = thrust / (2 * h.main_rotor.wake_factor * DENSITY * h.main_rotor.disc_m2)
    assert inflow == pytest.approx(-climb / 2 + math.sqrt(climb**2 / 4 + hover2), rel=1e-6)


@pytest.mark.parametrize("along", [3.0, 12.0])
def test_inflow_in_forward_flight_is_glauert_s(h: Helicopter, along: float) -> None:
    thrust, inflow = settled(h, climb=0.0, along=along)
    hover2 = thrust / (2 * h.main_rotor.wake_factor * DENSITY * h.main_rotor.disc_m2)
    assert inflow**2 == pytest.approx(-(along**2) / 2 + math.sqrt(along**4 / 4 + hover2**2), rel=1e-5)


def test_the_disc_follows_cyclic_pitch_with_the_lag_of_its_lock_number(h: Helicopter) -> None:
    """16 / (gamma W) is 0.12 s: with the body held, the tilt has covered 1 - 1/e of its way after it."""
    lag_s = 16 / (0.8 * 167.0)
    state, command = model.hover(h)
    state = state.copy()
    state[model.SERVOS][1] += 0.01
    disc, aim, dt_s = state[model.TILT][0], state[model.TILT][0] + 4.2 * 0.01, 1e-4
    dynamics = model.dynamics(h)
    for _ in range(round(lag_s / dt_s)):
        state[model.TILT][0] = disc
        disc += dt_s * float(dynamics(state, command)[model.TILT.start])
    gone = (disc - (aim - 0.042)) / 0.042
    assert gone == pytest.approx(1 - 1 / math.e, abs=1e-3)


def test_the_disc_lags_a_turning_body(h: Helicopter) -> None:
    """At a steady roll rate the disc trails by rate times lag: the damping of a rotor."""
    state, command = model.hover(h)
    state = state.copy()
    state[model.RATE][0] = 0.5
    state[model.TILT][0] -= 0.5 * h.head.flap_lag_s
    # The hub is above the centre of mass: rolling moves it sideways, which tilts the disc by a little.
    assert float(model.dynamics(h)(state, command)[model.TILT.start]) == pytest.approx(0.0, abs=0.01)


def test_the_linear_model_is_that_of_finite_differences(h: Helicopter) -> None:
    state, command = model.hover(h)
    dynamics = model.dynamics(h)
    A, B = linear.linearise(dynamics, state, command)
    step = 1e-6

    def slope(at: Vec, index: int, of_input: bool) -> Vec:
        ends = []
        for side in (step, -step):
            moved = at.copy()
            moved[index] += side
            ends.append(np.array(dynamics(state, moved) if of_input else dynamics(moved, command)).ravel())
        found: Vec = (ends[0] - ends[1]) / (2 * step)
        return found

    for index in range(model.STATES):
        assert slope(state, index, False) == pytest.approx(A[:, index], abs=2e-4), index
    for index in range(model.INPUTS):
        assert slope(command, index, True) == pytest.approx(B[:, index], abs=2e-4), index


def test_the_closed_loop_is_stable_with_margins(h: Helicopter) -> None:
    """The whole law, governor included, on the whole model: half and twice the gain of each servo, 50 ms of delay."""
    plan = design.design(h, PERIOD_S)
    own = plan.feedback(law.of_state(law.law(h, plan)))
    assert plan.radius(own, 0.0) < 0.996
    for servo in range(model.THROTTLE):
        for factor in (0.5, 2.0):
            gains = tuple(factor if i == servo else 1.0 for i in range(model.INPUTS))
            assert plan.radius(own, 0.0, gains) < 1.0, (servo, factor)
    assert plan.radius(own, 0.0, (0.5, 0.5, 0.5, 0.5, 1.0)) < 1.0
    assert plan.radius(own, 0.0, (2.0, 2.0, 2.0, 2.0, 1.0)) < 1.0
    assert 0.050 < plan.delay_margin_s(own) < 0.080
    assert plan.radius(own, 0.1) > 1.0, "and the prediction can say no"


def test_without_the_law_it_does_not_come_back(h: Helicopter) -> None:
    A, _ = linear.linearise(model.dynamics(h), *model.hover(h))
    assert np.linalg.eigvals(A).real.max() > -1e-9


def test_hover_is_a_rest_of_the_law(h: Helicopter) -> None:
    plan = design.design(h, PERIOD_S)
    command, memory = law.of_state(law.law(h, plan))(plan.state_eq, np.zeros(law.MEMORY))
    assert np.array(command).ravel() == pytest.approx(plan.command_eq, abs=1e-12)
    assert np.array(memory).ravel() == pytest.approx(np.zeros(law.MEMORY), abs=1e-12)


@pytest.mark.parametrize("yaw", [0.7, 2.5, -3.0])
def test_the_law_is_the_same_at_every_heading(h: Helicopter, yaw: float) -> None:
    """Errors, setpoint and integrals turned with the helicopter give the same pitches, and turned integrals."""
    own = law.law(h, design.design(h, PERIOD_S))

    def answer(turn: float) -> tuple[Vec, Vec]:
        c, s = math.cos(turn), math.sin(turn)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        quat = quat_from_euler(0.15, -0.1, turn + 0.05)
        off, vel, wanted_vel, accel = np.array([[0.3, -0.2, 0.1], [0.1, 0.2, 0.0], [0.5, -0.3, 0.0], [0.2, 0.1, 0.0]])
        place = np.array([4.0, 5.0, 6.0])
        motion = [*(place + R @ off), *(R @ vel), *quat, 0.1, -0.2, 0.05, 166.0]
        setpoint = [*place, *(R @ wanted_vel), *(R @ accel)[:2], turn, 0.1]
        memory = np.zeros(law.MEMORY)
        memory[law.INTEGRALS] = [*(R @ [0.4, 0.6, -0.2]), 0.1]
        command, kept = own([*motion, *setpoint], memory)
        integrals: Vec = R.T @ np.array(kept).ravel()[:3]
        return np.array(command).ravel(), integrals

    (pitches, integrals), (turned, turned_integrals) = answer(0.0), answer(yaw)
    assert turned == pytest.approx(pitches, abs=1e-12)
    assert turned_integrals == pytest.approx(integrals, abs=1e-12)
