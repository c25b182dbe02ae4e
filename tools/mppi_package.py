"""`python -m tools.mppi_package FOLDER [--scenario NAME]`: the law `mppi` as sources, with a plant and `check.py`.

The folder runs on a machine without this project: `python3 check.py` there compares rollouts on CPU and GPU bit by bit,
flies in real time over a pseudo-terminal, and prints how many rollouts fit into a control period.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.batch.sampling_source import sampling_source
from aeroloop.codegen import batch, batch_build
from aeroloop.codegen.host import c_source
from aeroloop.core.scenario_files import find
from aeroloop.families.tiltrotor import mppi_law
from aeroloop.families.tiltrotor.design import of_scenario, parameter_file, parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.families.tiltrotor.start import start_W
from aeroloop.ground.trajectories import build as build_path
from aeroloop.models import tiltrotor

ROOT = Path(__file__).resolve().parents[1] / "src"
NEEDED = ("aeroloop.control.mppi", "aeroloop.batch.sampling", "aeroloop.protocols.board")
"""Modules that the check imports; they need numpy alone."""


def write(folder: Path, scenario: TiltrotorScenario) -> None:
    """Sources, header, the law's numbers, the modules that fly it, and the check."""
    folder.mkdir(parents=True, exist_ok=True)
    control = scenario.controller.control
    plan = of_scenario(scenario)
    regulator = mppi_law.regulator(plan, scenario)
    loop = mppi_law.loop(scenario, regulator)
    for name, dialect in (("rollouts.c", batch.LANES), ("rollouts.cu", batch.CUDA)):
        (folder / name).write_text(sampling_source(loop, dialect), encoding="utf-8")
    (folder / batch_build.HEADER).write_text(batch_build.header(), encoding="utf-8")
    (folder / "plant.c").write_text(c_source(plant_step(parameters(scenario.aircraft.vehicle.parameters))))
    own, sampling = mppi_law.feedback(regulator), mppi_law.sampling(control.mppi, plan.period_s, scenario.seed)
    arrays: dict[str, Any] = {f"feedback.{name}": np.asarray(value) for name, value in vars(own).items()}
    arrays |= {f"sampling.{name}": np.asarray(value) for name, value in vars(sampling).items()}
    pos_W, vel_W = start_W(scenario)
    start = plan.state_eq.copy()
    start[:3], start[8:11] = pos_W, vel_W
    np.savez(folder / "law.npz", start=start, path=path(scenario), **arrays)
    plausible = parameter_file().plausible
    bounds = {
        name: {part: list(getattr(rows, part)) for part in ("low", "high", "step", "wraps")}
        for name, rows in (("sensors", plausible.sensors), ("command", plausible.command))
    }
    flags = {
        "lanes": (*batch_build.LANE_FLAGS, "-lm"),
        "cuda": (*batch_build.CUDA_FLAGS, f"-arch={batch_build.CUDA_ARCHITECTURE}"),
    }
    plan_text = json.dumps({"flags": flags, "bounds": bounds, "rollouts": control.mppi.rollouts}, indent=2)
    (folder / "plan.json").write_text(plan_text + "\n", encoding="utf-8")
    for source in modules():
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    shutil.copyfile(Path(__file__).with_name("mppi_check.py"), folder / "check.py")


def path(scenario: TiltrotorScenario) -> np.ndarray:
    """(cycles, 8) The reference of each control period."""
    along = build_path(scenario.controller.ground.trajectory)
    period_s = scenario.controller.control.period_s
    points = [along(cycle * period_s) for cycle in range(round(scenario.duration_s / period_s))]
    return np.array([(*p.pos_W, p.yaw_rad, *p.vel_W, p.yaw_rate_rad_s) for p in points])


def plant_step(own: tiltrotor.Parameters) -> ca.Function:
    """(state, input, step in s) -> state: the design model by Runge-Kutta 4, in double precision."""
    f = tiltrotor.dynamics(own)
    x, u, h = ca.MX.sym("x", 16), ca.MX.sym("u", 4), ca.MX.sym("h")
    k1 = f(x, u)
    k2 = f(x + h / 2 * k1, u)
    k3 = f(x + h / 2 * k2, u)
    k4 = f(x + h * k3, u)
    return ca.Function("plant", [x, u, h], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])


def modules() -> list[Path]:
    """The files that the check needs of this project, as an import in a process of its own finds them."""
    names = "[m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'aeroloop']"
    text = f"import sys; import {', '.join(NEEDED)}; print(*{names}, sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return [Path(line).resolve() for line in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.mppi_package", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenario", default="tiltrotor-spiral-mppi")
    options = parser.parse_args()
    write(options.folder, load_tiltrotor(find(options.scenario)))


if __name__ == "__main__":
    main()
