"""Saves a route: its points, its motion, a scenario that flies it, or a mission for ground stations; by the ending of
the file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from aeroloop.core import scenario_files
from aeroloop.core.config import apply_overrides
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import made
from aeroloop.flight.results import without_none
from aeroloop.ground import waypoint_lists
from aeroloop.ground.missions import plan_text
from aeroloop.ground.route_files import motion_text, points_text
from aeroloop.ground.route_offer import DrawnRoute, RouteOffer, of_scenario

POINTS, MOTION, SCENARIO, PLAN = ".csv", ".motion.csv", ".toml", ".plan"
WORDS = {
    POINTS: "the points, which can be opened again",
    MOTION: "the motion as a table of time, for other programs",
    SCENARIO: "a scenario that flies it, and the points beside it",
    PLAN: "a mission of QGroundControl",
    waypoint_lists.ENDING: "a mission of Mission Planner and MAVProxy",
}
DEFAULT_BASE = "tiltrotor-spiral"
"""Scenario whose aircraft a route is for, if nobody says another."""
DROPPED = ("pace", "open_ended")
"""Keys of the base that a saved scenario does not take over: it is flown as fast as possible, to its end."""


@dataclass(frozen=True)
class Base:
    """The scenario whose aircraft flies the route, with the content of its file."""

    scenario: Scenario
    table: Mapping[str, Any]

    @classmethod
    def of_file(cls, path: Path, overrides: tuple[str, ...] = ()) -> Base:
        scenario = scenario_files.load(path, overrides)
        table = scenario_files.table_of(path, None)
        apply_overrides(table, overrides)
        return cls(scenario, table)

    @classmethod
    def of_flight(cls, scenario: Scenario) -> Base:
        """Of a running flight: every key, with its value."""
        return cls(scenario, without_none(scenario.flat()))

    @property
    def offer(self) -> RouteOffer[Any]:
        """ConfigError if its aircraft takes no routes."""
        return of_scenario(self.scenario)


def endings(base: Base) -> dict[str, str]:
    """The formats that its aircraft takes: ending and words."""
    offer = base.offer
    missions = (PLAN, waypoint_lists.ENDING)
    lacking = {*(missions if offer.mission is None else ()), *(() if offer.profiled else (MOTION,))}
    return {ending: words for ending, words in WORDS.items() if ending not in lacking}


def ending_of(name: str) -> str:
    """The longest ending that fits; empty: none."""
    return max((ending for ending in WORDS if name.endswith(ending)), key=len, default="")


def save(base: Base, route: DrawnRoute, out: Path, *, replace: bool = False) -> list[Path]:
    """Writes one file, or a scenario and its points; ConfigError before anything is written."""
    ending, known = ending_of(out.name), endings(base)
    if ending not in known:
        raise ConfigError(f"{out}: expected a file that ends in {', '.join(known)} ({base.scenario.family.name})")
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: the folder {out.parent} does not exist")
    route = base.offer.checked(base.scenario, route, str(out))
    texts = {SCENARIO: _scenario_texts}.get(ending, _one_text)(base, route, out)
    existing = [name for name in texts if (out.parent / name).exists()]
    if existing and not replace:
        raise ConfigError(f"{out.parent / existing[0]}: exists; expected another name")
    for name, text in texts.items():
        try:
            (out.parent / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{out.parent / name}: cannot be written: {error.strerror}") from None
    return [out.parent / name for name in texts]


def _one_text(base: Base, route: DrawnRoute, out: Path) -> dict[str, str]:
    def listed() -> tuple[Any, Any]:
        assert base.offer.mission is not None
        return base.offer.mission(base.scenario, route)

    made_by: dict[str, Callable[[], str]] = {
        POINTS: lambda: points_text(route.points),
        MOTION: lambda: motion_text(route.timed),
        PLAN: lambda: plan_text(*listed()),
        waypoint_lists.ENDING: lambda: waypoint_lists.text(*listed()),
    }
    return {out.name: made_by[ending_of(out.name)]()}


def _scenario_texts(base: Base, route: DrawnRoute, out: Path) -> dict[str, str]:
    """The scenario and its points, tried in a folder of their own first."""
    points = f"{out.stem}.csv"
    table = changed(base, route, out.stem, points)
    texts = {out.name: tomli_w.dumps(table), points: points_text(route.points)}
    if not any(value == points for _, value in _leaves(table)):
        del texts[points]  # it has them itself
    folder = Path(tempfile.mkdtemp(prefix="route-"))
    try:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        scenario = scenario_files.load(folder / out.name)
        if scenario.family.check:
            made(scenario.family.check, scenario)
    except ConfigError as error:
        raise ConfigError(str(error).replace(str(folder), str(out.parent))) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return texts


def changed(base: Base, route: DrawnRoute, name: str, points: str) -> dict[str, Any]:
    """The base's table with a route in place of its own path."""
    table: dict[str, Any] = without_none(dict(base.table))
    _put(table, "name", name)
    _put(table, "summary", _summary(base, route))
    for key, file in base.scenario.files().items():
        _put(table, key, file)
    if "/" in base.scenario.kind:
        _put(table, "vehicle.kind", base.scenario.kind)
    for key in DROPPED:
        _put(table, key, None)
    for key, value in base.offer.changes(base.scenario, route, points).items():
        _put(table, key, value)
    return table


def _summary(base: Base, route: DrawnRoute) -> str:
    count = len(route.points)
    if not base.offer.profiled or count < 2:
        return f"{base.scenario.family.name}: {count} point{'s' if count > 1 else ''} of the trajectory creator"
    timed = route.timed
    return (
        f"{base.scenario.family.name}: a trajectory through {count} points, {timed.length_m:.0f} m in "
        f"{timed.duration_s:.0f} s"
    )


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    """Under a dotted key; None removes it."""
    *owners, last = key.split(".")
    for name in owners:
        if value is None and name not in table:
            return
        table = table.setdefault(name, {})
    if value is None:
        table.pop(last, None)
    else:
        table[last] = value


def _leaves(value: Any, key: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for name, each in value.items() for leaf in _leaves(each, f"{key}.{name}")]
    return [(key, value)]
