"""Cost of a world of 100 trees for the plant's tick: processor time of steps with them, against the same without.

A quadrotor at 5 m/s between the rows of trees and one that hovers 0.1 m from a tree, a
range finder aboard; a tilt-rotor, which MuJoCo steps, in the same places, set upright before each turn; the fixed wing
on its trimmed controls far above them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from aeroloop.core.scenario_files import find, load
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.flight.part import built
from aeroloop.sim.vehicle import Vehicle
from benchmarks.exchange_contexts import DiscardedRows
from benchmarks.measure import Aim, Outcome, row, take_turns

HEIGHT_M = 4.0
STEPS = 40
MOST = 1.5
FITTED = ('sensors.preset="px4"', 'sensors.fitted=["imu","magnetometer","barometer","gnss","rangefinder"]')
Case = tuple[float, float, float]
CASES: dict[str, Case] = {"between the rows": (-40.0, 0.0, 5.0), "at a tree": (-35.0, 2.7, 0.0)}
TILTROTOR: dict[str, Case] = {"between the rows": (-40.0, 0.0, 5.0), "at a tree": (-35.0, 2.75, 0.0)}
"""x and y at the start, speed to the east."""


def trees() -> str:
    """Ten rows of ten, 10 m apart."""
    places = [(-45.0 + 10.0 * (i % 10), -45.0 + 10.0 * (i // 10)) for i in range(100)]
    each = (f'{{name="tree {i}",kind="tree",at_m=[{x},{y},0.0]}}' for i, (x, y) in enumerate(places))
    return f"world.objects=[{','.join(each)}]"


def run(quick: bool) -> Outcome:
    rounds = 2 if quick else 60
    outcome, aim = Outcome(), Aim(MOST, at_least=False)
    for name, make in {
        **{f"quadrotor, {name}": partial(_quadrotor, start) for name, start in CASES.items()},
        **{f"tilt-rotor, {name}": partial(_tiltrotor, start) for name, start in TILTROTOR.items()},
        "fixed wing, above them": _wing,
    }.items():
        with_trees, without = make((trees(),)), make(())
        costs = take_turns({"with": with_trees, "without": without}, rounds)
        outcome.rows.append(row(name, "µs", costs["with"], "without objects", costs["without"], aim=aim))
    outcome.notes.append("at a tree: its sphere is in the box of the crown, and distances take the place of the ball")
    return outcome


def _quadrotor(start: Case, settings: tuple[str, ...]) -> Callable[[], float]:
    scenario: Any = load(find("quad-hover"), (*FITTED, *settings))
    vehicle = built(scenario.family.vehicle, scenario, 0, DiscardedRows())
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    count, motors = airframe.rotors.count, airframe.motors
    hover_rad_s = (airframe.body.mass_kg * 9.81 / (count * airframe.rotors.thrust_Ns2)) ** 0.5
    hover = (hover_rad_s - motors.speed_idle_rad_s) / (motors.speed_max_rad_s - motors.speed_idle_rad_s)
    gains = [(y, x, spin) for (x, y, _), spin in zip(airframe.rotors.pos_B_m, airframe.rotors.spin, strict=True)]
    x_m, y_m, speed_m_s = start
    motion: Any = vehicle._motion
    motion.reset((x_m, y_m, HEIGHT_M, 1.0, 0.0, 0.0, 0.0, speed_m_s, *(0.0,) * 11), [hover_rad_s] * count)
    vehicle.state = motion.state(0)

    def hold() -> None:
        state = vehicle.state
        _, qx, qy, _ = state.quat_WB
        p, q, r = state.rate_B
        lift = hover + 0.1 * (HEIGHT_M - state.pos_W[2]) - 0.1 * state.vel_W[2]
        roll, pitch, yaw = -1.6 * qx - 0.16 * p, 1.6 * qy + 0.16 * q, 0.05 * r
        vehicle.command = [lift + right * roll + up * pitch + spin * yaw for right, up, spin in gains]

    return partial(_cost_us, vehicle, vehicle.tap(), hold)


def _tiltrotor(start: Case, settings: tuple[str, ...]) -> Callable[[], float]:
    """On the command of a hover: within a turn it stays upright by itself."""
    scenario: Any = load(find("tiltrotor-spiral"), settings)
    vehicle = built(scenario.family.vehicle, scenario, 0, DiscardedRows())
    x_m, y_m, speed_m_s = start
    turn, solid = partial(_cost_us, vehicle, vehicle.tap(), lambda: None), vehicle.solid
    assert solid is not None

    def place(x_m: float) -> None:
        solid.strike((x_m, y_m, HEIGHT_M), (speed_m_s, 0.0, 0.0), (0.0, 0.0, 0.0))
        vehicle.read_state()

    def cost_us() -> float:
        place(vehicle.state.pos_W[0])
        return turn()

    place(x_m)
    return cost_us


def _wing(settings: tuple[str, ...]) -> Callable[[], float]:
    scenario: Any = load(find("fixedwing-loiter"), settings)
    vehicle = built(scenario.family.vehicle, scenario, 0, DiscardedRows())
    return partial(_cost_us, vehicle, vehicle.tap(), lambda: None)


def _cost_us(vehicle: Vehicle[Any, Any], inbox: list[Any], hold: Callable[[], None]) -> float:
    """Of a step, over the next `STEPS`: short turns, since the machine changes its speed."""
    began_s = time.process_time()
    for _ in range(STEPS):
        hold()
        vehicle.advance(vehicle.t_ns + vehicle.step_ns, exact=False)
        inbox.clear()
    if vehicle.ended:
        raise RuntimeError(f"the benchmark's flight ended early: {vehicle.ended}")
    return 1e6 * (time.process_time() - began_s) / STEPS
