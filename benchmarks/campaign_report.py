"""The report of a campaign on the bench with 10,000 rows, made up: as many parameters, checks and metrics as a
quadrotor's campaign has."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from aeroloop.campaign.campaigns import Campaign
from aeroloop.campaign.design import flights
from benchmarks.measure import Aim, Outcome, row

FLIGHTS, QUICK_FLIGHTS, METRICS, MOST_S = 10_000, 200, 40, 10.0
PARAMETERS = (
    {"key": "world.wind.steady_W[0]", "normal": {"mean": 0.0, "std": 3.0}},
    {"key": "world.wind.steady_W[1]", "normal": {"mean": 0.0, "std": 3.0}},
    {"key": "world.wind.turbulence.w20_m_s", "uniform": [0.0, 10.0]},
    {"key": "sensors.preset", "choice": ["px4", "consumer"]},
)


def run(quick: bool) -> Outcome:
    count, rounds = (QUICK_FLIGHTS, 1) if quick else (FLIGHTS, 3)
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        campaign = filled(Path(folder), count)
        used = [_used_s(campaign) for _ in range(rounds)]
    aim = None if quick else Aim(1.0, at_least=False)
    return Outcome([row(f"report of {count} flights: processor time", "s", used, "spec", [MOST_S] * rounds, aim)])


def _used_s(campaign: Campaign) -> float:
    began_s = time.process_time()
    campaign.report()
    return time.process_time() - began_s


def filled(folder: Path, count: int) -> Campaign:
    """A campaign whose flights fail in strong wind; without flying."""
    table = {"name": "many", "scenario": "quad-wind", "flights": count, "parameter": list(PARAMETERS)}
    campaign = Campaign(table, out=folder)
    rng, names = np.random.default_rng(1), [f"number_{n}" for n in range(METRICS)]
    rows, results, metrics = [], [], []
    for flight in flights(campaign.definition):
        key, numbers = f"{flight.number:024}", rng.random(METRICS)
        wind = np.hypot(*(float(flight.values[f"world.wind.steady_W[{axis}]"]) for axis in range(2)))
        numbers[:6] += 0.1 * wind
        limited = [{"name": names[n], "value": numbers[n], "limit": "< 1.5", "ok": numbers[n] < 1.5} for n in range(6)]
        checks = [{**each, "value": float(each["value"]), "ok": bool(each["ok"])} for each in limited]
        verdict = "passed" if all(each["ok"] for each in checks) else "failed"
        rows.append((key, flight.number, flight.values, flight.seed))
        results.append(("flown", verdict, 1.0, key, json.dumps(checks), key))
        metrics += [(key, name, float(value)) for name, value in zip(names, numbers, strict=True)]
    with campaign._writing() as store:
        store.begin(campaign.about())
        store.plan(rows, campaign.edition)
        with store._writing() as database:  # at once: a durable row each takes longer than the report
            database.executemany(
                "UPDATE flight SET state = ?, verdict = ?, wall_s = ?, log_sha256 = ?, checks = ? WHERE key = ?",
                results,
            )
            database.executemany("INSERT INTO metric VALUES (?, ?, ?)", metrics)
    return campaign
