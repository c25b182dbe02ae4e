"""`python -m tools.batch_package FOLDER [--scenario NAME] [--campaign FILE] [--peers WHEELS]`: a batch as sources, with
scattered flights and `check.py`.

The folder runs on a machine without this project: `python3 check.py` there compares CPU and GPU and prints rates.
`--campaign`: its parameters are drawn by `check.py --campaign N`. `--peers`: a folder with the wheels of rotorpy,
crazyflow, array_api_compat and array_api_extra, whose Python is unpacked into the package for `check.py --peers`.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.analysis.checks import required
from aeroloop.batch import flights, gpu
from aeroloop.batch.loop import source
from aeroloop.campaign import definition
from aeroloop.campaign.parameter import Parameter
from aeroloop.codegen import batch, batch_build
from aeroloop.core import scenario_files
from tools import batch_philox

FLIGHTS = 1000
SPREAD = 0.05
SEED = 1
SHORTER_S = 20.0
HERE = Path(__file__).resolve().parent
PEER_MODULES = ("__init__", "batch_peers", "peer_stand_ins")
PEER_FILES = (".py", ".toml", ".xml", ".json", ".yaml")
"""Of a wheel: neither meshes nor pictures."""
Limit = tuple[str, str, float]
"""Metric, `below`, `above` or `equals`, and the limit."""
Draw = tuple[str, str, float, float, float, float]
"""Parameter, `normal` or `uniform`, mean and deviation or the range, and the ends that clip it."""


@dataclass(frozen=True)
class Shorter:
    """The same flight in 20 s, for a campaign: its plan, limits of its checks, and draws of its parameters."""

    planned: flights.Plan
    checks: Sequence[Limit] = ()
    draws: Sequence[Draw] = ()


def write(folder: Path, planned: flights.Plan, shorter: Shorter | None = None) -> None:
    """Sources, header, parameters, table and the check."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, dialect in (("batch.c", batch.LANES), ("batch.cu", batch.CUDA), ("batch_double.c", batch.DOUBLE)):
        (folder / name).write_text(source(planned.loop, dialect), encoding="utf-8")
    (folder / batch_build.HEADER).write_text(batch_build.header(), encoding="utf-8")
    rng = np.random.default_rng(SEED)
    values = np.array(list(planned.defaults.values()))
    # Factors and offsets around the scenario's values; a delay over its whole range, which loses some flights.
    params = np.tile(values, (FLIGHTS, 1)) + SPREAD * rng.standard_normal((FLIGHTS, len(values)))
    for index, name in enumerate(planned.defaults):
        if name.endswith("delay_s"):
            params[:, index] = rng.uniform(*planned.ranges[name], FLIGHTS)
    np.save(folder / "params.npy", params.astype(np.float32))
    np.save(folder / "seeds.npy", rng.integers(0, 2**32, FLIGHTS, dtype=np.uint32))
    np.save(folder / "table.npy", planned.table)
    np.save(folder / "table_20s.npy", shorter.planned.table if shorter else planned.table)
    (folder / "batch_rtc.cu").write_text(gpu.run_time_source(source(planned.loop, batch.CUDA)), encoding="utf-8")
    (folder / "philox.c").write_text(batch_philox.C, encoding="utf-8")
    (folder / "philox.cu").write_text(batch_philox.CUDA, encoding="utf-8")
    (folder / "philox_rtc.cu").write_text(gpu.run_time_source(batch_philox.KERNEL), encoding="utf-8")
    plan = {
        "metrics": planned.loop.metrics,
        "parameters": planned.loop.parameters,
        "defaults": list(planned.defaults.values()),
        "checks": shorter.checks if shorter else (),
        "draws": shorter.draws if shorter else (),
        "philox": batch_philox.VECTORS,
        "rtc": gpu.EXACT,
        "steps": len(planned.table) * planned.loop.steps_per_cycle,
        "flags": {
            "lanes": (*batch_build.LANE_FLAGS, "-lm"),
            "double": (*batch_build.DOUBLE_FLAGS, "-lm"),
            "cuda": (*batch_build.CUDA_FLAGS, f"-arch={batch_build.CUDA_ARCHITECTURE}"),
        },
    }
    (folder / "plan.json").write_text(json.dumps(plan, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(HERE / "batch_check.py", folder / "check.py")


def unpack_peers(folder: Path, wheels: Path) -> None:
    """The peers' Python into FOLDER/peers, and the modules that run them."""
    (folder / "benchmarks").mkdir(parents=True, exist_ok=True)
    for name in PEER_MODULES:
        shutil.copyfile(HERE.parent / "benchmarks" / f"{name}.py", folder / "benchmarks" / f"{name}.py")
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as packed:
            wanted = [name for name in packed.namelist() if name.endswith(PEER_FILES)]
            packed.extractall(folder / "peers", wanted)


def draws(parameters: Sequence[Parameter]) -> list[Draw]:
    """Of a campaign's file, for a machine that has numpy alone."""
    made: list[Draw] = []
    for parameter in parameters:
        if parameter.normal is not None:
            own = parameter.normal
            made.append((parameter.key, "normal", own.mean, own.std, *(own.clip or (-math.inf, math.inf))))
        elif parameter.uniform is not None:
            made.append((parameter.key, "uniform", *parameter.uniform, *parameter.uniform))
        else:
            raise SystemExit(f"{parameter.key}: a package draws normal and uniform numbers alone")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.batch_package", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenario", default="tiltrotor-spiral")
    parser.add_argument("--campaign", metavar="FILE", help="whose parameters a campaign of the package draws")
    parser.add_argument("--peers", type=Path, metavar="WHEELS", help="folder with the wheels of the peers")
    options = parser.parse_args()
    scenario = scenario_files.load(scenario_files.find(options.scenario))
    planned = flights.planned(scenario)
    period_s = scenario.controller.control_period_s or scenario.aircraft.step_s
    shorter_s = round(math.ceil(SHORTER_S / period_s - 1e-9) * period_s, 9)
    shorter = flights.plan(options.scenario, (f"duration_s={shorter_s}",))
    limits = [
        # the scenario's own limit of its time is that of its whole length
        (check.metric, kind, getattr(check, kind) - (scenario.duration_s - shorter_s) * (check.metric == "flown_s"))
        for check in required(scenario)
        for kind in ("below", "above", "equals")
        if getattr(check, kind) is not None and check.metric in planned.loop.metrics
    ]
    drawn = draws(definition.read(options.campaign).definition.parameter) if options.campaign else ()
    write(options.folder, planned, Shorter(shorter, limits, drawn))
    if options.peers:
        unpack_peers(options.folder, options.peers)


if __name__ == "__main__":
    main()
