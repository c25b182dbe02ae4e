"""One multirotor and the autopilot at the end of its link, in the bench's own loop, its stages as a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aeroloop.core.bounds import beyond
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Event, RigidState
from aeroloop.exchanges.mavlink_hil import MavlinkHil, Settings, Timing, motor_outputs
from aeroloop.sensors.rangefinder import beam_ground_m
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.vehicle import Driven, Stages, TouchDown, Vehicle
from aeroloop.world.surroundings import InAir, Surroundings

BOUND_M = 10_000.0


class Rows:
    """Of vehicle and exchange: to an observer, where there is one."""

    def __init__(self) -> None:
        self.observer: Any = None

    def step(self, vehicle: Any, effort: Any, samples: list[Any]) -> None:
        if self.observer is not None:
            self.observer(vehicle.state, effort, vehicle.command, vehicle.surroundings.air, samples)

    def event(self, t_ns: int, event: Event, value: float) -> None:
        if self.observer is not None:
            self.observer.events.append((t_ns / NS, event, value))

    def exchanged(self, t_ns: int, samples: Any, accepted: int, counters: Any) -> None: ...
    def finish(self, t_ns: int, counters: Any) -> None: ...
    def fault(self, t_ns: int, row: Any) -> None: ...
    def pace(self, t_ns: int, lateness_s: float, missed: int) -> None: ...


class AsTheyAnswer:
    """As fast as the autopilots answer; one that does not answer yet is given as long as `before` takes."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self._before = before

    def until(self, fleet: Sequence[Craft], stopped: Callable[[], bool]) -> int:
        exchanges = [exchange for craft in fleet for exchange in craft.exchanges]
        if not all(exchange.locked for exchange in exchanges):
            self._before()
        return min(exchange.next_ns() for exchange in exchanges)


class HilLoop:
    def __init__(
        self,
        *,
        motors: Any,
        world: Any,
        earth: Any,
        atmosphere: Any,
        wind: Any,
        sensors: Any,
        link: Any,
        timing: Timing,
        rotors: int,
        step_ns: int,
        load: Callable[[Any, Any], tuple[float, float]] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self.world, self.sensors = world, sensors
        self.terrain_m: Callable[[float, float], float] | None = None
        self._load, self._pace = load, AsTheyAnswer(before)
        self.rows = Rows()
        self.around = Surroundings(earth, atmosphere, wind, world.state(0), self._ground)
        stages = Stages[Any, RigidState](
            motion=Driven(motors, InAir(world, self.around)),
            surroundings=self.around,
            sense=self._sense,
            lost=lambda state: beyond(state.pos_W, BOUND_M),
            contact=TouchDown(lambda: world.touching),
            switch=sensors.switch,
            rows=self.rows,
        )
        self.vehicle = Vehicle(stages, step_ns=step_ns, command=(0.0,) * rotors)
        self.exchange = MavlinkHil(self.vehicle, link, timing, Settings(motor_outputs(rotors)), self.rows)

    def _ground(self, x: float, y: float) -> float:
        return self.terrain_m(x, y) if self.terrain_m is not None else 0.0

    def _sense(self, state: RigidState, effort: Any) -> list[Any]:
        air, place = self.around.air, self.around.place
        if self._load is None and self.terrain_m is None:
            samples: list[Any] = self.sensors.sample(state, air, place)
            return samples
        current_A, thrust_N = self._load(effort, air) if self._load is not None else (0.0, 0.0)
        ground_m = beam_ground_m(state, self.terrain_m) if self.terrain_m is not None else 0.0
        more: list[Any] = self.sensors.sample(
            state, air, place, motor_current_A=current_A, thrust_N=thrust_N, terrain_m=ground_m
        )
        return more

    @property
    def t_ns(self) -> int:
        return self.vehicle.t_ns

    @property
    def state(self) -> RigidState:
        return self.vehicle.state

    @property
    def pos_W(self) -> Vec3:
        return self.vehicle.state.pos_W

    @property
    def controls(self) -> tuple[float, ...]:
        return self.exchange.command

    @property
    def diverged(self) -> bool:
        return self.vehicle.ended == "diverged"

    def craft(self, until_ns: int) -> Craft:
        return Craft(self.vehicle, [self.exchange], until_ns)

    def fly(self, until_ns: int, stopped: Callable[[], bool] = lambda: False) -> str:
        """To a time on the grid, as fast as the autopilot answers."""
        until_ns = -(-until_ns // self.vehicle.step_ns) * self.vehicle.step_ns
        if self.t_ns >= until_ns or self.vehicle.ended:
            return "completed"
        return run([self.craft(until_ns)], self._pace, stopped)
