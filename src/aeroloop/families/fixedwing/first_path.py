"""Plans once before a flight, as the board does on its first circle: a board that finds no path there never leaves it.

The first plan depends on the circle and the goal alone, so each further try of the board finds the same cells. Only the
exits differ: it tries one every 15 m around the circle, from where the aircraft is. Here exits 5 m apart are tried.
"""

from __future__ import annotations

from functools import lru_cache

from aeroloop.core.errors import ConfigError
from aeroloop.core.wing_signals import PlanStatus
from aeroloop.families.fixedwing.planning_map import ceiling_m, raised_map
from aeroloop.families.fixedwing.scenario import FixedWingScenario, Metres2
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.planning.loiter import Circle, JoinSettings
from aeroloop.planning.mission_messages import PathRequest
from aeroloop.planning.mission_paths import PathGenerator, PathTerrain
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.world.elevation_map import ElevationConfig

EXITS_M = 5.0


def check_first_path(scenario: FixedWingScenario) -> None:
    """Not for a catapult: where its first circle lies depends on the launch. Nor where the goal is never sent."""
    tables = scenario.aircraft
    if tables.launch.by not in ("", "air") or scenario.duration_s <= tables.mission.command_at_s:
        return
    mission, ends = tables.mission, places(scenario)
    east_m, north_m, _ = tables.world.start_offset_W
    centre_m = ends.start_m[0] + east_m, ends.start_m[1] + north_m
    status = _status(
        tables.world.terrain, tables.planner, ceiling_m(tables), mission.loiter_radius_m, centre_m, ends.goal_m
    )
    if status == PlanStatus.FOUND:
        return
    drawn = mission.start_m is None or mission.goal_m is None
    change = f"another mission.goal_m{', seed' if drawn else ''} or mission.loiter_radius_m"
    why = (
        f"the planner finds cells, but none of the exits tried, every {EXITS_M:g} m around the circle, leads onto the "
        f"path through them; expected a mission.start_m with more free ground around it, or {change}"
        if status == PlanStatus.NO_PATH
        else "the planner finds no cells with this planner.resolution and planner.turn_rule; expected larger "
        f"planner.resolution.radii_units, another mission.start_m, or {change}"
    )
    raise ConfigError(
        f"mission: no path leads from the circle of {mission.loiter_radius_m:g} m around {centre_m[0]:g}, "
        f"{centre_m[1]:g} to {ends.goal_m[0]:g}, {ends.goal_m[1]:g}: {why}"
    )


@lru_cache(maxsize=8)
def _status(
    terrain: ElevationConfig,
    settings: PlannerSettings,
    highest_m: float,
    radius_m: float,
    centre_m: Metres2,
    goal_m: Metres2,
) -> PlanStatus:
    """By what it depends on, as for `start_and_goal.places`: flights of a campaign often have the same start and
    goal."""
    planner = Planner(raised_map(terrain, settings, highest_m), settings)
    plan = planner.plan(centre_m, goal_m)
    free = PathTerrain(planner.elevation, settings.resolution.finest, lambda cell: not planner.blocked(cell))
    generator = PathGenerator(free, radius_m)
    circle, every_m, exit_m = Circle(*centre_m, radius_m), JoinSettings().leave_every_m, 0.0
    status = plan.status
    while exit_m < every_m:
        status = generator.generate(PathRequest(0, 0.0, centre_m, goal_m, circle, exit_m), plan).status
        if status != PlanStatus.NO_PATH:
            break
        exit_m += EXITS_M
    return status
