"""The boundary search finds a known one, in flights the delay margin that the model predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.campaign import contour
from aeroloop.campaign.search import Fly, Point, searched
from aeroloop.campaign.search_file import Search
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.families.tiltrotor.design import design

SEARCH = {"key": "link.to_plant.delay_s", "from": 0.008, "to": 0.010, "pass_rate": 0.5, "resolution": 0.0005}
SCENARIO: dict[str, Any] = {
    "name": "delayed",
    "summary": "The spiral with a delay",
    "duration_s": 5.0,
    "world": {"start": "moving"},
    "ground": {"trajectory": {"kind": "spiral"}},
}


def coins(rate: Callable[[Point], float]) -> Fly:
    """Flights that pass by chance, the same ones whenever they are asked for."""
    draws: dict[Point, Any] = {}

    def fly(asked: Mapping[Point, int]) -> dict[Point, list[bool]]:
        for point in asked:
            draws.setdefault(point, np.random.default_rng([1, *np.array(point).view(np.uint64)]).random(500))
        return {point: [bool(n < rate(point)) for n in draws[point][:count]] for point, count in asked.items()}

    return fly


def certain(passes: Callable[[Point], bool]) -> Fly:
    return lambda asked: {point: [passes(point)] * count for point, count in asked.items()}


def plane(resolution: float, scan: int, **more: Any) -> Search:
    keys = [{"key": key, "from": -1.0, "to": 1.0, "resolution": resolution, "scan": scan} for key in "xy"]
    return convert({"keys": keys, "pass_rate": 0.5, **more}, Search, "here")


@pytest.mark.parametrize("ends", [(0.0, 8.0), (8.0, 0.0)])
def test_bisection_of_a_random_outcome_is_near_the_boundary(ends: tuple[float, float]) -> None:
    """A rate of 1 / (1 + exp(4 (x - 3))), 0.5 at x = 3."""
    search = Search(key="x", from_=ends[0], to=ends[1], pass_rate=0.5, resolution=0.25)
    found = searched(search, coins(lambda point: 1.0 / (1.0 + np.exp(4.0 * (point[0] - 3.0)))))
    (crossing,) = found.crossings
    assert crossing.passes_at < crossing.fails_at  # whichever end the search began at
    assert crossing.width[0] <= 0.25
    assert abs(crossing.passes_at[0] - 3.0) < 0.75


def test_ends_on_one_side_are_named() -> None:
    found = searched(Search(key="x", from_=0.0, to=1.0, pass_rate=0.5), certain(lambda point: True))
    assert not found.found
    assert found.words == (
        "x: no boundary found: the rate is above it at both 0 and 1; expected ends on both sides, or `scan`"
    )


def test_a_scan_finds_every_change_between_its_values() -> None:
    """Passes in 0.1 to 0.33 and from 0.71 on; both ends pass with `from` 0.2."""
    fly = certain(lambda point: 0.1 <= point[0] < 0.33 or point[0] >= 0.71)
    search = Search(key="x", from_=0.2, to=1.0, resolution=0.01, scan=9, pass_rate=0.5)
    found = searched(search, fly)
    assert [(crossing.passes_at < crossing.fails_at) for crossing in found.crossings] == [True, False]
    for crossing, edge in zip(found.crossings, (0.33, 0.71), strict=True):
        assert min(crossing.passes_at, crossing.fails_at)[0] <= edge <= max(crossing.passes_at, crossing.fails_at)[0]
        assert crossing.width[0] <= 0.01
    assert found.words.startswith("x: the pass rate crosses 0.5 2 times: between 0.325 (above) and 0.33125 (below), ")
    assert not searched(Search(key="x", from_=0.2, to=1.0, pass_rate=0.5), fly).found  # its ends both pass


def test_a_scan_without_a_change_says_so() -> None:
    found = searched(Search(key="x", from_=0.0, to=1.0, scan=5), certain(lambda point: False))
    assert not found.found
    assert found.words.endswith("the rate is below it at all 5 values from 0 to 1; expected values on both sides")


@pytest.mark.parametrize("radius", [0.45, 0.7, 1.2])
def test_the_boundary_of_a_disc_is_a_circle(radius: float) -> None:
    """Every crossing has the circle between its points, and the line has its length. 1.2: four arcs in the corners."""
    found = searched(plane(0.05, 9), certain(lambda point: np.hypot(*point) < radius))
    for crossing in found.crossings:
        assert np.hypot(*crossing.passes_at) < radius <= np.hypot(*crossing.fails_at)
        assert max(crossing.width) <= 0.05
    assert len(found.lines) == (1 if radius < 1.0 else 4)
    for line in found.lines:
        assert (line[0] == line[-1]) is (radius < 1.0)
        steps = np.linalg.norm(np.diff([each.middle for each in line], axis=0), axis=1)
        assert max(steps) <= 0.05 * np.sqrt(2.0)  # neighbours along the line
    assert len(found.tested) < 0.6 * 65**2  # it refines around the line alone


def test_a_boundary_that_leaves_a_refined_cell_is_followed() -> None:
    """A tongue 0.1 wide enters a cell of the first grid between its corners; finer neighbours show it."""
    found = searched(plane(0.03, 5), certain(lambda point: abs(point[1] - 0.3) < 0.05 or point[0] < -0.3))
    tip = max(crossing.middle[0] for crossing in found.crossings)
    assert len(found.lines) in (1, 2) and tip > 0.95


def test_lines_of_a_random_grid_separate_passing_from_failing_nodes() -> None:
    """Also where passing corners of a cell are opposite: each edge between different nodes is on one line, once."""
    rng = np.random.default_rng(5)
    known = {(i, j): bool(rng.random() < 0.5) for i in range(12) for j in range(12)}
    found = contour.lines(known)
    edges = [edge for line in found for edge in (line[:-1] if line[0] == line[-1] else line)]
    across = [(i, j, i + a, j + b) for i, j in known for a, b in ((1, 0), (0, 1)) if (i + a, j + b) in known]
    assert len(edges) == len(set(edges)) == sum(known[i, j] != known[k, m] for i, j, k, m in across)
    assert all(known[passes] and not known[fails] for passes, fails in edges)


def test_no_boundary_on_a_plane_says_so() -> None:
    found = searched(plane(0.1, 3), certain(lambda point: True))
    assert not found.found and len(found.tested) == 9
    assert found.words == (
        "x and y: no boundary found: the rate is above it at all 9 points of the first grid; "
        "expected points on both sides"
    )


def test_a_random_outcome_on_a_plane_is_near_the_boundary() -> None:
    rate = coins(lambda point: 1.0 / (1.0 + np.exp(20.0 * (point[0] + point[1]))))
    found = searched(plane(0.1, 5), rate)
    assert all(abs(sum(crossing.middle)) < 0.35 for crossing in found.crossings)
    ends = sorted(each.middle for each in (found.lines[0][0], found.lines[0][-1]))
    assert ends[0][0] < -0.6 and ends[1][0] > 0.6  # it runs from one side to the other


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"key": "x", "from": 0.0}, "to: missing; expected key, from and to, or `keys` with two of them"),
        ({"keys": [{"key": "x", "from": 0.0, "to": 1.0}]}, "keys: expected two keys, not 1"),
        ({"key": "x", "from": 1.0, "to": 1.0}, "from and to: expected two different finite values"),
        ({"key": "x", "from": 1.0, "to": float("nan")}, "from and to: expected two different finite values"),
        ({"key": "x", "from": 0.0, "to": 1.0, "resolution": 1e-9}, "resolution: expected at least 1e-06 for x"),
        ({"key": "x", "from": 0.0, "to": 1.0, "width": 1}, "width"),
        ({"keys": [{"key": "x", "from": 0.0, "to": 1.0}] * 2, "from": 0.0}, "from: expected it in each of `keys`"),
    ],
)
def test_a_wrong_table_is_refused_by_its_key(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert(table, Search, "here")


def test_delay_margin_from_flights_is_the_models(tmp_path: Path) -> None:
    table = {"name": "margin", "scenario": SCENARIO, "search": SEARCH}
    judged = aeroloop.Campaign(table, out=tmp_path).run(workers=2)
    found, margin_s = judged.boundary, design("cad", "published", 0.012).delay_margin_s()
    assert found is not None
    (crossing,) = found.crossings
    assert crossing.passes_at[0] == pytest.approx(margin_s, abs=0.0005)
    assert crossing.fails_at[0] == pytest.approx(margin_s, abs=0.00055)
    assert judged.exit_code == 0
    flown = len(judged.flown)
    again = aeroloop.Campaign(table, out=tmp_path).run(workers=1)
    assert (again.boundary, len(again.flown)) == (found, flown)
