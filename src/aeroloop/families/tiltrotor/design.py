"""The tilt-rotor's control design: parameters -> equilibrium -> linear model -> gain -> law."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from aeroloop.boards.config import Control, Predictive
from aeroloop.boards.host import Behaviour
from aeroloop.control import custom, lqr, mpc
from aeroloop.control.host_law import HostLawDesign
from aeroloop.control.toolkit import REFERENCED
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.models import delay, linear, tiltrotor
from aeroloop.protocols.interface import MOST_ALIGNED

FILE = "families/tiltrotor/params.toml"
PREDICTIVE = Predictive()


class Weights(Struct, frozen=True, forbid_unknown_fields=True):
    state: tuple[float, ...]
    input: tuple[float, ...]


class Plausible(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on a row of values and on its change per sample; `wraps` are angles that may jump by a turn."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    step: tuple[float, ...]
    wraps: tuple[int, ...] = ()


class PlausibleRows(Struct, frozen=True, forbid_unknown_fields=True):
    sensors: Plausible
    command: Plausible


class ParameterFile(Struct, frozen=True, forbid_unknown_fields=True):
    sets: dict[str, tiltrotor.Parameters]
    weights: dict[str, Weights]
    plausible: PlausibleRows


@cache
def parameter_file() -> ParameterFile:
    text = resources.files("aeroloop").joinpath(FILE).read_text(encoding="utf-8")
    return convert(tomllib.loads(text), ParameterFile, FILE)


def parameters(name: str) -> tiltrotor.Parameters:
    sets = parameter_file().sets
    if name not in sets:
        raise ConfigError(f"vehicle.parameters: unknown set {name!r}, expected one of: {', '.join(sets)}")
    return sets[name]


def scaled(p: tiltrotor.Parameters, mass: Any, inertia: Any) -> tiltrotor.Parameters:
    """The set with factors on masses and inertias, which may be symbols."""
    return replace(
        p,
        fuselage_mass_kg=mass * p.fuselage_mass_kg,
        pod_mass_kg=tuple(mass * m for m in p.pod_mass_kg),
        fuselage_inertia_kgm2=tuple(tuple(inertia * i for i in row) for row in p.fuselage_inertia_kgm2),
        pod_inertia_kgm2=tuple(tuple(inertia * i for i in row) for row in p.pod_inertia_kgm2),
    )


def modelled(scenario: TiltrotorScenario) -> tiltrotor.Parameters:
    """The aircraft as the law's design has it."""
    vehicle = scenario.aircraft.vehicle
    return replace(parameters(vehicle.parameters), rotor_inertia_kgm2=vehicle.rotors.designed_kgm2)


def simulated(scenario: TiltrotorScenario) -> tiltrotor.Parameters:
    """The aircraft that flies."""
    p, vehicle = parameters(scenario.aircraft.vehicle.parameters), scenario.aircraft.vehicle
    rotors = vehicle.rotors
    flown = scaled(p, vehicle.scale.mass, vehicle.scale.inertia)
    axial = min(inertia[2] for inertia in flown.pod_inertia_kgm2)
    if rotors.inertia_kgm2 >= axial:
        raise ConfigError(
            f"vehicle.rotors.inertia_kgm2: expected less than that of a pod with its rotor, {axial:g} kg m2"
        )
    return replace(flown, rotor_inertia_kgm2=rotors.inertia_kgm2, rotor_drag_Ns2_m=rotors.drag_Ns2_m)


@dataclass(frozen=True)
class Design:
    """A flyable law and all intermediate results of its design."""

    q_eq: Vec  # (8,)
    u_eq: Vec  # (4,)
    A: Vec  # (20, 20) continuous, with integrators
    B: Vec  # (20, 4)
    K: Vec  # (4, 20)
    period_s: float
    weights: tuple[Vec, Vec]  # (20,) of the states, (4,) of the inputs

    @property
    def state_eq(self) -> Vec:
        """(16,) Hovering at rest, in the order of the sensors."""
        return np.concatenate([self.q_eq, np.zeros(8)])

    def law(self, name: str, predictive: Predictive = PREDICTIVE) -> ca.Function:
        """One of the laws of `control.law`."""
        if name == "mpc":
            problem = self.predictive_problem(predictive)
            return mpc.law(problem, self.K, self.state_eq, self.u_eq, self.period_s)
        return lqr.law(self.K, self.state_eq, self.u_eq, self.period_s, heading=name == "dlqr-heading")

    def predictive_problem(self, settings: Predictive) -> mpc.Problem:
        """Of the law `mpc`."""
        thrust_N, torque_Nm = settings.thrust_max_N, settings.torque_max_Nm
        accel = np.array([settings.accel_max_m_s2] * 3 + [settings.yaw_accel_max_rad_s2])
        bounds = mpc.Bounds(
            input_low=np.array([0.0, 0.0, -torque_Nm, -torque_Nm]) - self.u_eq,
            input_high=np.array([thrust_N, thrust_N, torque_Nm, torque_Nm]) - self.u_eq,
            state=np.radians([settings.roll_max_deg, settings.yaw_error_max_deg]),
            acceleration=accel,
        )
        if not np.all((bounds.input_low < 0) & (bounds.input_high > 0)):
            hover_N = float(np.max(self.u_eq))
            raise ConfigError(f"control.mpc.thrust_max_N: expected more than {hover_N:.3g} N, the thrust of hover")
        horizon = mpc.Horizon(
            settings.steps,
            settings.step_s,
            settings.iterations,
            settings.residual_max,
            settings.input_penalty,
            settings.state_penalty,
        )
        model = linear.zero_order_hold(self.A, mpc.with_path(self.B), settings.step_s)
        periods = settings.step_s / self.period_s  # the weights are those of a sum over control periods
        Q, R = (periods * weight for weight in self.weights)
        return mpc.problem(*model, Q, R, bounds, horizon)

    def safe_command(self, thrust_ratio: float) -> tuple[float, ...]:
        """Below hover thrust without tilt torque: without sensors, the aircraft sinks rather than climbs."""
        return (*(float(u) * thrust_ratio for u in self.u_eq[:2]), 0.0, 0.0)

    def delay_radius(self, delay_s: float) -> float:
        return delay.spectral_radius(self.A, self.B, self.K, self.period_s, delay_s)

    def own_delay_radius(self, law: ca.Function) -> Callable[[float], float] | None:
        """The same for any law, linearised in hover, by added delay; None if it has no derivative there."""
        x, m = ca.MX.sym("x", len(self.state_eq)), ca.MX.sym("m", law.size1_in(2))
        hover = ca.DM(self.state_eq[list(REFERENCED)])
        feedback = delay.Feedback.linearised(ca.Function("law", [x, m], law.call([x, hover, m])[:2]), self.state_eq)
        if not feedback.finite:
            return None
        A, B = self.A[: len(self.state_eq), : len(self.state_eq)], self.B[: len(self.state_eq)]
        return lambda delay_s: delay.loop_radius(A, B, feedback, self.period_s, delay_s)

    def delay_margin_s(self) -> float:
        return delay.margin_s(self.A, self.B, self.K, self.period_s)


