"""Landings on the pad with many seeds: what is drawn for each, the flights, and their numbers and checks.

Of a seed depend all noise of the sensors, the error of the GNSS, the turbulence, the direction of the steady wind and
the place of the last waypoint. A flight by GPS alone has the same as the one by vision with its seed.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.api.scenarios import ScenarioPlan
from aeroloop.campaign.results import Check
from aeroloop.core.config import override
from aeroloop.core.errors import EXIT_USAGE, AeroloopError, ConfigError
from aeroloop.core.scenario import Scenario

VISION, GPS = "vision", "gps"
WIND, WAYPOINTS = "world.wind.steady_W", "pilot.waypoints"
START_STD_M = 0.85
"""Of the last waypoint, east and north: 1.2 m in all."""
STREAM = tuple(b"landings")
RMS_CM, WORST_CM, OF_GPS = 5.0, 12.0, 0.1
METRICS = {
    "east_m": "touchdown_east_m",
    "north_m": "touchdown_north_m",
    "touchdown_s": "touchdown_s",
    "speed_m_s": "touchdown_speed_m_s",
    "seen_pct": "pad_seen_pct",
}
GRACE_S = 20.0
"""For a flight that is asked to end."""


@dataclass(frozen=True, order=True)
class Flown:
    """A landing; numbers that were not measured are NaN."""

    use: str
    seed: int
    ended: str
    wind_deg: float  # direction into which the steady wind blows, from east counter-clockwise
    start_m: tuple[float, float]  # how far the last waypoint was moved: east, north
    numbers: Mapping[str, float]

    @property
    def off_m(self) -> float:
        return math.hypot(self.numbers["east_m"], self.numbers["north_m"])

    @property
    def landed(self) -> bool:
        return math.isfinite(self.off_m)


@dataclass(frozen=True)
class Drawn:
    """What a seed changes in the scenario, besides its random streams."""

    wind_deg: float
    start_m: tuple[float, float]


@dataclass(frozen=True)
class Statistics:
    """Of one way to land."""

    use: str
    flights: int
    landed: int
    rms_cm: float
    median_cm: float
    p95_cm: float
    worst_cm: float
    touchdown_s: float  # mean


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=STREAM))
    wind_deg = float(rng.uniform(0.0, 360.0))
    east_m, north_m = (float(value) for value in START_STD_M * rng.standard_normal(2))
    return Drawn(wind_deg, (east_m, north_m))


def checked(scenario: ScenarioPlan) -> ScenarioPlan:
    """ConfigError if it is no landing."""
    plan = scenario.plan
    if not isinstance(plan, Scenario) or plan.landing is None:
        raise ConfigError(f"landings: {scenario.name} has no [landing]; expected a scenario such as quad-landing")
    return scenario


def settings(scenario: ScenarioPlan, use: str, seed: int) -> tuple[str, ...]:
    """The changes of one flight, as for `--set`. Without vision nothing is rendered."""
    own, changes = drawn(seed), [override("seed", seed), override("landing.use", use), "checks=[]", "pace=lockstep"]
    if use == GPS:
        changes.append("cameras=[]")
    east, north, up = scenario[WIND]
    speed, angle = math.hypot(east, north), math.radians(own.wind_deg)
    changes.append(override(WIND, [speed * math.cos(angle), speed * math.sin(angle), up]))
    if waypoints := scenario[WAYPOINTS]:
        x, y, z = waypoints[-1]["pos_m"]
        moved = [x + own.start_m[0], y + own.start_m[1], z]
        changes.append(override(f"{WAYPOINTS}[{len(waypoints) - 1}].pos_m", moved))
    return tuple(changes)


class Flights:
    """Flies each landing as a program of its own, several at a time."""

    def __init__(self, scenario: ScenarioPlan, folder: Path) -> None:
        self._scenario, self._folder = checked(scenario), folder
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self.done: list[Flown] = []

    def fly_all(
        self,
        cells: Sequence[tuple[str, int]],
        *,
        workers: int | None = None,
        on_progress: Callable[[str], None] = lambda last: None,
    ) -> list[Flown]:
        """In the order of the cells: how to land, and the seed. A flight that failed counts as one that did not land.
        Interrupted, it ends the flights that are running; `done` has those before."""
        count = max(1, min(workers or len(os.sched_getaffinity(0)) // 2, len(cells)))
        with ThreadPoolExecutor(count) as pool:
            flights = {pool.submit(self.fly, *cell): cell for cell in cells}
            try:
                for flight in as_completed(flights):
                    flight.result()
                    on_progress("{} {}".format(*flights[flight]))
            except BaseException:
                self._stop()
                pool.shutdown(cancel_futures=True)
                raise
            return [flight.result() for flight in flights]

    def fly(self, use: str, seed: int) -> Flown:
        own = drawn(seed)
        out = self._folder / f"{use}-{seed:03}"
        changes = (*self._scenario.changes, *settings(self._scenario, use, seed))
        options = [text for change in changes for text in ("--set", change)]
        command = [sys.executable, "-P", "-m", "aeroloop.cli", "fly", str(self._scenario.path)]
        code, text, errors = self._run([*command, *options, "--json", "--no-report", "--out", str(out)])
        said = [line.strip() for line in errors.splitlines() if line.strip()]
        words = said[-1] if said else f"exit code {code}"
        if self._stopped:
            raise AeroloopError("landings: interrupted")
        if code == EXIT_USAGE:
            raise ConfigError(f"landings: {use}, seed {seed}: {words}")
        one = flown(use, seed, own, json.loads(text) if text else {"metrics": {}, "ended": words})
        self.done.append(one)
        return one

    def _run(self, command: Sequence[str]) -> tuple[int, str, str]:
        with self._lock:
            if self._stopped:
                raise AeroloopError("landings: interrupted")
            # Ctrl-C on a terminal reaches this process alone, which ends the flights.
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
            self._running.add(process)
        try:
            text, errors = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        return process.returncode, text, errors

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def flown(use: str, seed: int, own: Drawn, summary: Mapping[str, Any]) -> Flown:
    """From the summary of its flight."""
    metrics = summary["metrics"]
    numbers = {name: _number(metrics.get(metric)) for name, metric in METRICS.items()}
    return Flown(use, seed, str(summary["ended"]), own.wind_deg, own.start_m, numbers)


def statistics(use: str, flights: Sequence[Flown]) -> Statistics:
    own = [flight for flight in flights if flight.use == use]
    off_cm = np.array([100.0 * flight.off_m for flight in own if flight.landed])
    times_s = [flight.numbers["touchdown_s"] for flight in own if flight.landed]
    if not len(off_cm):
        return Statistics(use, len(own), 0, *(math.nan,) * 5)
    return Statistics(
        use,
        len(own),
        len(off_cm),
        float(np.sqrt(np.mean(off_cm**2))),
        float(np.median(off_cm)),
        float(np.percentile(off_cm, 95)),
        float(off_cm.max()),
        float(np.mean(times_s)),
    )


def checks(rows: Sequence[Statistics]) -> list[Check]:
    by = {row.use: row for row in rows}
    found = [Check(f"{row.use}: flights that did not land", float(row.flights - row.landed), most=0.0) for row in rows]
    if VISION in by:
        found.append(Check("vision: rms (cm)", by[VISION].rms_cm, most=RMS_CM))
        found.append(Check("vision: worst (cm)", by[VISION].worst_cm, most=WORST_CM))
    if VISION in by and GPS in by:
        found.append(Check("rms of vision over rms of gps", by[VISION].rms_cm / by[GPS].rms_cm, most=OF_GPS))
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
