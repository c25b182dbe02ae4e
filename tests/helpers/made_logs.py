"""Logs of flights that never were: the simulator's own step under the virtual autopilot's law, with known numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from aeroloop.control import cascade
from aeroloop.controllers.pixhawk.flight_law import frame
from aeroloop.core.frames import Vec
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.step_function import Columns
from aeroloop.flown.record import FlightRecord, Signal
from aeroloop.reflight.drives import PITCH, ROLL, THRUST, YAW, YAW_RATE
from aeroloop.reflight.flown_motion import FlownMotion
from aeroloop.reflight.numbers import Plant
from aeroloop.reflight.rollout import DENSITY, GRAVITY, INPUT, MOVED, QUAT, SETPOINT, STEP_S, Law, Rollout, Site
from aeroloop.reflight.simulated import signals
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home

IRIS = airframes.load("iris")
SITE = Site(Earth(Home()), Atmosphere(Day()))
START_S = 100.0
NOISE = {"roll": 3e-4, "gyro": 3e-3, "accel": 0.05}
"""Standard deviations, of attitude in rad."""


def site_motion(t_s: Vec) -> FlownMotion:
    """At rest, level, heading east."""
    n = len(t_s)
    still, level = np.zeros((n, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    density = SITE.atmosphere.at(488.0)[2]
    gravity = SITE.earth.place((0.0, 0.0, 0.0)).gravity_m_s2
    return FlownMotion(t_s, still, still, level, still, np.full(n, density), gravity, 0.0, SITE, ())


def steps(seconds: float) -> Vec:
    return np.asarray(START_S + STEP_S * np.arange(round(seconds / STEP_S)))


def made_log(
    plant: Plant,
    *,
    seconds: float = 24.0,
    yaws: bool = True,
    noise: float = 1.0,
    law: Law | None = None,
    parameters: dict[str, float] | None = None,
) -> FlightRecord:
    """Roll, pitch, throttle and (`yaws`) yaw change all the time; `noise` is a factor on NOISE."""
    t_s = steps(seconds)
    motion, rng = site_motion(t_s), np.random.default_rng(7)
    law = law or Law(cascade.law(frame(IRIS), STEP_S), cascade.DEFAULTS)
    rows = np.zeros((len(t_s), INPUT + SETPOINT))
    rows[:, QUAT], rows[:, DENSITY], rows[:, GRAVITY] = motion.quat_WB, motion.density_kg_m3, motion.gravity_m_s2
    rows[:, MOVED] = 1.0  # it turns on the spot, so that no velocity adds up
    rows[:, ROLL], rows[:, PITCH] = (_steps(t_s, rng, 0.15) for _ in range(2))
    rows[:, YAW] = _steps(t_s, rng, 0.3) if yaws else 0.0
    rows[:, YAW_RATE] = np.gradient(rows[:, YAW], STEP_S)
    hover = plant.mass_kg * 9.81 / frame(IRIS).thrust_all_N * IRIS.rotors.density_kg_m3 / motion.density_kg_m3
    rows[:, THRUST] = hover * (1.0 + 0.1 * np.sin(2.0 * t_s) + 0.05 * np.sin(0.7 * t_s))
    flown = Rollout(IRIS, SITE, law)(rows, plant)
    position = ("north", "east", "down", "vel_north", "vel_east", "vel_down")
    angles, body = ("roll", "pitch", "yaw"), [f"{name}_{axis}" for name in ("gyro", "accel") for axis in "xyz"]
    found = signals(flown, motion, 4, [*angles, *body, *position])
    for name in (*angles, *body):
        deviation = noise * NOISE.get(name.partition("_")[0], NOISE["roll"])
        values = found[name].values + rng.normal(0.0, deviation, len(t_s))
        found[name] = Signal(name, found[name].t_s, values, "made")
    for name in (*angles, *position):
        found[name] = Signal(name, found[name].t_s[::10], found[name].values[::10], "made")
    command = flown[:, Columns(4).count :]
    for i, values in enumerate(command.T, 1):
        found[f"motor_{i}"] = Signal(f"motor_{i}", t_s, values, "made")
        found[f"pulse_{i}"] = Signal(f"pulse_{i}", t_s, 1000.0 + 1000.0 * values, "made")
    setpoints = {
        "roll_setpoint": rows[:, ROLL],
        "pitch_setpoint": -rows[:, PITCH],
        "yaw_setpoint": math.pi / 2 - rows[:, YAW],
        "throttle": rows[:, THRUST],
    }
    found |= {name: Signal(name, t_s[::5], values[::5], "made") for name, values in setpoints.items()}
    alt = np.full(len(t_s[::50]), 488.0)
    home = {"lat": 47.397742 + 0 * alt, "lon": 8.545594 + 0 * alt, "alt": alt}
    found |= {name: Signal(name, t_s[::50], values, "made") for name, values in home.items()}
    return FlightRecord(Path("made.bin"), "made", found, parameters or {}, vehicle="multirotor")


def _steps(t_s: Vec, rng: np.random.Generator, size: float) -> Vec:
    """A new value every 0.7 s, reached within 0.1 s."""
    at_s = np.arange(t_s[0], t_s[-1] + 2.0, 0.7)
    values = size * rng.uniform(-1.0, 1.0, len(at_s))
    knots = np.stack([at_s, at_s + 0.6], axis=1).ravel()
    return np.asarray(np.interp(t_s, knots, np.repeat(values, 2)))
