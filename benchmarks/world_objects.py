"""Cost of a world of 100 trees for the plant's tick: processor time of steps with them, against the same without.

A quadrotor at 5 m/s between the rows of trees and one that hovers 0.1 m from a tree, a
range finder aboard; a tilt-rotor, which MuJoCo steps, in the same places, set upright before each turn; the fixed wing
on its trimmed controls far above them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.bare_vehicle import bare, hover, no_feedback, turn_us
from benchmarks.measure import Aim, Outcome, row, take_turns

HEIGHT_M = 4.0
STEPS = 40
"""Short turns, since the machine changes its speed."""
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
    scenario, vehicle = bare("quad-hover", (*FITTED, *settings))
    hover_rad_s, hold = hover(scenario, vehicle, HEIGHT_M)
    x_m, y_m, speed_m_s = start
    motion: Any = vehicle._motion
    rotors = [hover_rad_s] * len(vehicle.command)
    motion.reset((x_m, y_m, HEIGHT_M, 1.0, 0.0, 0.0, 0.0, speed_m_s, *(0.0,) * 11), rotors)
    vehicle.state = motion.state(0)
    return turn_us(vehicle, hold, STEPS)


def _tiltrotor(start: Case, settings: tuple[str, ...]) -> Callable[[], float]:
    """On the command of a hover: within a turn it stays upright by itself."""
    _, vehicle = bare("tiltrotor-spiral", settings)
    x_m, y_m, speed_m_s = start
    turn, solid = turn_us(vehicle, no_feedback, STEPS), vehicle.solid
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
    _, vehicle = bare("fixedwing-loiter", settings)
    return turn_us(vehicle, no_feedback, STEPS)
