"""Compiles a packaged batch with gcc and nvcc, compares the metrics of equal flights bit by bit, and prints rates.

`python3 check.py [--flights N] [--cpu-only]` in a folder written by `python -m tools.batch_package`. Needs Python 3.10,
numpy, gcc and, for the GPU, nvcc with a device; nothing of this project. Exit status 0 if all bits are equal.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
COMPARED = 1000


def build(command: list[str], source: str, library: str) -> Any:
    """The entry of a compiled source."""
    subprocess.run([*command, "-o", str(HERE / library), str(HERE / source)], check=True, cwd=HERE)
    return ctypes.CDLL(str(HERE / library)).aeroloop_batch_run


def fly(entry: Any, plan: dict[str, Any], params: Any, seeds: Any, threads: int) -> tuple[Any, float]:
    """Metrics (metrics, flights), and seconds."""
    real = np.float64 if plan.get("real") == "double" else np.float32
    table = np.ascontiguousarray(np.load(HERE / "table.npy"), real)
    own = np.ascontiguousarray(params.T, real)
    numbers = np.arange(len(params), dtype=np.uint32)
    keys = np.ascontiguousarray(seeds, np.uint32)
    made = np.zeros((len(plan["metrics"]), len(params)), real)
    seconds = ctypes.c_double()
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (own, numbers, keys, table, made)]
    failed = entry(*pointers[:4], len(table), len(params), threads, pointers[4], ctypes.byref(seconds))
    if failed:
        raise SystemExit(f"CUDA error {failed}")
    return made, seconds.value


def same_bits(a: Any, b: Any) -> Any:
    """(metrics, flights) Equal to the bit; a NaN equals a NaN, whose sign differs between processors."""
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=270_336, help="of the GPU's rate")
    parser.add_argument("--cpu-only", action="store_true", help="compare one lane with sixteen instead")
    options = parser.parse_args()
    plan = json.loads((HERE / "plan.json").read_text())
    params, seeds = np.load(HERE / "params.npy"), np.load(HERE / "seeds.npy")
    steps = plan["steps"]
    threads = os.cpu_count() or 1

    def rate(name: str, entry: Any, count: int, threads: int, real: str = "single") -> None:
        rows = np.resize(params, (count, params.shape[1]))
        _, seconds = fly(entry, {**plan, "real": real}, rows, np.arange(count), threads)
        print(f"{name}: {count} flights in {seconds:.3f} s, {count * steps / seconds / 1e6:.3f} M plant steps/s")

    lanes = build(["gcc", *plan["flags"]["lanes"]], "batch.c", "lanes.so")
    expected, _ = fly(lanes, plan, params[:COMPARED], seeds[:COMPARED], threads)
    if options.cpu_only:
        other, what = build(["gcc", *plan["flags"]["lanes"], "-DAL_LANES=1"], "batch.c", "one.so"), "1 lane"
    else:
        other, what = build(["nvcc", *plan["flags"]["cuda"]], "batch.cu", "cuda.so"), "GPU"
    made, _ = fly(other, plan, params[:COMPARED], seeds[:COMPARED], threads)
    equal = same_bits(expected, made)
    print(f"{what} = 16 lanes: {int(equal.all(axis=0).sum())} of {equal.shape[1]} flights equal in all metrics")
    for name, row, a, b in zip(plan["metrics"], equal, expected, made, strict=True):
        if not row.all():
            worst = int(np.nanargmax(np.abs(a - b)))
            print(f"  {name}: {int((~row).sum())} differ, most in flight {worst}: {a[worst]!r} and {b[worst]!r}")
    double = build(["gcc", *plan["flags"]["double"]], "batch_double.c", "double.so")
    rate("scalar double C", double, 16, 1, "double")
    rate("16 lanes, 1 thread", lanes, 256, 1)
    rate(f"16 lanes, {threads} threads", lanes, 256 * threads, threads)
    if not options.cpu_only:
        for _ in range(3):
            rate("GPU", other, options.flights, 0)
    return 0 if equal.all() else 1


if __name__ == "__main__":
    sys.exit(main())
