"""Loads of a tabulated aircraft again, in feet, pounds of force and slugs, with numbers in place of expressions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aeroloop.models.tabulated_aircraft import Aircraft, Controls

Vec = NDArray[np.float64]
FT_M, LB_KG, G_M_S2 = 0.3048, 0.45359237, 9.80665
LBF_N = LB_KG * G_M_S2
SLUG_KG = LBF_N / FT_M


def between(points: Sequence[float], value: float) -> tuple[int, float]:
    """The interval of a value, and how far it is into it."""
    low = min(max(bisect_right(points, value) - 1, 0), len(points) - 2)
    return low, min(max((value - points[low]) / (points[low + 1] - points[low]), 0.0), 1.0)


def on_line(row: Sequence[float], at: tuple[int, float]) -> float:
    low, part = at
    return row[low] + part * (row[low + 1] - row[low])


def on_plane(table: Sequence[Sequence[float]], row: tuple[int, float], column: tuple[int, float]) -> float:
    low, part = row
    near, far = on_line(table[low], column), on_line(table[low + 1], column)
    return near + part * (far - near)


def inertia_kgm2(aircraft: Aircraft) -> Vec:
    """About forward, right and down."""
    mass = aircraft.mass
    tensor = np.diag(mass.inertia_slug_ft2)
    tensor[0, 2] = tensor[2, 0] = -mass.product_xz_slug_ft2
    return np.asarray(tensor * SLUG_KG * FT_M**2)


def loads_frd(
    aircraft: Aircraft, controls: Controls, vel_m_s: Vec, rate: Vec, height_m: float, air: tuple[float, float]
) -> tuple[Vec, Vec]:
    """N and N m about the centre of mass; `air` is its density and the speed of sound."""
    density_kg_m3, sound_m_s = air
    u, v, w = vel_m_s / FT_M
    speed = float(np.linalg.norm(vel_m_s)) / FT_M
    aero, wing, given = aircraft.aerodynamics, aircraft.wing, controls
    alpha_deg, beta_deg = math.degrees(math.atan2(w, u)), math.degrees(math.asin(v / speed))
    alpha, beta = between(aero.alpha_deg, alpha_deg), between(aero.beta_deg, beta_deg)
    elevator, sideslip = between(aero.elevator_deg, given.elevator_deg), between(aero.sideslip_deg, abs(beta_deg))
    p, q, r = rate * np.array([wing.span_ft, wing.chord_ft, wing.span_ft]) / (2 * speed)
    aileron, rudder, rates, surfaces = given.aileron_deg / 20, given.rudder_deg / 30, aero.rates, aero.surfaces
    side = math.copysign(1.0, beta_deg)
    force = [
        on_plane(aero.x, elevator, alpha) + q * on_line(rates.x_q, alpha),
        np.dot(aero.side, [beta_deg, aileron, rudder])
        + p * on_line(rates.side_p, alpha)
        + r * on_line(rates.side_r, alpha),
        on_line(aero.z, alpha) * (1 - math.radians(beta_deg) ** 2)
        + aero.z_elevator * given.elevator_deg / 25
        + q * on_line(rates.z_q, alpha),
    ]
    moment = [
        side * on_plane(aero.roll, sideslip, alpha)
        + on_plane(surfaces.roll_aileron, beta, alpha) * aileron
        + on_plane(surfaces.roll_rudder, beta, alpha) * rudder
        + p * on_line(rates.roll_p, alpha)
        + r * on_line(rates.roll_r, alpha),
        on_plane(aero.pitch, elevator, alpha) + q * on_line(rates.pitch_q, alpha),
        side * on_plane(aero.yaw, sideslip, alpha)
        + on_plane(surfaces.yaw_aileron, beta, alpha) * aileron
        + on_plane(surfaces.yaw_rudder, beta, alpha) * rudder
        + p * on_line(rates.yaw_p, alpha)
        + r * on_line(rates.yaw_r, alpha),
    ]
    density = density_kg_m3 / SLUG_KG * FT_M**3
    pressure_lbf = 0.5 * density * speed**2 * wing.area_ft2
    force_lbf = pressure_lbf * np.array(force)
    force_lbf[0] += thrust_lbf(aircraft, speed * FT_M / sound_m_s, height_m / FT_M, given.power_percent)
    moment_ftlbf = pressure_lbf * np.array(moment) * [wing.span_ft, wing.chord_ft, wing.span_ft]
    behind_ft = (aircraft.mass.reference_percent - aircraft.mass.centre_percent) / 100 * wing.chord_ft
    moment_ftlbf += behind_ft * np.array([0.0, force_lbf[2], -force_lbf[1]])
    return force_lbf * LBF_N, moment_ftlbf * LBF_N * FT_M


def thrust_lbf(aircraft: Aircraft, mach: float, height_ft: float, power_percent: float) -> float:
    engine = aircraft.engine
    row, column = between(engine.mach, mach), between(engine.height_ft, height_ft)
    idle, military, maximum = (
        on_plane(table, row, column) for table in (engine.idle_lbf, engine.military_lbf, engine.maximum_lbf)
    )
    if power_percent < 50:
        return idle + power_percent * (military - idle) / 50
    return military + (power_percent - 50) * (maximum - military) / 50
