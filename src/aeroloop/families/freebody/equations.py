"""One step of a free body, and what is logged of its state, as CasADi functions."""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np

from aeroloop.core.frames import Quat, Vec, quat_from_euler
from aeroloop.core.geodesy import TangentPlane, bowring
from aeroloop.families.freebody.scenario import FreeBody, FreeBodyTables, World
from aeroloop.models import free_body
from aeroloop.models.rigid_body import POS, QUAT, RATE, STATES, VEL, rotation
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.expressions import DaySymbols, air

DEG = math.degrees(1.0)
FRD = ca.DM([1.0, -1.0, -1.0])
"""Forward, left, up -> forward, right, down."""


class Centre(NamedTuple):
    """A tangent plane through the centre of the earth, whose up, east and north are the axes x, y and z of E."""

    sin_lat: float = 0.0
    cos_lat: float = 1.0
    axis_distance_m: float = 0.0
    z_m: float = 0.0


def geodetic(world: World, pos_E: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Latitude, longitude (rad) and height (m)."""
    x, y, z = ca.vertsplit(pos_E)
    if world.earth == "sphere":
        r_m = ca.norm_2(pos_E)
        return ca.asin(z / r_m), ca.atan2(y, x), r_m - world.radius_m
    lat, lon, height_m, _ = bowring(Centre(), y, z, x, ca)
    return lat, lon, height_m


def local_axes(lat: ca.SX | float, lon: ca.SX | float) -> ca.SX:
    """R_EL: east, north and up at a place as columns."""
    sin_lat, cos_lat, sin_lon, cos_lon = ca.sin(lat), ca.cos(lat), ca.sin(lon), ca.cos(lon)
    east = ca.vertcat(-sin_lon, cos_lon, 0)
    north = ca.vertcat(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat)
    up = ca.vertcat(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat)
    return ca.horzcat(east, north, up)


def density_kg_m3(height_m: ca.SX) -> ca.SX:
    day = DaySymbols(*(ca.SX(number) for number in Atmosphere(Day()).day))
    return air(day, height_m)[2]


def wind_L(world: World, height_m: ca.SX) -> ca.SX:
    """East, north and up, m/s."""
    return ca.DM(world.wind_W) + height_m * ca.DM(world.wind_gradient_per_s)


def forces_B(body: FreeBody, world: World, state: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Drag (N), and the moments that damp the rates (N m). A rate relative to inertial space damps, as it does in most
    of the published simulations; the air turns with the earth, 0.004 deg/s slower at most."""
    lat, lon, height_m = geodetic(world, state[POS])
    vel_air_E = state[VEL] - local_axes(lat, lon) @ wind_L(world, height_m)
    speed_m_s = ca.sqrt(ca.sumsqr(vel_air_E))
    pressure = 0.5 * density_kg_m3(height_m) * speed_m_s * body.area_m2  # over one more speed
    drag_E = -pressure * body.drag_coefficient * vel_air_E
    lengths_m = ca.DM([body.span_m, body.chord_m, body.span_m])
    moment_B = 0.5 * pressure * lengths_m**2 * ca.DM(body.rate_damping) * state[RATE]
    return rotation(state[QUAT]).T @ drag_E, moment_B


def step(tables: FreeBodyTables) -> ca.Function:
    """(state, dt) -> state, by Runge-Kutta 4; the quaternion is of unit length again."""
    state, dt_s = ca.SX.sym("state", STATES), ca.SX.sym("dt_s")
    body, world = tables.vehicle, tables.world

    def dot(x: ca.SX) -> ca.SX:
        force_B, moment_B = forces_B(body, world, x)
        return free_body.state_dot(
            x, force_B, moment_B, body, field=world.gravitation, earth_rate_rad_s=world.earth_rate_rad_s
        )

    k1 = dot(state)
    k2 = dot(state + dt_s / 2 * k1)
    k3 = dot(state + dt_s / 2 * k2)
    k4 = dot(state + dt_s * k3)
    after = state + dt_s / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    after[QUAT] = after[QUAT] / ca.norm_2(after[QUAT])
    return ca.Function("free_body_step", [state, dt_s], [after])


def observed(tables: FreeBodyTables) -> ca.Function:
    """state -> columns of the stream `geodetic` (12), and wind (3) and density of the stream `air`."""
    state = ca.SX.sym("state", STATES)
    lat, lon, height_m = geodetic(tables.world, state[POS])
    R_EL = local_axes(lat, lon)
    east, north, up = ca.vertsplit(R_EL.T @ state[VEL])
    to_ned = ca.DM([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    R_NB = to_ned @ R_EL.T @ rotation(state[QUAT]) @ ca.diag(FRD)  # body axes forward, right, down
    angles = ca.vertcat(
        ca.atan2(R_NB[2, 1], R_NB[2, 2]),
        -ca.asin(ca.fmin(ca.fmax(R_NB[2, 0], -1), 1)),
        ca.atan2(R_NB[1, 0], R_NB[0, 0]),
    )
    row = ca.vertcat(DEG * lat, DEG * lon, height_m, north, east, -up, DEG * FRD * state[RATE], DEG * angles)
    around = ca.vertcat(wind_L(tables.world, height_m), density_kg_m3(height_m))
    return ca.Function("free_body_observed", [state], [row, around])


class Origin(NamedTuple):
    """Where the flight starts, in E, and the axes of the tangent plane W there."""

    pos_E: Vec
    R_EW: Vec
    quat_WE: Quat


def origin(tables: FreeBodyTables) -> Origin:
    world, given = tables.world, tables.start
    lat, lon = math.radians(given.lat_deg), math.radians(given.lon_deg)
    R_EW = np.array(ca.DM(ca.evalf(local_axes(lat, lon))))
    if world.earth == "sphere":
        pos_E = (world.radius_m + given.height_m) * R_EW[:, 2]
    else:
        plane = TangentPlane(given.lat_deg, given.lon_deg, given.height_m)
        pos_E = np.array([plane.axis_distance_m * math.cos(lon), plane.axis_distance_m * math.sin(lon), plane.z_m])
    w, x, y, z = quat_from_euler(math.pi / 2 - lat, 0.0, math.pi / 2 + lon)  # east, north, up -> E
    return Origin(pos_E, R_EW, (w, -x, -y, -z))
