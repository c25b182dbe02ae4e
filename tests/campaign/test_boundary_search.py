"""The boundary search finds a known one, in flights the delay margin that the model predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.campaign.definition import Search
from aeroloop.campaign.search import bisect
from aeroloop.families.tiltrotor.design import design

SEARCH = {"key": "link.to_plant.delay_s", "from": 0.008, "to": 0.010, "pass_rate": 0.5, "resolution": 0.0005}
SCENARIO: dict[str, Any] = {
    "name": "delayed",
    "summary": "The spiral with a delay",
    "duration_s": 5.0,
    "world": {"start": "moving"},
    "ground": {"trajectory": {"kind": "spiral"}},
}


@pytest.mark.parametrize("ends", [(0.0, 8.0), (8.0, 0.0)])
def test_bisection_of_a_random_outcome_is_near_the_boundary(ends: tuple[float, float]) -> None:
    """A rate of 1 / (1 + exp(4 (x - 3))) or its mirror image, 0.5 at x = 3."""
    rng = np.random.default_rng(1)
    draws: dict[float, Any] = {}

    def fly(value: float, count: int) -> list[bool]:
        numbers = draws.setdefault(value, rng.random(500))
        rate = 1.0 / (1.0 + np.exp(4.0 * (value - 3.0)))
        return [bool(number < rate) for number in numbers[:count]]

    found = bisect(Search(key="x", from_=ends[0], to=ends[1], pass_rate=0.5, resolution=0.25), fly)
    assert found.found
    assert found.passes_at is not None
    assert found.fails_at is not None
    assert found.passes_at < found.fails_at  # whichever end the search began at
    assert found.fails_at - found.passes_at <= 0.25
    assert abs(found.passes_at - 3.0) < 0.75


def test_ends_on_one_side_are_named() -> None:
    found = bisect(Search(key="x", from_=0.0, to=1.0, pass_rate=0.5), lambda value, count: [True] * count)
    assert not found.found
    assert found.words == ("x: no boundary found: the rate is above it at both 0 and 1; expected ends on both sides")


def test_delay_margin_from_flights_is_the_models(tmp_path: Path) -> None:
    table = {"name": "margin", "scenario": SCENARIO, "search": SEARCH}
    judged = aeroloop.Campaign(table, out=tmp_path).run(workers=2)
    found, margin_s = judged.boundary, design("cad", "published", 0.012).delay_margin_s()
    assert found is not None
    assert found.passes_at == pytest.approx(margin_s, abs=0.0005)
    assert found.fails_at == pytest.approx(margin_s, abs=0.00055)
    assert judged.exit_code == 0
    flown = len(judged.flown)
    again = aeroloop.Campaign(table, out=tmp_path).run(workers=1)
    assert (again.boundary, len(again.flown)) == (found, flown)
