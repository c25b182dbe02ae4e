"""Other simulators' loops of a quadrotor on this processor, as peers of a batch: RotorPy and crazyflow, if installed.

Both are smaller loops: a rigid body with motors and a geometric or cascaded controller on the true state, with no
sensors, estimator, wind or metrics. A step is one control period of 4 ms.

They need a numpy and jax of their own, so each runs in a child process of the Python that `AEROLOOP_PEERS` names, or of
this one: `python -m benchmarks.batch_peers NAME STEPS` prints `ready`, then a rate for each line that it reads.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STEP_S = 0.004
WORLDS = 1024
"""Of crazyflow, which steps many at once."""
PYTHON = "AEROLOOP_PEERS"
"""Environment variable: a virtual environment with the peers, or its Python."""
READY, ABSENT = "ready", "absent"


class Peer:
    """A peer in its own process: steps a second of processor time. ImportError: it is not installed there."""

    def __init__(self, name: str, steps: int) -> None:
        command = [python(), "-m", "benchmarks.batch_peers", name, str(steps)]
        # crazyflow refuses to be imported after scipy without SCIPY_ARRAY_API
        environment = {**os.environ, "SCIPY_ARRAY_API": "1", "JAX_PLATFORMS": "cpu"}
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=Path(__file__).resolve().parents[1],
        )
        if self._answer() != READY:
            self.close()
            raise ImportError(name)

    def _answer(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()

    def rate(self) -> float:
        assert self._child.stdin is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        answer = self._answer()
        if not answer:
            raise RuntimeError(f"the peer ended: {self._child.args}")
        return float(answer)

    def close(self) -> None:
        self._child.kill()
        self._child.communicate()


def python() -> str:
    """Of the peers."""
    named = os.environ.get(PYTHON)
    if not named:
        return sys.executable
    folder = Path(named)
    return str(folder / "bin" / "python") if folder.is_dir() else str(folder)


def rotorpy(steps: int) -> Callable[[], float]:
    """Steps a second of processor time."""
    import numpy as np
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


def crazyflow(steps: int) -> Callable[[], float]:
    """The same of crazyflow: `WORLDS` drones at once, with its cascade on the true state, on the processor."""
    import numpy as np
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

    rate()  # compiles
    return rate


LOOPS = {"rotorpy": rotorpy, "crazyflow": crazyflow}


def main() -> None:
    name, steps = sys.argv[1], int(sys.argv[2])
    answers = sys.stdout
    sys.stdout = sys.stderr  # what the peers print is no answer
    if importlib.util.find_spec(name) is None:
        print(ABSENT, file=answers, flush=True)
        return
    rate = LOOPS[name](steps)
    print(READY, file=answers, flush=True)
    for _ in sys.stdin:
        print(rate(), file=answers, flush=True)


if __name__ == "__main__":
    main()
