"""One step of a free body, and what is logged of its state, as CasADi functions."""

from __future__ import annotations

import math

import casadi as ca

from aeroloop.families.freebody import loads
from aeroloop.families.freebody.earth import geodetic, local_axes, standard_air, wind_L
from aeroloop.families.freebody.initial import initial
from aeroloop.families.freebody.scenario import FreeBodyTables
from aeroloop.models import free_body
from aeroloop.models.rigid_body import POS, QUAT, RATE, STATES, VEL, rotation

DEG = math.degrees(1.0)
FRD = ca.DM([1.0, -1.0, -1.0])
"""Forward, left, up -> forward, right, down."""


def step(tables: FreeBodyTables) -> ca.Function:
    """(state, dt) -> state, by Runge-Kutta 4; the quaternion is of unit length again."""
    state, dt_s = ca.SX.sym("state", STATES), ca.SX.sym("dt_s")
    body, world, controls = loads.mass(tables.vehicle), tables.world, initial(tables).controls

    def dot(x: ca.SX) -> ca.SX:
        force_B, moment_B = loads.forces_B(tables, x, controls)
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
    around = ca.vertcat(wind_L(tables.world, height_m), standard_air(height_m)[2])
    return ca.Function("free_body_observed", [state], [row, around])
