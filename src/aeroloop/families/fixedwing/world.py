"""A fixed wing put together: its model as the world's stage, and its servos, both in trimmed flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from aeroloop.actuators.servos import Servos
from aeroloop.core.frames import Vec3
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.families.fixedwing.trim import Trim, trim
from aeroloop.models import fixedwing
from aeroloop.world.flight_model import FlightModel, Height, Runner


@dataclass(frozen=True, slots=True)
class Start:
    """Where a flight begins: in the air, trimmed."""

    pos_W: Vec3
    yaw_rad: float = 0.0  # of the nose, counter-clockwise from east
    wind_W: Vec3 = (0.0, 0.0, 0.0)  # it drifts with it


def build_world(
    airframe: Airframe,
    start: Start,
    run: Callable[[ca.Function], Runner],
    *,
    at: Trim | None = None,
    ground: Height | None = None,
) -> tuple[FlightModel, Servos]:
    """`run` makes the step function callable, as codegen.evaluate.Evaluator does, compiled or not."""
    flying = trim(airframe) if at is None else at
    world = FlightModel(run(fixedwing.step(airframe)), ground)
    servos = Servos(airframe.servos, flying.controls)
    _, _, _, _, _, _, _, vx, vy, vz, *_ = flying.state(start.pos_W, start.yaw_rad).tolist()
    wind_x, wind_y, wind_z = start.wind_W
    # A trim in a turn is a circle: its acceleration points to the centre.
    accel_W = (-flying.turn_rate_rad_s * vy, flying.turn_rate_rad_s * vx, 0.0)
    world.reset(
        start.pos_W,
        flying.quat_WB(start.yaw_rad),
        vel_W=(vx + wind_x, vy + wind_y, vz + wind_z),
        rate_B=flying.rate_B,
        accel_W=accel_W,
    )
    return world, servos
