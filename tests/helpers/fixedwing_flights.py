"""Fixed wings for tests: states, derivatives, and flights with the controls held."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from msgspec.structs import replace

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core import frames
from aeroloop.core.frames import Vec, Vec3
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.trim import GRAVITY_M_S2
from aeroloop.models import fixedwing
from aeroloop.models.fixedwing import Parameters

NAMES = ["aerosonde", "aerosonde-parasitic", "anaconda"]
AEROSONDE = airframe.load("aerosonde")
STILL: Vec3 = (0.0, 0.0, 0.0)
DENSITY = 1.2682


def without_torque(p: Parameters) -> Parameters:
    """A propeller's torque is the one thing about the aircraft that has a side."""
    return replace(p, propulsion=replace(p.propulsion, spin=0))


def derivative(p: Parameters, state: Vec, controls: Vec, wind_W: Vec | None = None, density: float = DENSITY) -> Vec:
    wind = np.zeros(3) if wind_W is None else wind_W
    return np.array(fixedwing.state_dot(p)(state, controls, wind, density, GRAVITY_M_S2)).ravel()


def some_state(rng: np.random.Generator, speed: float) -> Vec:
    quat = frames.quat_from_euler(*rng.uniform(-1.2, 1.2, 2), rng.uniform(-3, 3))
    R = matrix(quat)
    alpha, beta = rng.uniform(-0.6, 0.8), rng.uniform(-0.5, 0.5)
    vel_B = speed * np.array([math.cos(alpha) * math.cos(beta), -math.sin(beta), -math.sin(alpha) * math.cos(beta)])
    return np.concatenate([rng.normal(0, 100, 3), quat, R @ vel_B, rng.normal(0, 1, 3)])


def matrix(quat: tuple[float, ...] | Vec) -> Vec:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.array(quat, dtype=float))
    return flat.reshape(3, 3)


def flown(p: Parameters, state: Vec, controls: Vec, seconds: float, density: float = DENSITY, dt: float = 0.005) -> Vec:
    run = Evaluator(fixedwing.step(p))
    run.inputs[0][:], run.inputs[2][0] = state, dt
    run.inputs[1][:] = [*controls, *STILL, density, GRAVITY_M_S2]
    for _ in range(round(seconds / dt)):
        run()
        run.inputs[0][:] = run.outputs[0]
    return run.outputs[0].copy()
