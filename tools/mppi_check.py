"""Compares packaged rollouts on CPU and GPU bit by bit, flies with them in real time, and prints times of a cycle.

`python3 check.py [--cpu-only] [--seconds S] [--rollouts N] [--cpu-rollouts N]` in a folder written by
`python -m tools.mppi_package`. Needs Python 3.11, numpy, gcc and, for the GPU, nvcc with a device. The flight has two
processes, the plant (design model) and the board (law), with the board protocol on a pseudo-terminal; the plant's time
is the wall clock's, so that the time of the law delays its command as in a flight. Exit status 0 if all bits are equal
and no flight is lost.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import statistics
import subprocess
import sys
import time
import tty
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402

from aeroloop.batch.sampling import Rollouts  # noqa: E402
from aeroloop.control import mppi  # noqa: E402
from aeroloop.protocols.board import Actuators, BoardEnd, PlantEnd, Request  # noqa: E402

COMPARED, CYCLES = 2048, 300
COUNTS = tuple(1024 << k for k in range(11))
MOST_ON_CPU = 1 << 17
PLANT_STEP_S = 0.004
TIMED = 30
BUDGETS_S = (0.012, 0.006)
LOST_M = 50.0


def build(command: list[str], source: str, library: str) -> ctypes.CDLL:
    subprocess.run([*command, "-o", str(HERE / library), str(HERE / source)], check=True, cwd=HERE)
    return ctypes.CDLL(str(HERE / library))


class Package:
    """The law's numbers."""

    def __init__(self) -> None:
        self.plan = json.loads((HERE / "plan.json").read_text())
        stored = np.load(HERE / "law.npz")
        self.start, self.path = stored["start"], stored["path"]
        self._own: dict[str, dict[str, Any]] = {"feedback": {}, "sampling": {}}
        for name in stored.files:
            table, _, field = name.partition(".")
            if field:
                value = stored[name]
                self._own[table][field] = value if value.ndim else value.item()
        self._own["feedback"]["referenced"] = tuple(int(i) for i in self._own["feedback"]["referenced"])
        self.feedback = mppi.Feedback(**self._own["feedback"])
        self.sampling = mppi.Sampling(**self._own["sampling"])

    def rollouts(self, library: ctypes.CDLL, count: int, threads: int = 1) -> Rollouts:
        knots = self.sampling.knots
        return Rollouts(library, count, mppi.Columns(knots).count, mppi.INPUTS * knots, threads)

    def bounds(self, name: str) -> Any:
        return SimpleNamespace(**{part: tuple(row) for part, row in self.plan["bounds"][name].items()})


class Plant:
    """The compiled design model."""

    def __init__(self, library: ctypes.CDLL, start: Any) -> None:
        self._run = library.plant
        sizes = [ctypes.c_longlong() for _ in range(4)]
        library.plant_work(*(ctypes.byref(size) for size in sizes))
        args, results, integers, reals = (max(size.value, 4) for size in sizes)
        self._u, self._h = np.zeros(4), np.zeros(1)
        self.state, self._next = np.array(start, float), np.zeros(16)
        self._work = np.zeros(reals), np.zeros(integers, np.int64)
        self._args, self._results = (ctypes.c_void_p * args)(), (ctypes.c_void_p * results)()
        for place, array in enumerate((self.state, self._u, self._h)):
            self._args[place] = array.ctypes.data
        self._results[0] = self._next.ctypes.data
        self._pointers = [ctypes.c_void_p(array.ctypes.data) for array in (self._work[1], self._work[0])]

    def advance(self, command: Any, duration_s: float) -> None:
        self._u[:] = command
        while duration_s > 1e-9:
            self._h[0] = min(duration_s, PLANT_STEP_S)
            self._run(self._args, self._results, *self._pointers, 0)
            self.state[:] = self._next
            duration_s -= float(self._h[0])


class Law:
    """The law with its memory."""

    def __init__(self, package: Package, rollouts: Rollouts) -> None:
        self._law = mppi.Mppi(package.feedback, package.sampling, rollouts)
        self._memory = np.zeros(package.sampling.memory)
        self._hover = package.feedback.u_eq

    def __call__(self, sensors: Any, reference: Any) -> Any:
        after = self._memory.copy()
        command, _ = self._law.step(np.asarray(sensors, float), reference, self._memory, after)
        self._memory = after
        return self._hover if command is None else command


