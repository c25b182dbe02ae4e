"""Saved trajectories are flown: tilt-rotor by its base station, multirotor by our law and as a mission,
helicopter, fixed wing to its goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from aeroloop.cli.app import app
from aeroloop.core.scenario_files import find, load
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.route_saving import Base, save
from aeroloop.ground.route_offer import DrawnRoute
from aeroloop.planning.route import RoutePoint
from aeroloop.recording.log import Log

AXES = ("x_m", "y_m", "z_m")
Place = tuple[float, float, float]


def flown(folder: Path, scenario: str, places: list[Place], *overrides: str, **how: Any) -> tuple[Log, DrawnRoute]:
    base = Base.of_file(find(scenario), overrides)
    until_s, speed_m_s = how.pop("until_s", 0.0), how.pop("speed_m_s", 0.0)
    points = tuple(RoutePoint(place, speed_m_s) for place in places)
    route = DrawnRoute(points, **{"limits": base.offer.limits(base.scenario), **how})
    save(base, route, folder / "drawn.toml")
    flight = fly_inline(load(folder / "drawn.toml", (f"duration_s={until_s}",) if until_s else ()))
    assert flight.ended == "completed"
    return flight.logs[0], route


def places_W(log: Log, stream: str, t_s: Any) -> Any:
    own_s = log.column(stream, "t_s")
    return np.stack([np.interp(t_s, own_s, log.column(stream, axis)) for axis in AXES], axis=1)


def error_m(log: Log, from_s: float = 0.0, to_s: float = np.inf) -> Any:
    """Distance of the aircraft from its setpoint."""
    t_s = log.column("truth", "t_s")
    t_s = t_s[(t_s >= from_s) & (t_s <= to_s)]
    return np.linalg.norm(places_W(log, "truth", t_s) - places_W(log, "setpoint", t_s), axis=1)


def nearest_m(log: Log, place: Place) -> float:
    return float(np.linalg.norm(places_W(log, "truth", log.column("truth", "t_s")) - place, axis=1).min())


LOITER_RADIUS_M = 150.0
BENDS: list[Place] = [(0.0, 0.0, 2.0), (6.0, 0.0, 3.0), (6.0, 6.0, 4.0), (0.0, 6.0, 2.0), (0.0, 0.0, 2.0)]


def test_the_tilt_rotor_flies_a_route_within_its_limits(tmp_path: Path) -> None:
    log, route = flown(tmp_path, "tiltrotor-spiral", BENDS)
    assert error_m(log).max() < 0.5
    assert np.degrees(abs(log.column("truth", "roll_rad")).max()) < 15.0
    t_s = log.column("setpoint", "t_s")
    expected = [route.timed.at(t - 1.0).pos_W for t in t_s[::50]]
    assert places_W(log, "setpoint", t_s[::50]) == pytest.approx(np.array(expected), abs=1e-5)  # float32 on the link
    assert places_W(log, "truth", t_s[-1:])[0] == pytest.approx(BENDS[-1], abs=0.1)


def test_beyond_its_limits_it_leaves_the_route(tmp_path: Path) -> None:
    """The same route at twice the acceleration and speed: the limits of the row are not idle."""
    limits = Base.of_file(find("tiltrotor-spiral")).offer.limits(None)
    fast = limits.__class__(speed_m_s=4.0, accel_m_s2=2 * limits.accel_m_s2, vertical_accel_m_s2=2.0)
    log, route = flown(tmp_path, "tiltrotor-spiral", BENDS, until_s=10.0, limits=fast)
    assert error_m(log).max() > 0.8
    base = Base.of_file(find("tiltrotor-spiral"))
    assert {"speed", "acceleration"} <= {each.name for each in base.offer.violations(base.scenario, route)}


def test_the_tilt_rotor_turns_with_its_route(tmp_path: Path) -> None:
    log, _ = flown(tmp_path, "tiltrotor-spiral", BENDS[:3], heading="along")
    assert error_m(log).max() < 0.5
    assert np.degrees(log.column("truth", "yaw_rad")[-1]) > 60.0


def test_a_multirotor_with_our_law_flies_a_route_and_lands(tmp_path: Path) -> None:
    places: list[Place] = [(0.0, 0.0, 1.5), (8.0, 0.0, 2.0), (8.0, 5.0, 1.5)]
    faster = ("ground.takeoff_s=1.5", "ground.climb_m_s=2.0", "ground.descent_m_s=2.0")
    log, route = flown(tmp_path, "quad-law-hover", places, *faster, heading="along")
    begins_s = 1.5 + 1.875 * 1.5 / 2.0 + 3.0
    assert error_m(log, begins_s, begins_s + route.timed.duration_s).max() < 0.8
    assert all(nearest_m(log, place) < 0.8 for place in places)
    assert log.column("truth", "z_m")[-1] < 0.3


def test_a_helicopter_flies_a_route(tmp_path: Path) -> None:
    places: list[Place] = [(0.0, 0.0, 10.0), (6.0, 0.0, 11.0), (6.0, 4.0, 10.0)]
    log, _ = flown(tmp_path, "heli-hover", places, until_s=11.0)
    assert error_m(log, 1.0).max() < 0.8
    assert all(nearest_m(log, place) < 0.8 for place in places)


def test_a_multirotor_flies_a_route_as_a_mission(tmp_path: Path) -> None:
    places: list[Place] = [(0.0, 0.0, 4.0), (15.0, 0.0, 5.0), (15.0, 10.0, 4.0)]
    log, _ = flown(tmp_path, "quad-mission", places, until_s=26.0, ending="hold", speed_m_s=5.0)
    assert all(nearest_m(log, place) < 1.2 for place in places)
    assert places_W(log, "truth", np.array([26.0]))[0] == pytest.approx(places[-1], abs=1.5)


def test_a_wing_flies_to_the_goal_that_the_command_saved(tmp_path: Path) -> None:
    """900 m over the mountains to the west: its board plans one path, and it loiters around the goal."""
    start, goal = (1725.0, 3825.0), (825.0, 3825.0)
    points, saved = tmp_path / "points.csv", tmp_path / "goal.toml"
    points.write_text("x_m,y_m,z_m\n" + "".join(f"{x},{y},680\n" for x, y in (start, goal)))
    told = CliRunner().invoke(app, ["trajectory", str(points), "--for", "fixedwing-hierarchical", "--out", str(saved)])
    assert told.exit_code == 0, told.output
    flight = fly_inline(load(saved, ("mission.command_at_s=1.0", "duration_s=80.0")))
    (log,) = flight.logs
    assert flight.ended == "completed"
    away_m = np.hypot(*(log.column("truth", axis) - place for axis, place in zip(AXES[:2], goal, strict=True)))
    assert away_m[0] > 900.0 and away_m[-1] == pytest.approx(LOITER_RADIUS_M, abs=15.0)
    assert abs(log.column("truth", "z_m") - 680.0).max() < 10.0
    assert len(log.rows["plan"]) == 1
