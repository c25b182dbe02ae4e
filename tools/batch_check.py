"""Compiles a packaged batch with gcc and nvcc, compares the metrics of equal flights bit by bit, and prints rates.

`python3 check.py [--flights N] [--cpu-only] [--cupy] [--peers] [--campaign N]` in a folder written by
`python -m tools.batch_package`. Needs Python 3.10, numpy, gcc and, for the GPU, nvcc with a device, or cupy; nothing of
this project. Random123's check vectors are drawn first, on the GPU too. `--peers`: RotorPy and crazyflow, if the
package brought them, fly in turns with ours, and all are printed as ratios. `--campaign`: so many flights of 20 s with
drawn parameters, in launches of at most a second, each a durable block of an SQLite file, then verdicts, histograms and
the worst. Exit status 0 if all bits are equal.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
COMPARED = 1000
ROUNDS = 5
"""Turns of everything that is compared with the peers."""
WORLDS_ON_GPU = (4096, 65_536, 524_288)
"""Of crazyflow."""


def build(command: list[str], source: str, library: str) -> Any:
    """The entry of a compiled source."""
    subprocess.run([*command, "-o", str(HERE / library), str(HERE / source)], check=True, cwd=HERE)
    return ctypes.CDLL(str(HERE / library))


def as_entry(launch: Any) -> Any:
    launch.is_launch = True
    return launch


def launcher(entry: Any, threads: int) -> Any:
    """(arrays, metrics to fill in) -> seconds, of either kind of entry."""
    if getattr(entry, "is_launch", False):
        return entry

    def launch(arrays: list[Any], made: Any) -> float:
        seconds = ctypes.c_double()
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, made)]
        failed = entry(*pointers[:4], len(arrays[3]), made.shape[1], threads, pointers[4], ctypes.byref(seconds))
        if failed:
            raise SystemExit(f"CUDA error {failed}")
        return seconds.value

    return launch


def fly(entry: Any, plan: dict[str, Any], params: Any, seeds: Any, threads: int) -> tuple[Any, float]:
    """Metrics (metrics, flights), and seconds."""
    real = np.float64 if plan.get("real") == "double" else np.float32
    table = np.ascontiguousarray(np.load(HERE / "table.npy"), real)
    own = np.ascontiguousarray(params.T, real)
    numbers = np.arange(len(params), dtype=np.uint32)
    keys = np.ascontiguousarray(seeds, np.uint32)
    made = np.zeros((len(plan["metrics"]), len(params)), real)
    return made, launcher(entry, threads)([own, numbers, keys, table], made)


def cupy_entry(plan: dict[str, Any]) -> Any:
    """The kernel compiled at run time, called like the entry of a library."""
    import cupy  # type: ignore[import-not-found]

    began_s = time.perf_counter()
    code = (HERE / "batch_rtc.cu").read_text()
    module = cupy.RawModule(code=code, options=tuple(plan["rtc"]), backend="nvrtc")
    kernel = module.get_function("al_kernel")
    print(f"cupy {cupy.__version__}: compiled in {time.perf_counter() - began_s:.1f} s")
    blocks = 256

    def launch(arrays: list[Any], made: Any) -> float:
        own, numbers, keys, table = (cupy.asarray(array) for array in arrays)
        metrics = cupy.empty(made.shape, np.float32)
        began, ended = cupy.cuda.Event(), cupy.cuda.Event()
        began.record()
        count = np.int32(made.shape[1])
        grid = ((int(count) + blocks - 1) // blocks,)
        kernel(grid, (blocks,), (own, numbers, keys, table, np.int32(len(table)), count, metrics))
        ended.record()
        ended.synchronize()
        made[:] = metrics.get()
        return float(cupy.cuda.get_elapsed_time(began, ended)) / 1000.0

    return launch


def philox(plan: dict[str, Any], kind: str) -> bool:
    """Whether Random123's check vectors come out, of `gcc`, of a kernel by `nvcc`, or of one by `cupy`."""
    vectors = plan["philox"]
    given = np.array([[*counter, *key] for counter, key, _ in vectors], np.uint32)
    made = np.zeros((len(vectors), 4), np.uint32)
    if kind == "cupy":
        cupy = importlib.import_module("cupy")
        code = (HERE / "philox_rtc.cu").read_text()
        kernel = cupy.RawModule(code=code, options=tuple(plan["rtc"]), backend="nvrtc").get_function("al_philox")
        out = cupy.asarray(made)
        kernel((1,), (64,), (cupy.asarray(given), np.int32(len(vectors)), out))
        made[:] = out.get()
    else:
        flags, suffix = plan["flags"]["lanes" if kind == "gcc" else "cuda"], "c" if kind == "gcc" else "cu"
        draw = build([kind, *flags], f"philox.{suffix}", f"philox_{kind}.so").aeroloop_philox
        if failed := draw(ctypes.c_void_p(given.ctypes.data), len(vectors), ctypes.c_void_p(made.ctypes.data)):
            raise SystemExit(f"CUDA error {failed}")
    good = made.tolist() == [list(expected) for _, _, expected in vectors]
    print(f"Philox, {'on the GPU by ' * (kind != 'gcc')}{kind}: check vectors {'equal' if good else f'DIFFER: {made}'}")
    return good


