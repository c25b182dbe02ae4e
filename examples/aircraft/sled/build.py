"""The sled's vehicle, as stages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sled.scenario import SledScenario

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.core.bounds import beyond
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import Offer, of_actuators
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Driven, Stages, Vehicle

MOST_PUSH_N = 10.0
PROPELLERS = ("propeller",)
LEVEL = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Its quaternion and its rates: it does not turn."""


@dataclass(frozen=True, slots=True)
class State:
    pos_W: Vec3
    vel_W: Vec3


class Propeller:
    def step(self, command: tuple[float, ...], dt_ns: int) -> float:
        return min(max(command[0], -MOST_PUSH_N), MOST_PUSH_N)


class Rail:
    """m dv/dt = push - friction v, in small steps."""

    def __init__(self, mass_kg: float, friction_Ns_m: float, start_m: float) -> None:
        self._mass_kg, self._friction_Ns_m = mass_kg, friction_Ns_m
        self._x_m, self._v_m_s = start_m, 0.0

    def step(self, push_N: float, dt_ns: int) -> None:
        dt_s = dt_ns / NS
        self._v_m_s += dt_s * (push_N - self._friction_Ns_m * self._v_m_s) / self._mass_kg
        self._x_m += dt_s * self._v_m_s

    def state(self, t_ns: int) -> State:
        return State((self._x_m, 0.0, 0.0), (self._v_m_s, 0.0, 0.0))


class Rows(CommonRows):
    def step(self, vehicle: Vehicle[float, State], push_N: float, samples: list[Any]) -> None:
        t_s, state = vehicle.t_ns / NS, vehicle.state
        self._publish["truth"](t_s, *state.pos_W, *state.vel_W, *LEVEL)
        self._publish["effort"](t_s, push_N)


def no_sensor_faults(switch: Switch) -> Switched:
    raise ConfigError(f"{switch.target}: of a sled only the propeller fails")


def fault_offers(scenario: SledScenario) -> tuple[Offer, ...]:
    return of_actuators(PROPELLERS)


def vehicle(scenario: SledScenario, number: int, publish: Mapping[str, Callable[..., None]]) -> Vehicle[float, State]:
    sled = scenario.aircraft.vehicle
    stages = Stages(
        motion=Driven(Propeller(), Rail(sled.mass_kg, sled.friction_Ns_m, sled.start_m)),
        surroundings=None,
        sense=lambda state, push_N: [],
        lost=lambda state: beyond(state.pos_W, scenario.aircraft.world.length_m),
        contact=lambda t_ns, state: None,
        switch=no_sensor_faults,
        rows=Rows(publish),
        measure=lambda state: (state.pos_W[0], state.vel_W[0]),
        actuators=ActuatorFaults([Channel(name, "rotor") for name in PROPELLERS]),
    )
    return Vehicle(stages, step_ns=round(scenario.aircraft.world.step_s * NS), command=(0.0,), first_effort=0.0)
