"""Cost of the physical effects that are off by default (docs/how-true.md): processor time of a vehicle's step with each
of them, with all, and with the balance in the log too, against the same vehicle without. No controller, link or log.

The multirotor hovers in wind on a few lines of feedback, or stands on the ground; fixed wing and tilt-rotor keep the
commands of their start.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from aeroloop.core.scenario_files import find, load
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.flight.part import built
from aeroloop.sim.vehicle import Vehicle
from benchmarks.exchange_contexts import DiscardedRows
from benchmarks.measure import Outcome, row, take_turns

Settings = tuple[str, ...]
HEIGHT_M, HELD_S = 20.0, 0.2
STAND = (f"world.stand={{pos_W=[0.0,0.0,{HEIGHT_M}],until_s={HELD_S}}}",)
ROUNDS, STEPS = 40, 25
"""Short turns, since the machine changes its speed."""
BALANCE = ("log.balance=true",)
EARTH = ("world.earth_rotation=true",)
VON_KARMAN = ('world.wind.turbulence.model="von_karman"',)
IMU = (
    'sensors.preset="bmi088"',
    "sensors.imu.vibration={at_rad_s=600.0,accel_m_s2=[2.0,2.0,4.0],gyro_rad_s=[0.02,0.02,0.02],harmonics=[1.0,0.3]}",
)
OF_MULTIROTOR: Mapping[str, Settings] = {
    "rotors in the flow": ("vehicle.airframe=iris-aero",),
    "battery": ("battery.pack=iris",),
    "earth rotation": EARTH,
    "detailed sensors": IMU,
    "von Karman": VON_KARMAN,
    "wind over height": ('world.wind.profile={kind="power"}',),
}
OF_WING: Mapping[str, Settings] = {
    "parasitic drag": ("vehicle.airframe=aerosonde-parasitic",),
    "battery": ("battery.pack=aerosonde",),
    "earth rotation": EARTH,
    "detailed sensors": (*IMU, "sensors.imu.rate_hz=100.0"),
    "von Karman": VON_KARMAN,
    "gust rates": ("world.wind.turbulence.rates=true",),
}
OF_TILTROTOR: Mapping[str, Settings] = {
    "momentum and drag of rotors": ("vehicle.rotors={inertia_kgm2=2e-5,drag_Ns2_m=1.75e-4}",),
    "earth rotation": EARTH,
}
SPRINGS = 'base = "iris"\n[contact]\nstiffness_N_m = 10000.0\ndamping_Ns_m = 40.0\n'
"""The feet of `iris-aero`."""


def run(quick: bool) -> Outcome:
    rounds = 2 if quick else ROUNDS
    outcome = Outcome()
    _compare(outcome, "multirotor", _hovering, _with_all(OF_MULTIROTOR, balance=True), rounds)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "feet.toml"
        file.write_text(SPRINGS, encoding="utf-8")
        on_springs = {"foot springs, standing": (f'vehicle.airframe="{file}"',)}
        _compare(outcome, "multirotor", _standing, on_springs, rounds)
    _compare(outcome, "fixed wing", _wing, _with_all(OF_WING, balance=True), rounds)
    _compare(outcome, "tilt-rotor", _tiltrotor, _with_all(OF_TILTROTOR, balance=False), rounds)
    return outcome


def _with_all(effects: Mapping[str, Settings], *, balance: bool) -> dict[str, Settings]:
    every = tuple(setting for settings in effects.values() for setting in settings)
    both = {"all, and the balance": (*every, *BALANCE)} if balance else {}
    return {**effects, "all": every, **both}


def _compare(
    outcome: Outcome,
    aircraft: str,
    make: Callable[[Settings], Callable[[], float]],
    effects: Mapping[str, Settings],
    rounds: int,
) -> None:
    turns = {name: make(settings) for name, settings in {"off": (), **effects}.items()}
    for turn in turns.values():
        turn()  # compiles once
    costs = take_turns(turns, rounds)
    for name in effects:
        outcome.rows.append(row(f"{aircraft}, {name}", "µs", costs[name], "off", costs["off"]))


def _hovering(settings: Settings) -> Callable[[], float]:
    scenario: Any = load(find("quad-wind"), (*STAND, *settings))
    vehicle = built(scenario.family.vehicle, scenario, 0, DiscardedRows())
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    count, motors = airframe.rotors.count, airframe.motors
    hover_rad_s = (airframe.body.mass_kg * 9.81 / (count * airframe.rotors.thrust_Ns2)) ** 0.5
    hover = (hover_rad_s - motors.speed_idle_rad_s) / (motors.speed_max_rad_s - motors.speed_idle_rad_s)
    gains = [(y, x, spin) for (x, y, _), spin in zip(airframe.rotors.pos_B_m, airframe.rotors.spin, strict=True)]

    def hold() -> None:
        state = vehicle.state
        _, qx, qy, _ = state.quat_WB
        p, q, r = state.rate_B
        lift = hover + 0.1 * (HEIGHT_M - state.pos_W[2]) - 0.1 * state.vel_W[2]
        roll, pitch, yaw = -1.6 * qx - 0.16 * p, 1.6 * qy + 0.16 * q, 0.05 * r
        vehicle.command = [lift + right * roll + up * pitch + spin * yaw for right, up, spin in gains]

    while vehicle.t_ns < HELD_S * 1e9:  # until it flies
        hold()
        vehicle.advance(vehicle.t_ns + vehicle.step_ns, exact=False)
    return partial(_cost_us, vehicle, vehicle.tap(), hold)


def _standing(settings: Settings) -> Callable[[], float]:
    return _held("quad-wind", settings)


def _wing(settings: Settings) -> Callable[[], float]:
    off = ("vehicle.airframe=aerosonde", "world.wind.turbulence={w20_m_s=7.7}")
    return _held("fixedwing-loiter", (*off, *settings))


def _tiltrotor(settings: Settings) -> Callable[[], float]:
    return _held("tiltrotor-spiral", ("world.drag=true", "world.start=rest", *settings))


def _held(name: str, settings: Settings) -> Callable[[], float]:
    """With the command of the start."""
    scenario: Any = load(find(name), settings)
    vehicle = built(scenario.family.vehicle, scenario, 0, DiscardedRows())
    return partial(_cost_us, vehicle, vehicle.tap(), lambda: None)


def _cost_us(vehicle: Vehicle[Any, Any], inbox: list[Any], hold: Callable[[], None]) -> float:
    """Of a step, over the next `STEPS`."""
    began_s = time.process_time()
    for _ in range(STEPS):
        hold()
        vehicle.advance(vehicle.t_ns + vehicle.step_ns, exact=False)
        inbox.clear()
    if vehicle.ended:
        raise RuntimeError(f"the benchmark's flight ended early: {vehicle.ended}")
    return 1e6 * (time.process_time() - began_s) / STEPS
