"""Forces and moments of the air, and of an engine, on a free body."""

from __future__ import annotations

import casadi as ca

from aeroloop.families.freebody import airframe
from aeroloop.families.freebody.earth import geodetic, local_axes, standard_air, wind_L
from aeroloop.families.freebody.scenario import FreeBody, FreeBodyTables
from aeroloop.models import free_body, tabulated_aircraft
from aeroloop.models.rigid_body import POS, QUAT, RATE, VEL, rotation
from aeroloop.models.tabulated_aircraft import Controls
from aeroloop.world.atmosphere import R_J_KG_K

HEAT_RATIO = 1.4
"""Of the standard atmosphere, for the speed of sound."""


def mass(body: FreeBody) -> free_body.Mass:
    if not body.airframe:
        return free_body.Mass(body.mass_kg, body.inertia_kgm2)
    aircraft = airframe.load(body.airframe)
    return free_body.Mass(aircraft.mass_kg, aircraft.inertia_kgm2, aircraft.product_xz_kgm2)


def forces_B(tables: FreeBodyTables, state: ca.SX, controls: Controls) -> tuple[ca.SX, ca.SX]:
    """N and N m about the centre of mass."""
    lat, lon, height_m = geodetic(tables.world, state[POS])
    vel_air_E = state[VEL] - local_axes(lat, lon) @ wind_L(tables.world, height_m)
    if tables.vehicle.airframe:
        return _aircraft_B(tables, state, vel_air_E, height_m, controls)
    return _body_B(tables.vehicle, state, vel_air_E, height_m)


def _body_B(body: FreeBody, state: ca.SX, vel_air_E: ca.SX, height_m: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Drag, and the moments that damp the rates. A rate relative to inertial space damps, as it does in most of the
    published simulations; the air turns with the earth, 0.004 deg/s slower at most."""
    speed_m_s = ca.sqrt(ca.sumsqr(vel_air_E))
    pressure = 0.5 * standard_air(height_m)[2] * speed_m_s * body.area_m2  # over one more speed
    drag_E = -pressure * body.drag_coefficient * vel_air_E
    lengths_m = ca.DM([body.span_m, body.chord_m, body.span_m])
    moment_B = 0.5 * pressure * lengths_m**2 * ca.DM(body.rate_damping) * state[RATE]
    return rotation(state[QUAT]).T @ drag_E, moment_B


def _aircraft_B(
    tables: FreeBodyTables, state: ca.SX, vel_air_E: ca.SX, height_m: ca.SX, controls: Controls
) -> tuple[ca.SX, ca.SX]:
    """Loads of the tables, with the rate relative to the air, which turns with the earth."""
    _, temperature_K, density_kg_m3 = standard_air(height_m)
    air = tabulated_aircraft.Air(height_m, density_kg_m3, ca.sqrt(HEAT_RATIO * R_J_KG_K * temperature_K))
    R_BE = rotation(state[QUAT]).T
    rate_B = state[RATE] - R_BE @ ca.DM([0.0, 0.0, tables.world.earth_rate_rad_s])
    return tabulated_aircraft.loads_B(airframe.load(tables.vehicle.airframe), R_BE @ vel_air_E, rate_B, air, controls)
