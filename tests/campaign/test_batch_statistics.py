"""Statistics that only batches can afford: Sobol indices, rare failures, and the coverage of the intervals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from aeroloop.campaign import rare
from aeroloop.campaign.batch_file import Rare, SobolIndices
from aeroloop.campaign.batch_judged import BatchJudged
from aeroloop.campaign.campaigns import Campaign
from aeroloop.campaign.definition import Definition
from aeroloop.campaign.design import sobol_columns
from aeroloop.campaign.sobol import indices
from aeroloop.campaign.statistics import Array, clopper_pearson, wilson
from aeroloop.core.config import convert


@pytest.mark.soak
def test_indices_of_ishigami_are_the_published_ones() -> None:
    """a = 7, b = 0.1: T. Ishigami, T. Homma (1990); first 0.3139, 0.4424, 0, total 0.5576, 0.4424, 0.2437."""
    n = 2**13
    bounds = [-math.pi, math.pi]
    table = {
        "name": "ishigami",
        "scenario": "x",
        "engine": "batch",
        "seed": 3,
        "parameter": [{"key": key, "uniform": bounds} for key in ("x1", "x2", "x3")],
        "sensitivity": {"samples": n},
    }
    flown = sobol_columns(convert(table, Definition, "test"))
    x1, x2, x3 = (flown.values[key] for key in ("x1", "x2", "x3"))
    values = np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)
    found = indices({"y": values}, ["x1", "x2", "x3"], SobolIndices(samples=n, resamples=50), 1)
    assert flown.count == n * 5
    for each, first, total in zip(found, (0.3139, 0.4424, 0.0), (0.5576, 0.4424, 0.2437), strict=True):
        assert each.first == pytest.approx(first, abs=0.02) and each.total == pytest.approx(total, abs=0.02)
        assert each.first_interval[0] <= each.first <= each.first_interval[1]
        assert each.total_interval[1] - each.total_interval[0] < 0.1


def two_sided(u: Array) -> Array:
    """Margin to failure of a loop that fails at both ends of one parameter, and a little by another one."""
    return np.asarray(3.0 - np.abs(u[:, 0]) - 0.2 * u[:, 1])


def test_a_rare_rate_overlaps_with_plain_monte_carlo() -> None:
    """Two regions of failure: 2 P(x > 3) with x of variance 1.04, 3.3e-3 in all."""
    rng = np.random.default_rng(1)
    settings = Rare(check="margin", flights=2000)
    density, levels = rare.search(settings, 2, two_sided, rng)
    u = density.draw(settings.flights, rng)
    found = rare.estimate("margin", two_sided(u), density.weights(u), levels)
    plain = int(np.sum(two_sided(rng.standard_normal((200_000, 2))) <= 0.0))
    low, high = clopper_pearson(plain, 200_000)
    assert found.stated and found.relative_error < 0.1
    assert found.interval[0] < high and low < found.interval[1]
    exact = 2.0 * float(ndtr(-3.0 / math.sqrt(1.04)))
    assert found.interval[0] < exact < found.interval[1]


def test_a_very_rare_rate_and_its_interval() -> None:
    """5 standard deviations, 2.9e-7: far beyond plain Monte Carlo. The intervals of 30 estimates cover it."""
    exact, covered = float(ndtr(-5.0)), 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        settings = Rare(check="margin")
        density, levels = rare.search(settings, 3, lambda u: np.asarray(5.0 - u[:, 0]), rng)
        u = density.draw(settings.flights, rng)
        found = rare.estimate("margin", 5.0 - u[:, 0], density.weights(u), levels)
        assert found.stated and found.relative_error < 0.15
        covered += found.interval[0] < exact < found.interval[1]
    assert covered >= 25


def test_too_few_effective_flights_state_no_rate() -> None:
    margins = np.where(np.arange(1000) < 50, -1.0, 1.0)
    found = rare.estimate("yaw_max_deg", margins, np.ones(1000), ())
    assert found.effective == pytest.approx(50) and not found.stated and not found.ok(None)
    assert "no rate is stated" in found.words
    never = rare.estimate("yaw_max_deg", np.ones(10), np.ones(10), ())
    assert never.rate == 0.0 and not never.stated


def test_intervals_cover_the_true_rate() -> None:
    """2,000 simulated campaigns of each known rate: Clopper and Pearson at least 95 %, Wilson 93 to 97 % on average."""
    rng = np.random.default_rng(7)
    means = []
    for rate, count in ((0.5, 100), (0.9, 200), (0.95, 400), (0.99, 1000)):
        passed = rng.binomial(count, rate, 2000)
        ends = {each: (clopper_pearson(each, count), wilson(each, count)) for each in np.unique(passed).tolist()}
        exact, narrow = (
            np.mean([ends[each][kind][0] <= rate <= ends[each][kind][1] for each in passed.tolist()]) for kind in (0, 1)
        )
        assert exact >= 0.95 - 0.005, (rate, exact)  # 0.005: one standard deviation of 2,000 draws
        means.append((exact, narrow))
        assert 0.92 <= narrow <= 0.98, (rate, narrow)
    assert np.mean([exact for exact, _ in means]) >= 0.95
    assert 0.93 <= np.mean([narrow for _, narrow in means]) <= 0.97


SCENARIO: dict[str, Any] = {
    "name": "short-spiral",
    "duration_s": 1.2,
    "world": {"start": "moving"},
    "ground": {"trajectory": {"kind": "spiral"}},
    "checks": [{"metric": "pos_max_m", "below": 0.2}],
}


def test_indices_and_rare_rates_of_flights(tmp_path: Path) -> None:
    """An offset alone decides pos_max_m: its total index is nearly 1; and it is beyond 0.2 m with a known rate."""
    offset = {"key": "world.start_offset_W[0]", "normal": {"mean": 0.0, "std": 0.06}}
    inertia = {"key": "vehicle.scale.inertia", "uniform": [0.98, 1.02]}
    common = {"name": "own", "scenario": SCENARIO, "engine": "batch", "parameter": [offset, inertia]}
    first = Campaign({**common, "sensitivity": {"samples": 64, "resamples": 20}}, out=tmp_path / "sobol").run()
    assert isinstance(first, BatchJudged) and first.complete and first.total == 256
    total = {each.key: each.total for each in first.indices if each.metric == "pos_max_m"}
    assert total["world.start_offset_W[0]"] > 0.9 > 0.1 > total["vehicle.scale.inertia"]
    judged = Campaign({**common, "rare": {"check": "pos_max_m", "flights": 1000}}, out=tmp_path / "rare").run()
    assert isinstance(judged, BatchJudged) and judged.rare is not None
    # The largest distance is the offset itself or little more: 2 P(x > 0.2 / 0.06) is an upper end of the rate.
    near = 2.0 * float(ndtr(-0.2 / 0.06))
    assert judged.rare.stated and 0.5 * near < judged.rare.rate < 2.0 * near
    assert "pos_max_m fails with rate" in judged.remarks[0]


def test_a_boundary_of_flights_in_a_batch(tmp_path: Path) -> None:
    search = {"key": "world.start_offset_W[0]", "from": 0.0, "to": 0.4, "pass_rate": 0.5, "resolution": 0.01}
    campaign = {"name": "edge", "scenario": SCENARIO, "engine": "batch", "search": search}
    judged = Campaign(campaign, out=tmp_path).run()
    assert judged.boundary is not None and judged.boundary.found
    (crossing,) = judged.boundary.crossings
    assert crossing.passes_at[0] == pytest.approx(0.195, abs=0.02)
    again = Campaign(campaign, out=tmp_path).run(limit=1)
    assert again.boundary == judged.boundary


def test_a_boundary_on_a_plane_in_a_batch(tmp_path: Path) -> None:
    """The largest distance is that of the start, so the boundary is a circle; each round of points is one launch."""
    keys = [
        {"key": f"world.start_offset_W[{axis}]", "from": 0.0, "to": 0.4, "resolution": 0.05, "scan": 3}
        for axis in range(2)
    ]
    campaign = {"name": "edge", "scenario": SCENARIO, "engine": "batch", "search": {"keys": keys, "pass_rate": 0.5}}
    judged = Campaign(campaign, out=tmp_path).run()
    assert judged.boundary is not None and judged.boundary.found
    for crossing in judged.boundary.crossings:
        assert math.hypot(*crossing.passes_at) < 0.21 and math.hypot(*crossing.fails_at) > 0.19
    again = Campaign(campaign, out=tmp_path).run(limit=1)
    assert again.boundary == judged.boundary
