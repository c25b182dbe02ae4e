"""Earth and air around a free body, and where its flight starts."""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np

from aeroloop.core.frames import Quat, Vec, quat_from_euler
from aeroloop.core.geodesy import TangentPlane, bowring
from aeroloop.families.freebody.scenario import FreeBodyTables, World
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.expressions import DaySymbols, air


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


def standard_air(height_m: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Pressure (Pa), temperature (K) and density (kg/m3)."""
    return air(DaySymbols(*(ca.SX(number) for number in Atmosphere(Day()).day)), height_m)


def wind_L(world: World, height_m: ca.SX) -> ca.SX:
    """East, north and up, m/s."""
    return ca.DM(world.wind_W) + height_m * ca.DM(world.wind_gradient_per_s)


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
