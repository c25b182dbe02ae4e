"""The boundary search on the bench: what a test asks for is flown, each flight once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aeroloop.campaign.design import PlannedFlight, draws, noise_seed
from aeroloop.campaign.driver import Driver, Workers
from aeroloop.campaign.search import Boundary, Point, searched
from aeroloop.campaign.store import PLANNED
from aeroloop.core.errors import ConfigError

if TYPE_CHECKING:
    from aeroloop.campaign.campaigns import Campaign


def boundary_of_flights(campaign: Campaign, driver: Driver, workers: Workers, limit: int | None) -> Boundary:
    """Flight n has the same drawn values and the same noise at each point."""
    definition, search, store = campaign.definition, campaign.definition.search, driver.store
    assert search is not None
    drawn = draws(definition, search.most_per_point)
    keys: dict[tuple[Point, int], str] = {}
    flown = 0

    def fly(asked: Mapping[Point, int]) -> dict[Point, list[bool]]:
        nonlocal flown
        new = [(point, n) for point, count in asked.items() for n in range(count) if (point, n) not in keys]
        planned = [
            PlannedFlight(
                len(keys) + index,
                {**{key: own[n] for key, own in drawn.items()}, **dict(zip(search.names, point, strict=True))},
                n if campaign.file.philox else noise_seed(definition.seed, n),
            )
            for index, (point, n) in enumerate(new, 1)
        ]
        tasks = campaign.tasks(store, planned)
        keys.update({each: task.key for each, task in zip(new, tasks, strict=True)})
        states = {row.key: row.state for row in store.rows()}
        driver.progress.total = len(states)
        driver.progress.done = sum(state != PLANNED for state in states.values())
        waiting = list({task.key: task for task in tasks if states[task.key] == PLANNED}.values())
        flown += len(waiting)
        if limit is not None and flown > limit:
            raise ConfigError(f"--limit {limit}: the search needs more flights; run it again without a limit")
        driver.fly(waiting, workers)
        passed = {row.key: row.passed for row in store.rows()}
        return {point: [passed[keys[point, n]] for n in range(count)] for point, count in asked.items()}

    return searched(search, fly)
