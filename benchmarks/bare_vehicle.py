"""A vehicle alone, without controller, link or log: built from a scenario, held by a few lines of feedback, stepped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from aeroloop.core.scenario_files import find, load
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.flight.part import built
from aeroloop.sim.vehicle import Vehicle
from benchmarks.exchange_contexts import DiscardedRows

Hold = Callable[[], None]


def bare(name: str, settings: Sequence[str]) -> tuple[Any, Vehicle[Any, Any]]:
    """The scenario and its vehicle, at the start."""
    scenario: Any = load(find(name), tuple(settings))
    return scenario, built(scenario.family.vehicle, scenario, 0, DiscardedRows())


def hover(scenario: Any, vehicle: Vehicle[Any, Any], height_m: float) -> tuple[float, Hold]:
    """Speed of a multirotor's rotors in hover, and proportional feedback that keeps it level at `height_m`."""
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    count, motors = airframe.rotors.count, airframe.motors
    hover_rad_s = (airframe.body.mass_kg * 9.81 / (count * airframe.rotors.thrust_Ns2)) ** 0.5
    throttle = (hover_rad_s - motors.speed_idle_rad_s) / (motors.speed_max_rad_s - motors.speed_idle_rad_s)
    gains = [(y, x, spin) for (x, y, _), spin in zip(airframe.rotors.pos_B_m, airframe.rotors.spin, strict=True)]

    def hold() -> None:
        state = vehicle.state
        _, qx, qy, _ = state.quat_WB
        p, q, r = state.rate_B
        lift = throttle + 0.1 * (height_m - state.pos_W[2]) - 0.1 * state.vel_W[2]
        roll, pitch, yaw = -1.6 * qx - 0.16 * p, 1.6 * qy + 0.16 * q, 0.05 * r
        vehicle.command = [lift + right * roll + up * pitch + spin * yaw for right, up, spin in gains]

    return hover_rad_s, hold


def no_feedback() -> None:
    """The commands stay those of the start."""


def step_cost_s(
    vehicle: Vehicle[Any, Any], inbox: list[Any], hold: Hold, steps: int, clock_s: Callable[[], float]
) -> float:
    """Time of a step, over the next `steps`. `clock_s`: of the processor or the wall, such as time.process_time."""
    began_s = clock_s()
    for _ in range(steps):
        hold()
        vehicle.advance(vehicle.t_ns + vehicle.step_ns, exact=False)
        inbox.clear()
    if vehicle.ended:
        raise RuntimeError(f"the benchmark's flight ended early: {vehicle.ended}")
    return (clock_s() - began_s) / steps


def turn_us(vehicle: Vehicle[Any, Any], hold: Hold, steps: int) -> Callable[[], float]:
    """One turn of a comparison: processor time of a step in microseconds."""
    inbox = vehicle.tap()
    return lambda: 1e6 * step_cost_s(vehicle, inbox, hold, steps, time.process_time)