def compare(package: Package, plant: ctypes.CDLL, one: Rollouts, other: Rollouts, what: str) -> bool:
    """The law in closed loop on one, and every cycle's table on the other as well."""
    laws, body = [Law(package, rollouts) for rollouts in (one, other)], Plant(plant, package.start)
    equal_costs = equal_commands = 0
    for cycle in range(CYCLES):
        commands = [law(body.state, package.path[cycle]) for law in laws]
        equal_commands += commands[0].tobytes() == commands[1].tobytes()
        equal_costs += all(a.tobytes() == b.tobytes() for a, b in zip(one.read(), other.read(), strict=True))
        body.advance(commands[0], package.sampling.period_s)
    print(f"{what}: {equal_costs} of {CYCLES} cycles equal in all {one.count} costs, knots and weights to the bit, ")
    print(f"  {equal_commands} of {CYCLES} in the command")
    return equal_costs == equal_commands == CYCLES


def plant_process(package: Package, library: ctypes.CDLL, fd: int, out: Path, seconds: float) -> None:
    """Answers requests with the state of now, and applies commands from when they arrive."""
    body, end = Plant(library, package.start), PlantEnd(package.bounds("command"), lambda _: None)
    command, rows, began, at = package.feedback.u_eq, [], None, 0.0
    while began is None or time.monotonic() < began + seconds:
        if not select.select([fd], [], [], 0.5)[0]:
            if began is not None:
                break
            continue
        for message in end.receive(os.read(fd, 4096)):
            now = time.monotonic()
            began = began or now
            body.advance(command, now - began - at)
            at = now - began
            if isinstance(message, Request):
                rows.append((at, *body.state))
                os.write(fd, end.answer(tuple(body.state.tolist())))
            elif isinstance(message, Actuators):
                command = np.array(message.command)
    np.save(out, np.array(rows))


def fly(package: Package, plant: ctypes.CDLL, rollouts: Rollouts, seconds: float, what: str) -> bool:
    """A flight in real time; the board is this process, the plant a child."""
    master, slave = os.openpty()
    tty.setraw(slave)
    out = HERE / "flown.npy"
    child = os.fork()
    if child == 0:
        os.close(master)
        try:
            plant_process(package, plant, slave, out, seconds)
        finally:
            os._exit(0)
    os.close(slave)
    law, end = Law(package, rollouts), BoardEnd(package.bounds("sensors"), lambda _: None)
    period_s = package.sampling.period_s
    took, late, missed, cycle = [], [], 0, -1
    began = time.monotonic()
    while (cycle := cycle + 1) < round(seconds / period_s):
        due = began + cycle * period_s
        time.sleep(max(0.0, due - time.monotonic()))
        skipped = int((time.monotonic() - due) / period_s)  # a timer missed by a whole period is skipped
        cycle, due = cycle + skipped, due + skipped * period_s
        late.append(time.monotonic() - due)
        os.write(master, end.request())
        sensors = None
        while sensors is None and time.monotonic() < due + period_s:
            if select.select([master], [], [], max(0.0, due + period_s - time.monotonic()))[0]:
                sensors = end.receive(os.read(master, 4096))
        if sensors is None:
            missed += 1
            continue
        start = time.monotonic()
        command = law(sensors, package.path[min(cycle, len(package.path) - 1)])
        os.write(master, end.actuators(tuple(command.tolist())))
        took.append(time.monotonic() - start)
    os.waitpid(child, 0)
    os.close(master)
    rows = np.load(out)
    at = np.minimum(np.round(rows[:, 0] / period_s).astype(int), len(package.path) - 1)
    off_m = rows[:, 1:4] - package.path[at, :3]
    over = sum(t > period_s for t in took)
    lost = not (len(rows) and np.isfinite(rows).all() and np.abs(off_m).max() < LOST_M)
    print(f"{what}: {rollouts.count} rollouts, {len(took)} cycles of {period_s * 1e3:g} ms in real time over a pty")
    print(
        f"  law {1e3 * statistics.median(took):.2f} ms (median), {1e3 * max(took):.2f} ms (largest), "
        f"{over} longer than the period, {missed} without sensors, timer late by at most {1e3 * max(late):.2f} ms"
    )
    rms_mm = 1e3 * np.sqrt((off_m**2).mean(axis=0))
    roll_deg, yaw_deg = (np.degrees(np.abs(rows[:, 1 + i]).max()) for i in (3, 5))
    print(
        f"  roll {roll_deg:.2f} deg, yaw {yaw_deg:.2f} deg, RMS x, y, z {rms_mm[0]:.0f}, {rms_mm[1]:.0f}, "
        f"{rms_mm[2]:.0f} mm, largest error {np.linalg.norm(off_m, axis=1).max():.3f} m" + (": LOST" if lost else "")
    )
    return not lost


