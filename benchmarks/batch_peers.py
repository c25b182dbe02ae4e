"""Other simulators' loops of a quadrotor on this processor, as peers of a batch: RotorPy and crazyflow, if installed.

Both are smaller loops: a rigid body with motors and a geometric or cascaded controller on the true state, with no
sensors, estimator, wind or metrics. A step is one control period of 4 ms.

They need a numpy and jax of their own, so each runs in a child process of the Python that `AEROLOOP_PEERS` names, or of
this one: `python -m benchmarks.batch_peers NAME STEPS DEVICE WORLDS` prints `ready`, then two rates for each line that
it reads: over processor time and over wall time. `tools/batch_package.py` takes this module along, with the peers
unpacked in the folder `peers` beside its folder.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import peer_stand_ins

STEP_S = 0.004
WORLDS = 1024
"""Of crazyflow, which steps many at once on a processor."""
ROOT = Path(__file__).resolve().parents[1]
UNPACKED = ROOT / "peers"
"""The peers, where a package brought them along."""
PYTHON = "AEROLOOP_PEERS"
"""Environment variable: a virtual environment with the peers, or its Python."""
READY, ABSENT = "ready", "absent"


class Peer:
    """A peer in its own process: steps a second. ImportError: it is not installed there, or has no such device."""

    def __init__(self, name: str, steps: int, device: str = "cpu", worlds: int = WORLDS) -> None:
        command = [python(), "-m", "benchmarks.batch_peers", name, str(steps), device, str(worlds)]
        # crazyflow refuses to be imported after scipy without SCIPY_ARRAY_API; jax takes most of a GPU's memory at once
        environment = {
            **os.environ,
            "SCIPY_ARRAY_API": "1",
            "JAX_PLATFORMS": "cpu" if device == "cpu" else "cuda,cpu",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(UNPACKED), os.environ.get("PYTHONPATH", "")))),
        }
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=ROOT,
        )
        if self._answer() != READY:
            self.close()
            raise ImportError(name)

    def _answer(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()

    def rate(self) -> float:
        """Steps a second of processor time, of all its threads."""
        return self.rates()[0]

    def rates(self) -> tuple[float, float]:
        """Steps a second of processor time, and of wall time."""
        assert self._child.stdin is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        answer = self._answer()
        if not answer:
            raise RuntimeError(f"the peer ended: {self._child.args}")
        of_processor, of_wall = map(float, answer.split())
        return of_processor, of_wall

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


def rotorpy(steps: int, device: str, worlds: int) -> Callable[[], int]:
    """Flies and returns the number of steps; it has one vehicle, on the processor."""
    import numpy as np
    from rotorpy.controllers.quadrotor_control import SE3Control  # type: ignore[import-not-found, unused-ignore]
    from rotorpy.vehicles.crazyflie_params import quad_params  # type: ignore[import-not-found, unused-ignore]
    from rotorpy.vehicles.multirotor import Multirotor  # type: ignore[import-not-found, unused-ignore]

    vehicle, controller = Multirotor(quad_params), SE3Control(quad_params)
    names = ("x", "x_dot", "x_ddot", "x_dddot", "x_ddddot")
    hover = {**{name: np.zeros(3) for name in names}, "yaw": 0.0, "yaw_dot": 0.0, "yaw_ddot": 0.0}

    def fly() -> int:
        state = vehicle.initial_state
        for index in range(steps):
            command = controller.update(index * STEP_S, state, hover)
            state = vehicle.step(state, command, STEP_S)
        if not np.linalg.norm(state["x"]) < 1:
            raise RuntimeError("RotorPy's flight was lost")
        return steps

    return fly


def crazyflow(steps: int, device: str, worlds: int) -> Callable[[], int]:
    """The same of crazyflow: many drones at once, with its cascade on the true state."""
    import numpy as np

    if alone := peer_stand_ins.needed():
        peer_stand_ins.install()
    from crazyflow.control import Control  # type: ignore[import-not-found, unused-ignore]
    from crazyflow.sim import Sim  # type: ignore[import-not-found, unused-ignore]

    hz = round(1 / STEP_S)
    rates = {"attitude_freq": hz, "body_rate_freq": hz, "force_torque_freq": hz, "state_freq": hz // 5}
    build = peer_stand_ins.without_scene(Sim) if alone else Sim
    sim = build(n_worlds=worlds, n_drones=1, control=Control.state, freq=hz, device=device, **rates)
    sim.reset()
    command = np.zeros((worlds, 1, 16), np.float32)  # position, velocity, acceleration, attitude (x, y, z, w), rates
    command[..., [2, 12]] = 1.0

    def fly() -> int:
        sim.state_control(command)
        sim.step(steps)
        height = np.asarray(sim.data.states.pos)[..., 2]
        if not np.isfinite(height).all():
            raise RuntimeError("crazyflow's flights were lost")
        return worlds * steps

    fly()
    fly()  # each of them compiles: the second has the first's data
    return fly


LOOPS = {"rotorpy": rotorpy, "crazyflow": crazyflow}


def main() -> None:
    name, steps, device, worlds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    answers = sys.stdout
    sys.stdout = sys.stderr  # what the peers print is no answer
    if importlib.util.find_spec(name) is None:
        print(ABSENT, file=answers, flush=True)
        return
    fly = LOOPS[name](steps, device, worlds)
    print(READY, file=answers, flush=True)
    for _ in sys.stdin:
        of_processor, of_wall = time.process_time(), time.perf_counter()
        flown = fly()
        of_processor, of_wall = time.process_time() - of_processor, time.perf_counter() - of_wall
        print(flown / of_processor, flown / of_wall, file=answers, flush=True)


if __name__ == "__main__":
    main()
