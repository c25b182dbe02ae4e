"""The boundary search on the bench, with flights that are made up: numbers of flights, and how it goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign_tables import outcome

from aeroloop.campaign.bench_search import boundary_of_flights
from aeroloop.campaign.campaigns import Campaign
from aeroloop.campaign.definition import read
from aeroloop.campaign.driver import Driver, Ended, Progress
from aeroloop.campaign.search import Boundary
from aeroloop.campaign.store import FLOWN, Store
from aeroloop.campaign.worker import Report, Task
from aeroloop.core.errors import ConfigError

EAST, W20 = "world.wind.steady_W[0]", "world.wind.turbulence.w20_m_s"
TABLE: dict[str, Any] = {
    "name": "wind",
    "scenario": "quad-wind",
    "search": {
        "pass_rate": 0.5,
        "keys": [
            {"key": EAST, "from": 0.0, "to": 12.0, "scan": 3, "resolution": 3.0},
            {"key": W20, "from": 0.0, "to": 16.0, "scan": 3, "resolution": 4.0},
        ],
    },
}


class KilledError(Exception):
    pass


@dataclass
class MadeUp:
    """Workers whose flights pass in less wind than 13 m/s of both together."""

    store: Store
    left: int = 10_000  # flights until the driver is killed
    count: int = 1
    flown: int = 0

    def reports(self, waiting: deque[Task], limit_s: float) -> Iterator[Ended]:
        values = {row.key: row.values for row in self.store.rows()}
        while waiting:
            task = waiting.popleft()
            if self.flown >= self.left:
                raise KilledError
            self.flown += 1
            own = values[task.key]
            yield task, Report(task.key, outcome(1.0 if np.hypot(float(own[EAST]), float(own[W20])) < 13.0 else 2.0))


def search(folder: Path, left: int = 10_000, limit: int | None = None) -> tuple[Boundary, int]:
    """The boundary, and the flights of this run."""
    campaign = Campaign(TABLE, out=folder)
    with campaign._writing() as store:
        store.begin(campaign.about())
        workers = MadeUp(store, left)
        driver = Driver(store, 1.0, 0, Progress(0, 1))
        found = boundary_of_flights(campaign, driver, workers, limit)
        store.keep({"boundary": None})
        return found, workers.flown


def test_a_search_on_a_plane_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    whole, flights = search(tmp_path / "whole")
    assert whole.found and flights == sum(each.flights for each in whole.tested)
    for crossing in whole.crossings:
        assert np.hypot(*crossing.passes_at) < 13.0 <= np.hypot(*crossing.fails_at)
    with pytest.raises(KilledError):
        search(tmp_path / "parts", left=20)
    assert search(tmp_path / "parts") == (whole, flights - 20)
    assert search(tmp_path / "parts", limit=0) == (whole, 0)
    rows = Store(tmp_path / "parts").rows(FLOWN)
    assert [row.number for row in rows] == list(range(1, flights + 1))  # each can be flown again by its number


def test_a_limit_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--limit 5: the search needs more flights"):
        search(tmp_path, limit=5)


def test_the_report_draws_the_line(tmp_path: Path) -> None:
    from aeroloop.campaign.campaign_page import render
    from aeroloop.campaign.judgement import Judged

    found, _ = search(tmp_path)
    campaign = Campaign(TABLE, out=tmp_path)
    store = Store(tmp_path)
    judged = Judged(campaign.definition, store.rows(), store.metrics(), total=1, boundary=found)
    page = render(judged, tmp_path)
    assert f"{EAST} and {W20}: the pass rate crosses 0.5 along one line, within 3 and 4" in page
    assert "the line on which the pass rate is 0.5" in page and f"{W20}, below" in page


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([EAST, "world.wind.stedy"], r"search\.keys\[1\]\.key: .*stedy"),
        ([EAST, EAST], "steady_W\\[0\\]: two parameters have this key; expected one"),
    ],
)
def test_wrong_keys_are_named(keys: list[str], words: str) -> None:
    table = {**TABLE, "search": {"keys": [{"key": key, "from": 0.0, "to": 1.0} for key in keys]}}
    with pytest.raises(ConfigError, match=words):
        read(table)