def flight_law(control: Control, plan: Design) -> ca.Function:
    """The law of a scenario: the user's file if one is named, else a built-in one."""
    if control.host_only:
        raise ConfigError(f"control.law: {control.law} is not one CasADi function; expected mpc, dlqr or dlqr-heading")
    return custom.load(Path(control.law_file), plan) if control.law_file else plan.law(control.law, control.mpc)


def board_law(scenario: TiltrotorScenario) -> tuple[ca.Function | HostLawDesign, Behaviour]:
    """Settings of the board: the law, the aircraft's data and the board's behaviour."""
    control, board = scenario.controller.control, scenario.controller.board
    plan = of_scenario(scenario)
    behaviour = Behaviour(
        period_ns=round(control.period_s * NS),
        hover_command=tuple(plan.u_eq.tolist()),
        safe_command=plan.safe_command(board.safe_thrust_ratio),
        bounds=parameter_file().plausible.sensors,
        config=board,
    )
    if control.host_only:
        return host_law(scenario, plan), behaviour
    law = flight_law(control, plan)
    if scenario.controller.redundancy is not None:
        behaviour = dataclasses.replace(behaviour, integrators=integrators(control, law))
    return law, behaviour


def integrators(control: Control, law: ca.Function) -> int:
    """How many numbers at the beginning of the law's memory several boards align: a built-in law's integrals, all of
    the memory of a law of a file."""
    if not control.law_file:
        return len(lqr.INTEGRATED)
    count = int(law.size1_in(2))
    if count > MOST_ALIGNED:
        raise ConfigError(
            f"redundancy: {control.law_file} has a memory of {count} numbers; several boards can align {MOST_ALIGNED}"
        )
    return count


def host_law(scenario: TiltrotorScenario, plan: Design) -> HostLawDesign:
    """A law of `boards.config.HOST_LAWS`."""
    from aeroloop.families.tiltrotor import mppi_law, nonlinear

    if scenario.controller.control.law == "mppi":
        return mppi_law.law(scenario, plan)
    return nonlinear.host_law(modelled(scenario), plan, scenario.controller.control.nmpc)


def command_bounds() -> Plausible:
    return parameter_file().plausible.command


def of_scenario(scenario: TiltrotorScenario) -> Design:
    """The design of its law."""
    vehicle, control = scenario.aircraft.vehicle, scenario.controller.control
    return design(vehicle.parameters, control.weights, control.period_s, vehicle.rotors.designed_kgm2)


def design(parameter_set: str, weight_set: str, period_s: float, rotor_inertia_kgm2: float = 0.0) -> Design:
    """A copy for each caller, since a law of the user's may write into its arrays."""
    return deepcopy(_designed(parameter_set, weight_set, period_s, rotor_inertia_kgm2))


@lru_cache(maxsize=8)
def _designed(parameter_set: str, weight_set: str, period_s: float, rotor_inertia_kgm2: float) -> Design:
    """Computed once: a worker of a campaign flies one design many times."""
    p = replace(parameters(parameter_set), rotor_inertia_kgm2=rotor_inertia_kgm2)
    weights = parameter_file().weights
    if weight_set not in weights:
        raise ConfigError(f"control.weights: unknown set {weight_set!r}, expected one of: {', '.join(weights)}")
    q_eq, u_eq, residual = tiltrotor.equilibrium(p)
    if not residual < 1e-10:
        raise ConfigError(f"{FILE}: no hover equilibrium for parameter set {parameter_set!r}")
    state_eq = np.concatenate([q_eq, np.zeros(8)])
    A, B = linear.with_integrators(*linear.linearise(tiltrotor.dynamics(p), state_eq, u_eq), lqr.INTEGRATED)
    Ad, Bd = linear.zero_order_hold(A, B, period_s)
    chosen = weights[weight_set]
    own = np.array(chosen.state), np.array(chosen.input)
    return Design(q_eq, u_eq, A, B, lqr.gain(Ad, Bd, *own), period_s, own)
