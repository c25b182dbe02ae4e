"""`python -m tools.batch_package FOLDER [--scenario NAME]`: a batch as sources, with scattered flights and `check.py`.

The folder runs on a machine without this project: `python3 check.py` there compares CPU and GPU and prints rates.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aeroloop.analysis.checks import required
from aeroloop.batch import flights, gpu
from aeroloop.batch.loop import source
from aeroloop.codegen import batch, batch_build
from aeroloop.core import scenario_files

FLIGHTS = 1000
SPREAD = 0.05
SEED = 1
SHORTER_S = 20.0


Limit = tuple[str, str, float]
"""Metric, `below`, `above` or `equals`, and the limit."""


def write(
    folder: Path, planned: flights.Plan, checks: Sequence[Limit] = (), shorter: flights.Plan | None = None
) -> None:
    """Sources, header, parameters, table and the check. `shorter`: the same flight, of 20 s."""
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
    np.save(folder / "table_20s.npy", shorter.table if shorter else planned.table)
    (folder / "batch_rtc.cu").write_text(gpu.run_time_source(source(planned.loop, batch.CUDA)), encoding="utf-8")
    plan = {
        "metrics": planned.loop.metrics,
        "parameters": planned.loop.parameters,
        "defaults": list(planned.defaults.values()),
        "checks": [list(check) for check in checks],
        "rtc": gpu.EXACT,
        "steps": len(planned.table) * planned.loop.steps_per_cycle,
        "flags": {
            "lanes": (*batch_build.LANE_FLAGS, "-lm"),
            "double": (*batch_build.DOUBLE_FLAGS, "-lm"),
            "cuda": (*batch_build.CUDA_FLAGS, f"-arch={batch_build.CUDA_ARCHITECTURE}"),
        },
    }
    (folder / "plan.json").write_text(json.dumps(plan, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(Path(__file__).with_name("batch_check.py"), folder / "check.py")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.batch_package", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenario", default="tiltrotor-spiral")
    options = parser.parse_args()
    scenario = scenario_files.load(scenario_files.find(options.scenario))
    limits = [
        (check.metric, kind, getattr(check, kind))
        for check in required(scenario)
        for kind in ("below", "above", "equals")
        if getattr(check, kind) is not None
    ]
    planned = flights.planned(scenario)
    period_s = scenario.controller.control_period_s or scenario.aircraft.step_s
    cycles = math.ceil(SHORTER_S / period_s - 1e-9)
    shorter = flights.plan(options.scenario, (f"duration_s={round(cycles * period_s, 9)}",))
    write(options.folder, planned, [limit for limit in limits if limit[0] in planned.loop.metrics], shorter)


if __name__ == "__main__":
    main()
