"""Start of a tilt-rotor flight: in the air, on its reference unless the scenario gives a position; and what it cannot
be flown with."""

from __future__ import annotations

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground.trajectories import build as build_path
from aeroloop.world.terrain import terrain


def start_W(scenario: TiltrotorScenario) -> tuple[Vec3, Vec3]:
    """Position and velocity."""
    table = scenario.aircraft.world
    on_path = build_path(scenario.controller.ground.trajectory)(0.0)
    (x, y, z), (dx, dy, dz) = table.start_pos_W or on_path.pos_W, table.start_offset_W
    return (x + dx, y + dy, z + dz), on_path.vel_W if table.start == "moving" else (0.0, 0.0, 0.0)


def check(scenario: TiltrotorScenario) -> None:
    """ConfigError if it would start below the ground; reads the file of heights."""
    (x, y, z), _ = start_W(scenario)
    ground_m = terrain(scenario.aircraft.world.terrain).height_m(x, y)
    if z < ground_m:
        raise ConfigError(
            f"world.start_pos_W: the start is below the ground; expected a height of {ground_m:.2f} m or more at "
            f"{x:g} m east and {y:g} m north, not {z:g} m"
        )