def peers(on_gpu: bool) -> dict[str, Any]:
    """Names, and functions that return steps a second of processor time and of wall time."""
    module = importlib.import_module("benchmarks.batch_peers")
    wanted = {
        "RotorPy": ("rotorpy", 1000, "cpu", 1),
        "crazyflow, processor, 1,024 drones": ("crazyflow", 250, "cpu", 1024),
        **{f"crazyflow, GPU, {count:,} drones": ("crazyflow", 250, "gpu", count) for count in WORLDS_ON_GPU if on_gpu},
    }
    found = {}
    for name, (package, steps, device, worlds) in wanted.items():
        try:
            found[name] = module.Peer(package, steps, device, worlds).rates
        except ImportError:
            print(f"{name}: not here, or it does not start")
    return found


def ratio(value: float, peer: float) -> str:
    return f"{value / peer:,.1f} times that" if value >= peer else f"1/{peer / value:,.1f}"


def in_turns(ours: dict[str, Any], others: dict[str, Any]) -> None:
    """Each flies once a round; medians, ranges, and ratios of ours to the first of them and to the others."""
    rates: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, run in ours.items():
            rates.setdefault(name, []).append(run())
        for name, run in others.items():
            of_processor, of_wall = run()
            rates.setdefault(f"{name}, over processor time", []).append(of_processor)
            rates.setdefault(name, []).append(of_wall)
    middle = {name: statistics.median(values) for name, values in rates.items()}
    print(f"in turns, {ROUNDS} rounds; M steps a second, over wall time unless said: median (least to most); ratios")
    for name, values in rates.items():
        peers = [next(iter(ours))] if name in ours else list(ours)
        ratios = "; ".join(f"{ratio(middle[name], middle[peer])} of {peer}" for peer in peers if peer != name)
        print(f"  {name}: {middle[name] / 1e6:.6g} ({min(values) / 1e6:.6g} to {max(values) / 1e6:.6g}); {ratios}")


def drawn(plan: dict[str, Any], count: int) -> Any:
    """(parameters, flights) Those of the campaign, the others as in the scenario."""
    rng = np.random.default_rng(1)
    params = np.repeat(np.array(plan["defaults"], np.float32)[:, None], count, axis=1)
    for name, kind, first, second, low, high in plan["draws"]:
        values = rng.normal(first, second, count) if kind == "normal" else rng.uniform(first, second, count)
        params[plan["parameters"].index(name)] = np.clip(values, low, high)
    return params


