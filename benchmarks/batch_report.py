"""The report of a batch campaign of a million flights, in processor time, with what stands before it: draws and store.

The flights are not flown: a stand-in for the engine gives them metrics that depend on their parameters and on noise,
so that some fail. The rest is that of `aeroloop campaign run quad-batch --engine batch`. No flight is flown again
on the bench, so that the report says that nothing is confirmed. The peer is the limit: 20 s for the report.
"""

from __future__ import annotations

import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from aeroloop import Campaign
from aeroloop.batch import engine
from aeroloop.batch.loop import Loop
from aeroloop.campaign import batch_flights, batch_run, definition
from aeroloop.core.frames import Vec
from benchmarks.measure import Aim, Outcome, row

FLIGHTS, QUICK_FLIGHTS = 1 << 20, 1 << 12
CAMPAIGN = "quad-batch"
LIMIT = "20 s, the limit"
LIMIT_S = 20.0
LIMITS = {"pos_rms_m": 0.9, "pos_max_m": 2.0, "est_pos_rms_m": 0.6, "est_attitude_rms_deg": 2.0}
"""Of the scenario's checks: the metrics lie about them."""


class StandIn:
    """An engine whose metrics are sums of a parameter and noise, some of them beyond their limits."""

    def __init__(self, loop: Loop, target: engine.Target = "lanes") -> None:
        self._loop = loop

    def fly(self, params: Vec, table: Vec, seeds: NDArray[Any], *, flights: NDArray[Any]) -> engine.Flown:
        rng = np.random.default_rng(int(flights[0]))
        spread = (params - params.mean(axis=0)) / (params.std(axis=0) + 1e-9)
        metrics = {}
        for index, name in enumerate(self._loop.metrics):
            share = spread[:, index % params.shape[1]] + rng.standard_normal(len(params))
            whole = name in ("diverged", "ground_contacts", "hard_contacts", "saturated_steps")
            metrics[name] = np.zeros(len(params)) if whole else LIMITS.get(name, 1.0) * (0.7 + 0.1 * share)
        return engine.Flown(metrics, 0.5, len(params) * len(table))


def run(quick: bool) -> Outcome:
    count = QUICK_FLIGHTS if quick else FLIGHTS
    with tempfile.TemporaryDirectory() as folder:
        campaign = flown(Path(folder), count)
        stored_s = _seconds(lambda: flown(Path(folder) / "again", count))
        report_s = _seconds(campaign.report)
        size = (campaign.folder / "report.html").stat().st_size
    aim = None if quick else Aim(1.0, at_least=False)
    return Outcome(
        [
            row(f"report of {count:,} flights, processor time", "s", [report_s], LIMIT, [LIMIT_S], aim),
            row(f"draws and store of {count:,} flights, processor time", "s", [stored_s], LIMIT, [LIMIT_S]),
        ],
        [f"the report has {size / 1e6:.1f} MB; the time includes the import of matplotlib"],
    )


def flown(folder: Path, count: int) -> Campaign:
    """A campaign whose flights are all in the store."""
    table = tomllib.loads(definition.find(CAMPAIGN).read_text(encoding="utf-8"))
    campaign = Campaign({**table, "flights": count, "keep": 10}, out=folder / "own")
    with patch.object(batch_flights, "Engine", StandIn), patch.object(batch_run, "_confirm", lambda *_: None):
        campaign.run()
    return campaign


def _seconds(work: Callable[[], object]) -> float:
    began_s = time.process_time()
    work()
    return time.process_time() - began_s
