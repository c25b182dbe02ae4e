"""Other simulators' loops of a quadrotor on this processor, as peers of a batch: RotorPy and crazyflow, if installed.

Both are smaller loops: a rigid body with motors and a geometric or cascaded controller on the true state, with no
sensors, estimator, wind or metrics. A step is one control period of 4 ms.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable

import numpy as np

STEP_S = 0.004
WORLDS = 1024
"""Of crazyflow, which steps many at once."""


def rotorpy(steps: int) -> Callable[[], float] | None:
    """Steps a second of processor time; None: not installed."""
    if importlib.util.find_spec("rotorpy") is None:
        return None
    from rotorpy.controllers.quadrotor_control import SE3Control  # type: ignore[import-not-found, unused-ignore]
    from rotorpy.vehicles.crazyflie_params import quad_params  # type: ignore[import-not-found, unused-ignore]
    from rotorpy.vehicles.multirotor import Multirotor  # type: ignore[import-not-found, unused-ignore]

    vehicle, controller = Multirotor(quad_params), SE3Control(quad_params)
    names = ("x", "x_dot", "x_ddot", "x_dddot", "x_ddddot")
    hover = {**{name: np.zeros(3) for name in names}, "yaw": 0.0, "yaw_dot": 0.0, "yaw_ddot": 0.0}

    def rate() -> float:
        state, began = vehicle.initial_state, time.process_time()
        for index in range(steps):
            command = controller.update(index * STEP_S, state, hover)
            state = vehicle.step(state, command, STEP_S)
        if not np.linalg.norm(state["x"]) < 1:
            raise RuntimeError("RotorPy's flight was lost")
        return steps / (time.process_time() - began)

    return rate


def crazyflow(steps: int) -> Callable[[], float] | None:
    """The same of crazyflow: `WORLDS` drones at once, with its cascade on the true state, on the processor. None also
    without SCIPY_ARRAY_API=1."""
    if importlib.util.find_spec("crazyflow") is None or os.environ.get("SCIPY_ARRAY_API") != "1":
        return None  # it refuses to be imported after scipy without this setting
    from crazyflow.control import Control  # type: ignore[import-not-found, unused-ignore]
    from crazyflow.sim import Sim  # type: ignore[import-not-found, unused-ignore]

    hz = round(1 / STEP_S)
    rates = {"attitude_freq": hz, "body_rate_freq": hz, "force_torque_freq": hz, "state_freq": hz // 5}
    sim = Sim(n_worlds=WORLDS, n_drones=1, control=Control.state, freq=hz, device="cpu", **rates)
    sim.reset()
    command = np.zeros((WORLDS, 1, 16), np.float32)  # position, velocity, acceleration, attitude (x, y, z, w), rates
    command[..., [2, 12]] = 1.0

    def rate() -> float:
        began = time.process_time()
        sim.state_control(command)
        sim.step(steps)
        height = np.asarray(sim.data.states.pos)[..., 2]
        if not np.isfinite(height).all():
            raise RuntimeError("crazyflow's flights were lost")
        return WORLDS * steps / (time.process_time() - began)

    sim.state_control(command)
    sim.step(steps)  # compiles
    return rate