def campaign(launch: Any, plan: dict[str, Any], count: int) -> None:
    """Draw, fly, store, judge: what `aeroloop campaign run` does with them, without its report."""
    began_s = time.perf_counter()
    table = np.ascontiguousarray(np.load(HERE / "table_20s.npy"), np.float32)
    params = drawn(plan, count)
    noise, seeds = np.arange(count, dtype=np.uint32), np.ones(count, np.uint32)
    metrics = np.zeros((len(plan["metrics"]), count), np.float32)
    database = sqlite3.connect(HERE / "campaign.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("DROP TABLE IF EXISTS block")
    database.execute("CREATE TABLE block (first INTEGER, params BLOB, noise BLOB, metrics BLOB)")
    first, size, kernel_s, longest_s = 0, 33_792, 0.0, 0.0
    while first < count:
        part = slice(first, min(first + size, count))
        arrays = [np.ascontiguousarray(params[:, part]), noise[part], seeds[part], table]
        made = np.zeros((len(metrics), part.stop - first), np.float32)
        seconds = launch(arrays, made)
        metrics[:, part] = made
        blobs = (arrays[0].astype(float).tobytes(), noise[part].tobytes(), made.tobytes())
        database.execute("INSERT INTO block VALUES (?, ?, ?, ?)", (first, *blobs))
        kernel_s, longest_s = kernel_s + seconds, max(longest_s, seconds)
        first, size = part.stop, min(int(0.7 * made.shape[1] / seconds), 1 << 18)
    flown_s = time.perf_counter() - began_s
    passed = np.ones(count, bool)
    named = dict(zip(plan["metrics"], metrics, strict=True))
    for name, kind, limit in plan["checks"]:
        values = named[name]
        passed &= values < limit if kind == "below" else values > limit if kind == "above" else values == limit
    for values in metrics:
        np.histogram(values, 30)
        np.argpartition(values, -10)[-10:]
    print(
        f"campaign: {count} flights of 20 s: {flown_s:.2f} s with draws and store ({kernel_s:.2f} s of kernels, "
        f"longest launch {longest_s:.2f} s), {time.perf_counter() - began_s:.2f} s with verdicts and histograms; "
        f"{int(passed.sum())} passed"
    )


def same_bits(a: Any, b: Any) -> Any:
    """(metrics, flights) Equal to the bit; a NaN equals a NaN, whose sign differs between processors."""
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=270_336, help="of the GPU's rate")
    parser.add_argument("--cpu-only", action="store_true", help="compare one lane with sixteen instead")
    parser.add_argument("--cupy", action="store_true", help="compile for the GPU at run time instead of with nvcc")
    parser.add_argument("--peers", action="store_true", help="RotorPy and crazyflow in turns with ours, as ratios")
    parser.add_argument("--campaign", type=int, default=0, metavar="N", help="fly so many as a campaign, too")
    options = parser.parse_args()
    plan = json.loads((HERE / "plan.json").read_text())
    params, seeds = np.load(HERE / "params.npy"), np.load(HERE / "seeds.npy")
    steps = plan["steps"]
    threads = os.cpu_count() or 1

    def flown(entry: Any, count: int, threads: int, real: str = "single") -> float:
        rows = np.resize(params, (count, params.shape[1]))
        _, seconds = fly(entry, {**plan, "real": real}, rows, np.arange(count), threads)
        return float(count * steps / seconds)

    good = philox(plan, "gcc" if options.cpu_only else "cupy" if options.cupy else "nvcc")
    lanes = build(["gcc", *plan["flags"]["lanes"]], "batch.c", "lanes.so").aeroloop_batch_run
    expected, _ = fly(lanes, plan, params[:COMPARED], seeds[:COMPARED], threads)
    if options.cpu_only:
        other, what = (
            build(["gcc", *plan["flags"]["lanes"], "-DAL_LANES=1"], "batch.c", "one.so").aeroloop_batch_run,
            "1 lane",
        )
    elif options.cupy:
        other, what = as_entry(cupy_entry(plan)), "GPU by cupy"
    else:
        other, what = (
            build(["nvcc", *plan["flags"]["cuda"]], "batch.cu", "batch_cuda.so").aeroloop_batch_run,
            "GPU by nvcc",
        )
    made, _ = fly(other, plan, params[:COMPARED], seeds[:COMPARED], threads)
    equal = same_bits(expected, made)
    print(f"{what} = 16 lanes: {int(equal.all(axis=0).sum())} of {equal.shape[1]} flights equal in all metrics")
    for name, row, a, b in zip(plan["metrics"], equal, expected, made, strict=True):
        if not row.all():
            worst = int(np.nanargmax(np.abs(a - b)))
            print(f"  {name}: {int((~row).sum())} differ, most in flight {worst}: {a[worst]!r} and {b[worst]!r}")
    double = build(["gcc", *plan["flags"]["double"]], "batch_double.c", "double.so").aeroloop_batch_run
    contestants = {
        "scalar double C": lambda: flown(double, 16, 1, "double"),
        "16 lanes, 1 thread": lambda: flown(lanes, 256, 1),
        f"16 lanes, {threads} threads": lambda: flown(lanes, 256 * threads, threads),
    }
    if not options.cpu_only:
        contestants[what] = lambda: flown(other, options.flights, 0)
    in_turns(contestants, peers(not options.cpu_only) if options.peers else {})
    if options.campaign:
        campaign(launcher(other, threads), plan, options.campaign)
    return 0 if good and equal.all() else 1


if __name__ == "__main__":
    sys.exit(main())
