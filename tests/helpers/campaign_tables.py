"""A campaign of made-up results, without flying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.campaign.campaigns import Campaign
from aeroloop.campaign.store import Outcome
from aeroloop.core.errors import EXIT_LINK

WIND, PRESET = "world.wind.steady_W[0]", "sensors.preset"
TABLE: dict[str, Any] = {
    "name": "made-up",
    "scenario": "quad-wind",
    "flights": 20,
    "parameter": [{"key": WIND, "uniform": [0, 10]}, {"key": PRESET, "choice": ["px4", "consumer"]}],
    "check": [{"rate": "passed", "at_least": 0.5}],
}


def outcome(error_m: float | None) -> Outcome:
    ok = error_m is not None and error_m < 1.5
    check = {"name": "pos_rms_m", "value": error_m, "limit": "< 1.5", "ok": ok}
    verdict = "passed" if ok else "failed"
    return Outcome(verdict, int(not ok), "completed", 1.0, "here", f"{error_m}", (check,), {"pos_rms_m": error_m})


def filled(folder: Path, *, aborted: int = 0) -> Campaign:
    """20 flights whose error is a tenth of their wind, two of them beyond the limit; without flying."""
    campaign = Campaign(TABLE, out=folder)
    with campaign._writing() as store:
        store.begin(campaign.about())
        rows = [(f"{n:024}", n, {WIND: 0.8 * n, PRESET: "px4"}, n) for n in range(1, 21)]
        store.plan(rows, campaign.edition)
        for key, number, values, _ in rows:
            if number > 20 - aborted:
                assert store.not_flown(key, "the worker process was lost", exit_code=EXIT_LINK, retries=0)
            else:
                store.flown(key, outcome(float(values[WIND]) / 10.0))
    return campaign
