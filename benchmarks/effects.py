"""Cost of the physical effects that are off by default (docs/how-true.md): processor time of a vehicle's step with each
of them, with all, and with the balance in the log too, against the same vehicle without. No controller, link or log.

The multirotor hovers in wind on a few lines of feedback, or stands on the ground; fixed wing and tilt-rotor keep the
commands of their start.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.bare_vehicle import bare, hover, no_feedback, turn_us
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
    scenario, vehicle = bare("quad-wind", (*STAND, *settings))
    _, hold = hover(scenario, vehicle, HEIGHT_M)
    while vehicle.t_ns < HELD_S * 1e9:  # until it flies
        hold()
        vehicle.advance(vehicle.t_ns + vehicle.step_ns, exact=False)
    return turn_us(vehicle, hold, STEPS)


def _standing(settings: Settings) -> Callable[[], float]:
    return _held("quad-wind", settings)


def _wing(settings: Settings) -> Callable[[], float]:
    off = ("vehicle.airframe=aerosonde", "world.wind.turbulence={w20_m_s=7.7}")
    return _held("fixedwing-loiter", (*off, *settings))


def _tiltrotor(settings: Settings) -> Callable[[], float]:
    return _held("tiltrotor-spiral", ("world.drag=true", "world.start=rest", *settings))


def _held(name: str, settings: Settings) -> Callable[[], float]:
    """With the command of the start."""
    _, vehicle = bare(name, settings)
    return turn_us(vehicle, no_feedback, STEPS)
