"""Each property of the synchronisation law, of its gains, certificate and robot, with a defect put in: one line of a
module's source is replaced, and the test of the property must fail. The tests are those of the suite; where they draw
examples, one example is given. Numbers are those of the twelve properties.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import Any

import pytest
import synchronised_axes
import test_synchronisation as properties
import test_synchronisation_gains as of_gains

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import synchronisation, synchronisation_certificate, synchronisation_gains
from aeroloop.families.rrr import dynamics, kinematics, plants
from families import test_rrr_loop as in_loop
from families import test_rrr_model as of_model
from helpers import rrr_loop
from helpers import synchronised_axes as axes_of_loop

Check = Callable[[], None]


class Drawn:
    """In place of hypothesis: the one sample that is drawn."""

    def __init__(self, sample: object) -> None:
        self._sample = sample

    def draw(self, strategy: object) -> object:
        return self._sample


def example(test: Any, **given: Any) -> Check:
    """A test that draws its examples, with this one."""
    return partial(test.hypothesis.inner_test, **given)


def far(*, error: float = 180.0, neurons: float = 1.0, deviation: float = 0.75, ref: float = 600.0) -> Check:
    """Errors of two axes with a memory at its bounds, for the test of the bounds."""
    integral, kept = [999.9 * math.copysign(1.0, error)] * 4, [*[ref] * 4, *[0.0] * 4]
    memory = [1.0, *integral, *kept, *[neurons] * 12, *[deviation] * 8, *[0.29] * 4]
    return example(
        properties.test_any_input_and_memory_stay_within_the_bounds,
        axes=synchronised_axes.ROTORS,
        gains=synchronisation_gains.ROTOR,
        data=Drawn(([ref - error, ref - error, ref, ref], [ref] * 4, memory)),
    )


equal_errors = example(properties.test_equal_errors_leave_the_network_silent, common=50.0)
permuted = example(
    properties.test_permuted_axes_permute_the_outputs_and_nu_has_zero_sum,
    rows=[[40.0, -10.0, 5.0, 0.0], [30.0, 0.0, 5.0, -5.0], [30.0, 5.0, 5.0, -5.0], [30.0, 0.0, 9.0, -5.0]],
    order=[2, 0, 3, 1],
)
reaching = example(
    properties.test_outside_the_layer_the_lyapunov_function_falls,
    signs=[1.0, -1.0, 1.0, 1.0],
    sizes=[2.0, 3.0, 1.5, 5.0],
    deltas=[0.9, -0.9, 0.5, 0.9],
)


def in_dead_zone(size: float) -> Check:
    return example(
        properties.test_inside_the_dead_zone_the_weights_only_leak, deviations=[0.3, 0.1, -0.1, 0.6] * 2, size=size
    )


def learnt(*, alternates: bool) -> Check:
    return partial(
        properties.test_a_lasting_error_raises_the_gain_and_an_alternating_one_lowers_it, alternates, not alternates
    )


golden_joint, golden_rotor = (
    partial(properties.test_golden_values_interpreted_and_compiled, plant) for plant in ("joint", "rotor")
)
fast_integral = partial(of_gains.test_a_fast_integral_on_the_joints_fails_at_the_heavy_weak_corner, 0.03)
empty_weight = partial(
    of_gains.test_bad_gains_are_refused_in_one_sentence, {"w0": [0.2, 0.0, 0.0]}, "w0: expected a weight I above 0"
)
energy = of_model.test_energy_is_kept_without_torque_and_friction
bodies = partial(of_model.test_the_bodies_in_mujoco_move_as_the_reduced_equations, of_model.NO_PAYLOAD)
keeps_neuron = properties.test_a_saturated_axis_keeps_its_integral_neuron
winds_up = properties.test_a_saturated_axis_winds_nothing_up
coupled = properties.test_coupling_halves_the_differences_and_leaves_the_mean
accepted = in_loop.test_the_acceptance_and_where_it_is_not_better

PUSH = 'push = g["k"] * clip(s / g["phi"], -1, 1) + g["q"] * s'
INVERSE = "ca.solve(ca.SX(np.eye(n)) + g['beta'] * ca.SX(mean_free(n)), "
NEXT = 'clip(w[j] + ts * (step * x_last[j] - g["gam"] * (w[j] - w0[j])), 0, WEIGHT_MAX[j])'
FROZEN = "x2 = ca.if_else(saturated, x_last[1], x2)"
FILTERS = "NETWORK_RATE_HZ = 5.0, 80.0, 40.0"
START = "*(150.0, 3.0, 0.02, 0.2, 0.2, 0.0, 1000.0, 1.0)"
POLES = 'JOINT_POLES = {"pid": Poles(100 / 3, 100 / 3)'


@dataclass(frozen=True)
class Defect:
    name: str
    module: ModuleType
    line: str
    instead: str
    check: Check


LAW, GAINS, CERTIFICATE = synchronisation, synchronisation_gains, synchronisation_certificate
DEFECTS = [
    # 1. Sliding mode to the bit, a silent network without its gain, PID with feed-forward inside the layer
    Defect(
        "1 smooth boundary layer",
        LAW,
        'clip(s / g["phi"], -1, 1)',
        'ca.tanh(s / g["phi"])',
        properties.test_without_coupling_and_network_it_is_a_sliding_mode_to_the_bit,
    ),
    Defect(
        "1 network without its gain",
        LAW,
        'g["gs"] * g["sn"] * (w[0]',
        'g["sn"] * (w[0]',
        properties.test_without_a_network_its_keys_have_no_effect,
    ),
    Defect(
        "1 no feed-forward",
        LAW,
        'base = g["feedforward"] * rate + lam * e',
        "base = lam * e",
        properties.test_inside_the_layer_sliding_mode_is_pid_with_feedforward,
    ),
    Defect(
        "1 joint integral with lam",
        LAW,
        "2 * lam * e + lam * lam * integral",
        "2 * lam * e + lam * integral",
        properties.test_inside_the_layer_a_joints_sliding_mode_is_pid_with_feedforward,
    ),
    # 2. Equal errors, permutation, zero sum
    Defect("2 network reads the mean", LAW, "clip(_without_mean(rho) /", "clip(rho /", equal_errors),
    Defect("2 nu not projected", LAW, "nu = _without_mean(", "nu = (", permuted),
    Defect("2 one axis leads", LAW, "- ca.sum1(values) / values.numel()", "- values[0]", permuted),
    # 3. Coupling
    Defect("3 push by T^-1", LAW, PUSH, PUSH.replace("= ", "= " + INVERSE, 1) + ")", coupled),
    Defect("3 no S", LAW, "(ca.DM(coupling_matrix(rho.shape[0], coupling)) @ rho)", "rho", coupled),
    Defect("3 sign of S", LAW, "return rho + beta *", "return rho - beta *", coupled),
    # 4. Learning
    Defect("4 learning sign", LAW, "ts * (step *", "ts * (-step *", properties.test_learning_reduces_the_differences),
    Defect("4 learning sign, lasting error", LAW, "ts * (step *", "ts * (-step *", learnt(alternates=False)),
    Defect(
        "4 e = y - r in the network",
        LAW,
        "et = clip(_without_mean(rho)",
        "et = clip(-_without_mean(rho)",
        properties.test_learning_reduces_the_differences,
    ),
    Defect("4 gradient with x of now", LAW, "(step * x_last[j]", "(step * (x1, x2, x3)[j]", learnt(alternates=True)),
    # 5. Box, leak, dead zone, fresh start
    Defect("5 weights not in the box", LAW, NEXT, NEXT.partition("(")[2].partition(", 0, W")[0], far()),
    Defect("5 weights below 0", LAW, NEXT, NEXT.replace(", 0,", ", -1,"), far(neurons=-1.0, deviation=-0.2)),
    Defect(
        "5 x2 not limited", LAW, 'clip(x_last[1] + ts / g["ti"] * et, -1, 1)', 'x_last[1] + ts / g["ti"] * et', far()
    ),
    Defect("5 x3 not limited", LAW, "- x_last[2]), -1, 1)", "- x_last[2]), -9, 9) * 9", far()),
    Defect("5 u not limited", LAW, "u = clip(want, axes.low, axes.high)", "u = want", far(ref=1000.0)),
    Defect(
        "5 integral not limited", LAW, 'ts * e, -g["imax"], g["imax"])', "999 * ts * e, -1e9, 1e9)", far(error=-180.0)
    ),
    Defect("5 no leak", LAW, ' - g["gam"] * (w[j] - w0[j])', "", in_dead_zone(0.0)),
    Defect("5 no dead zone", LAW, '> g["dz"]', "> 0", in_dead_zone(1.0)),
    Defect("5 weights not from w0", LAW, "clip(w0[j] + dw[j], 0", "clip(dw[j], 0", equal_errors),
    Defect("5 zeros are no fresh start", LAW, "memory[0] > 0.5", "memory[0] > -1", golden_joint),
    # 6. Reaching
    Defect("6 push away", LAW, 'push = g["k"]', 'push = -g["k"]', reaching),
    Defect(
        "6 no integral",
        LAW,
        "clip(integral + ts * e,",
        "clip(0 * e,",
        properties.test_a_constant_load_is_held_without_error,
    ),
    # 7. Certificate
    Defect("7 Ti ignored", CERTIFICATE, "ts / g.ti * et", "ts / 0.08 * et", fast_integral),
    Defect(
        "7 delay ignored",
        CERTIFICATE,
        "held if delay else u",
        "u",
        of_gains.test_a_large_network_gain_on_the_rotors_fails_with_a_sample_of_delay,
    ),
    Defect(
        "7 weights not varied", CERTIFICATE, "WEIGHT_LEVELS = (0.0, 0.5, 1.0)", "WEIGHT_LEVELS = (0.0,)", fast_integral
    ),
    # 8. Saturation
    Defect("8 x2 not frozen", LAW, FROZEN, "x2 = x2", keeps_neuron),
    Defect("8 mean out of x2", LAW, FROZEN, FROZEN.replace("= ", "= _without_mean(") + ")", keeps_neuron),
    Defect("8 integral winds up", LAW, "ca.if_else(winds, integral,", "ca.if_else(0 * winds, integral,", winds_up),
    Defect("8 learns while saturated", LAW, "ca.logic_not(saturated)", "1 - 0 * saturated", winds_up),
    # 9. Kinematics and dynamics
    Defect(
        "9 working mode of leg 2",
        kinematics,
        "q_i = direction + ca.acos(",
        "q_i = direction + (-1 if angle == LEG_ANGLES_RAD[1] else 1) * ca.acos(",
        of_model.test_the_joints_of_given_poses,
    ),
    Defect(
        "9 Jacobian of the angle",
        kinematics,
        "r * (-v[0] * ca.sin",
        "r * (v[0] * ca.sin",
        of_model.test_the_jacobian_is_the_derivative_of_the_joints,
    ),
    Defect(
        "9 forward kinematics",
        kinematics,
        "NEWTON_STEPS, NEWTON_RAD = 20, 1e-12",
        "NEWTON_STEPS, NEWTON_RAD = 20, 1e-4",
        of_model.test_forward_kinematics_returns_the_pose,
    ),
    Defect("9 no dT/dx, energy", dynamics, " - ca.gradient(energy, pose)", "", energy),
    Defect(
        "9 no dT/dx, multipliers",
        dynamics,
        " - ca.gradient(energy, pose)",
        "",
        of_model.test_the_reduced_equations_are_those_with_multipliers,
    ),
    Defect("9 no motor inertia in MuJoCo", plants, ' armature="{robot.motor_kgm2}"', "", bodies),
    # 10. Golden values
    Defect("10 rate filter", LAW, FILTERS, FILTERS.replace("80.0", "81.0"), golden_joint),
    Defect("10 reference filter", LAW, FILTERS, FILTERS.replace("5.0", "6.0"), golden_rotor),
    Defect("10 learning step", LAW, "DELTA = 0.05", "DELTA = 0.06", golden_joint),
    # 11. Limit cycle
    Defect(
        "11 w0_I = 0",
        GAINS,
        START,
        START.replace("0.2, 0.2", "0.2, 0.0"),
        properties.test_an_empty_integral_weight_cycles_and_the_default_does_not,
    ),
    Defect("11 w0_I = 0 is not refused", GAINS, "self.w0[1] == 0.0", "self.w0[1] < 0.0", empty_weight),
    # 12. Acceptance, and where it is not better
    Defect("12 PID without its gain", GAINS, POLES, POLES.replace("100 / 3", "60 / 3"), accepted),
    Defect("12 better in the common mode", LAW, "- ca.sum1(values) / values.numel()", "- 0 * values", accepted),
    Defect("12 no learning", LAW, "ts * (step *", "ts * (0 * step *", accepted),
]

LONG = ("9 no motor inertia in MuJoCo", "12 PID without its gain", "12 better in the common mode")
"""Behind `make soak`: others of their property stay."""


def changed(module: ModuleType, line: str = "", instead: str = "") -> ModuleType:
    """The module built anew from its source, with one line replaced."""
    source = inspect.getsource(module)
    assert not line or source.count(line) == 1, f"{module.__name__}: {line!r} occurs {source.count(line)} times"
    made = ModuleType(f"{module.__name__}_changed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, made.__name__, made)  # dataclasses look their module up
        exec(compile(source.replace(line, instead) if line else source, made.__name__, "exec"), made.__dict__)
    return made


@contextmanager
def in_place_of(module: ModuleType, made: ModuleType) -> Iterator[None]:
    """The tests use `made`, by the names under which they import parts of the module."""
    names = {
        synchronisation: [
            *((user, "synchronisation", made) for user in (synchronised_axes, axes_of_loop, properties)),
            *((properties, name, getattr(made, name, None)) for name in ("surface", "coupling_matrix")),
        ],
        synchronisation_gains: [
            (properties, "ROTOR", getattr(made, "ROTOR", None)),
            (of_gains, "SynchronisationTable", getattr(made, "SynchronisationTable", None)),
            *((rrr_loop, name, getattr(made, name, None)) for name in ("JOINT_POLES", "of_law")),
        ],
        synchronisation_certificate: [(of_gains, name, getattr(made, name, None)) for name in ("check", "worst")],
        kinematics: [(of_model, "KINEMATICS", made.Kinematics(of_model.ROBOT) if module is kinematics else None)],
        dynamics: [(user, "dynamics", made) for user in (of_model, plants)],
        plants: [(of_model, name, getattr(made, name, None)) for name in ("Multibody", "Reduced")],
    }[module]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, made.__name__, made)
        if module is dynamics:
            patch.setattr(plants, "fastest", Evaluator)  # a defect is not worth a compiler's time
        for user, name, value in names:
            patch.setattr(user, name, value)
        yield


@cache
def accepts_the_original(module: ModuleType, check: Check) -> bool:
    with in_place_of(module, changed(module)):
        check()
    return True


@pytest.mark.parametrize(
    "defect",
    [pytest.param(defect, marks=pytest.mark.soak if defect.name in LONG else (), id=defect.name) for defect in DEFECTS],
)
def test_a_defect_is_seen(defect: Defect) -> None:
    assert accepts_the_original(defect.module, defect.check)
    with (
        in_place_of(defect.module, changed(defect.module, defect.line, defect.instead)),
        pytest.raises((AssertionError, pytest.fail.Exception)),
    ):
        defect.check()


def test_every_property_has_a_defect() -> None:
    assert {int(defect.name.partition(" ")[0]) for defect in DEFECTS} == set(range(1, 13))
