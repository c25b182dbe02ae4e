"""`python -m tools.batch_package FOLDER [--scenario NAME]`: a batch as sources, with scattered flights and `check.py`.

The folder runs on a machine without this project: `python3 check.py` there compares CPU and GPU and prints rates.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

from aeroloop.batch import flights
from aeroloop.batch.loop import source
from aeroloop.codegen import batch, batch_build

FLIGHTS = 1000
SPREAD = 0.05
SEED = 1


def write(folder: Path, planned: flights.Plan) -> None:
    """Sources, header, parameters, table and the check."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, dialect in (("batch.c", batch.LANES), ("batch.cu", batch.CUDA), ("batch_double.c", batch.DOUBLE)):
        (folder / name).write_text(source(planned.loop, dialect), encoding="utf-8")
    (folder / batch_build.HEADER).write_text(batch_build.header(), encoding="utf-8")
    rng = np.random.default_rng(SEED)
    values = np.array(list(planned.defaults.values()))
    # Factors and offsets around the scenario's values; a delay stays whole, and all of it loses some flights.
    params = np.tile(values, (FLIGHTS, 1)) + SPREAD * rng.standard_normal((FLIGHTS, len(values)))
    for index, name in enumerate(planned.defaults):
        if name == "link.delay_steps":
            params[:, index] = rng.integers(0, 4, FLIGHTS)
    np.save(folder / "params.npy", params.astype(np.float32))
    np.save(folder / "seeds.npy", rng.integers(0, 2**32, FLIGHTS, dtype=np.uint32))
    np.save(folder / "table.npy", planned.table)
    plan = {
        "metrics": planned.loop.metrics,
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
    write(options.folder, flights.plan(options.scenario))


if __name__ == "__main__":
    main()
