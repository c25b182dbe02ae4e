"""The sled itself: stages of the bench's vehicle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sled.scenario import SledScenario

from aeroloop.core.bounds import beyond
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Event
from aeroloop.sim.vehicle import Driven, Stages, Vehicle

MOST_PUSH_N = 10.0


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


class Rows:
    def __init__(self, publish: Mapping[str, Callable[..., None]]) -> None:
        self._publish = publish

    def step(self, vehicle: Vehicle[float, State], push_N: float, samples: list[Any]) -> None:
        state = vehicle.state
        self._publish["sled_truth"](vehicle.t_ns / NS, *state.pos_W, state.vel_W[0], push_N)

    def event(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["sled_event"](t_ns / NS, event, value)

    def fault(self, t_ns: int, row: tuple[float, ...]) -> None:
        self._publish["sled_fault"](t_ns / NS, *row)

    def pace(self, t_ns: int, lateness_s: float, missed: int) -> None:
        self._publish["sled_pace"](t_ns / NS, lateness_s, missed)


def no_faults(switch: Switch) -> Switched:
    raise ConfigError(f"{switch.target}: nothing of a sled fails")


def vehicle(scenario: SledScenario, number: int, publish: Mapping[str, Callable[..., None]]) -> Vehicle[float, State]:
    sled = scenario.vehicle
    stages = Stages(
        motion=Driven(Propeller(), Rail(sled.mass_kg, sled.friction_Ns_m, sled.start_m)),
        surroundings=None,
        sense=lambda state, push_N: [],
        lost=lambda state: beyond(state.pos_W, scenario.world.length_m),
        contact=lambda t_ns, state: None,
        switch=no_faults,
        rows=Rows(publish),
        measure=lambda state: (state.pos_W[0], state.vel_W[0]),
    )
    return Vehicle(stages, step_ns=round(scenario.world.step_s * NS), command=(0.0,), first_effort=0.0)