def cycle_s(package: Package, rollouts: Rollouts, table: Any) -> tuple[float, float]:
    """Median and largest time of a cycle, copies included."""
    times = []
    for number in range(TIMED + 3):
        start = time.perf_counter()
        rollouts.cycle(table, number, package.sampling.temperature)
        times.append(time.perf_counter() - start)
    return statistics.median(times[3:]), max(times[3:])


def times(package: Package, library: ctypes.CDLL, table: Any, threads: int, what: str, most: int) -> None:
    """Time of a cycle by the number of rollouts, and the numbers that fit into a period."""
    fits = dict.fromkeys(BUDGETS_S, 0)
    last = 0.0
    for count in [count for count in COUNTS if count <= most]:
        own = package.rollouts(library, count, threads)
        last, worst = cycle_s(package, own, table)
        own.close()
        print(f"{what}: {count} rollouts in {1e3 * last:.3f} ms (median of {TIMED}), {1e3 * worst:.3f} ms (largest)")
        fits = {budget: max(fits[budget], count if last <= budget else 0) for budget in BUDGETS_S}
    for budget in BUDGETS_S:
        count = max(1024, int(most * budget / last) // 1024 * 1024) if last else 0
        for _ in range(12):  # towards the largest number whose cycle fits
            own = package.rollouts(library, count, threads)
            median, _ = cycle_s(package, own, table)
            own.close()
            if median <= budget:
                break
            count = max(256, int(count * 0.98 * budget / median) // 256 * 256)
        print(f"{what}: {max(count, fits[budget])} rollouts fit into {1e3 * budget:g} ms")


def filled(package: Package, rollouts: Rollouts) -> Any:
    """The table of a cycle in flight."""
    law = mppi.Mppi(package.feedback, package.sampling, rollouts)
    law.step(package.start, package.path[0], np.zeros(package.sampling.memory), np.zeros(package.sampling.memory))
    return law.table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu-only", action="store_true", help="compare 8 lanes with 16 instead")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each flight")
    parser.add_argument("--rollouts", type=int, default=65536, help="of the flight with the GPU")
    parser.add_argument("--cpu-rollouts", type=int, help="of the flight without it; default: the scenario's")
    parser.add_argument("--no-times", action="store_true", help="without times of a cycle")
    parser.add_argument("--no-flight", action="store_true", help="without flights in real time")
    options = parser.parse_args()
    package = Package()
    threads = len(os.sched_getaffinity(0))
    plant = build(["gcc", "-O2", "-fPIC", "-shared"], "plant.c", "plant.so")
    lanes = build(["gcc", *package.plan["flags"]["lanes"]], "rollouts.c", "lanes.so")
    if options.cpu_only:
        other, what = (
            build(["gcc", *package.plan["flags"]["lanes"], "-DAL_LANES=8"], "rollouts.c", "eight.so"),
            "8 lanes",
        )
    else:
        other, what = build(["nvcc", *package.plan["flags"]["cuda"]], "rollouts.cu", "rollouts_cuda.so"), "GPU"
    one = package.rollouts(lanes, COMPARED, threads)
    good = compare(package, plant, one, package.rollouts(other, COMPARED, threads), f"{what} = 16 lanes")
    flown = max(1, threads - 2)  # the plant needs a core, and threads that wait for one another need theirs
    own = package.rollouts(lanes, options.cpu_rollouts or package.plan["rollouts"], flown)
    if not options.no_flight:
        good &= fly(package, plant, own, options.seconds, f"16 lanes, {flown} threads")
    if not options.no_flight and not options.cpu_only:
        good &= fly(package, plant, package.rollouts(other, options.rollouts), options.seconds, what)
    if not options.no_times:
        table = filled(package, one)
        times(package, lanes, table, 1, "16 lanes, 1 thread", 1 << 14)
        times(package, lanes, table, threads, f"16 lanes, {threads} threads", MOST_ON_CPU)
        if not options.cpu_only:
            times(package, other, table, 1, what, COUNTS[-1])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
