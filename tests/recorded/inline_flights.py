"""Short flights by `fly_inline`, with a hash of each stream; as a program it flies what its standard input asks for.

The program belongs to another revision's package (PYTHONPATH): one process flies many flights, without the start of a
command, processes and a recorder for each. A request is a line of JSON with `scenario`, `rung` and the parameters of
`flown_inline`, its answer a line with `streams` and `factor`, or `error`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from recorded_flights import Flight, Flown, hashed


def flown_inline(flight: Flight, settings: tuple[str, ...] | None = None, *, timed: bool = False) -> Flown:
    """By default its short flight. `timed`: with the speed, which the imports of a first flight would falsify."""
    # Only here: the program answers with what a revision lacks.
    from aeroloop.core.fleet import parts_of, prefix
    from aeroloop.core.fleet_files import load_plan
    from aeroloop.core.scenario_files import find
    from aeroloop.flight.inline import fly_inline

    given = (*(flight.short if settings is None else settings), f'loop="{flight.rung}"')
    if timed:
        fly_inline(load_plan(find(flight.scenario), (*given, "duration_s=0.1", "checks=[]")))
    plan = load_plan(find(flight.scenario), given)
    began_s = time.perf_counter()
    logs = fly_inline(plan).logs
    factor = plan.duration_s / (time.perf_counter() - began_s)
    tables = {
        f"{prefix(plan, part)}{stream.name}": (log.columns[stream.name], log.rows[stream.name])
        for part, log in zip(parts_of(plan), logs, strict=True)
        for stream in log.streams
        if stream.simulated and len(log.rows[stream.name])
    }
    return Flown("", hashed(tables), factor if timed else 0.0)


class Base:
    """A process that flies with the package of another tree. Its standard error is the test's, shown if it fails."""

    def __init__(self, tree: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fly(self, flight: Flight) -> Flown:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps({"scenario": flight.scenario, "rung": flight.rung}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self._process.wait()
            raise RuntimeError(f"{flight.name}: the base revision's process ended with {code}, see standard error")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{flight.name}: the base revision cannot fly it: {answer['error']}")
        return Flown("", answer["streams"], 0.0)

    def close(self) -> None:
        self._process.communicate()


def flown_asked(scenario: str, rung: str, settings: list[str] | None = None, *, timed: bool = False) -> Flown:
    return flown_inline(Flight(scenario, rung), None if settings is None else tuple(settings), timed=timed)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a flight prints is no answer
    for line in sys.stdin:
        try:
            flown = flown_asked(**json.loads(line))
            answer = {"streams": flown.streams, "factor": flown.factor}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
