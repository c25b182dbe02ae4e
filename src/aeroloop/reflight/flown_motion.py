"""What a flight record says about the aircraft's motion, on the steps of a rollout and in its axes.

A record has the axes of autopilots (forward-right-down, north-east-down); a rollout has the simulator's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.geodesy import wrap_longitude
from aeroloop.flown.record import FlightRecord
from aeroloop.reflight.rollout import STEP_S, Site
from aeroloop.world.atmosphere import PRESSURE_EXPONENT, R_J_KG_K, Atmosphere, Day
from aeroloop.world.earth import Earth, Home

LEAST_S = 5.0
"""Shorter flights are refused."""
SEA_LEVEL = Day()
LOWEST_M, HIGHEST_M = -500.0, 9000.0  # of a home


@dataclass(frozen=True)
class FlownMotion:
    """(n, ...) On the times of the steps; ENU, FLU."""

    t_s: Vec  # of the log's clock
    pos_W: Vec  # m
    vel_W: Vec  # m/s
    quat_WB: Vec
    rate_B: Vec  # rad/s
    density_kg_m3: Vec
    gravity_m_s2: float
    height_m: float  # barometric, above take-off, at the first step
    site: Site
    remarks: tuple[str, ...]


def flown_motion(record: FlightRecord, from_s: float, to_s: float) -> FlownMotion:
    """ConfigError where the log lacks the attitude or the time is too short."""
    if to_s - from_s < LEAST_S:
        raise ConfigError(
            f"{record.path}: {max(to_s - from_s, 0.0):.1f} s of flight are too short to fly again; "
            f"expected {LEAST_S:g} s"
        )
    t_s: Vec = np.asarray(from_s + STEP_S * np.arange(int((to_s - from_s) / STEP_S)), dtype=np.float64)
    remarks: list[str] = []
    euler = np.stack([interpolated(record, name, t_s) for name in ("roll", "pitch", "yaw")], axis=1)
    quat_WB = quaternions(euler * (1, -1, -1) + (0, 0, math.pi / 2))
    if "gyro_x" in record:
        rate_B = np.stack([interpolated(record, f"gyro_{axis}", t_s) for axis in "xyz"], axis=1) * (1, -1, -1)
    else:
        rate_B = _rates(quat_WB)
        remarks.append("The log has no gyro: rates are those of its attitude.")
    pos_W, vel_W, placed = _translation(record, t_s)
    site = _site(record, t_s, pos_W, remarks)
    if not placed:
        remarks.append("The log has no velocity: drag is left out.")
    return FlownMotion(
        t_s,
        pos_W,
        vel_W,
        quat_WB,
        rate_B,
        _density(record, site, t_s, pos_W),
        site.earth.place((0.0, 0.0, 0.0)).gravity_m_s2,
        float(interpolated(record, "height", t_s[:1])[0]) if "height" in record else 0.0,
        site,
        tuple(remarks),
    )


def interpolated(record: FlightRecord, name: str, t_s: Vec) -> Vec:
    signal = record[name]
    values, turn = signal.values, signal.quantity.turn
    if turn:
        values = np.unwrap(values, period=turn)
    if signal.quantity.held:
        return np.asarray(values[np.clip(np.searchsorted(signal.t_s, t_s, side="right") - 1, 0, None)])
    return np.asarray(np.interp(t_s, signal.t_s, values))


def step_means(record: FlightRecord, name: str, t_s: Vec) -> Vec:
    """The mean over each step of a signal that is held until its next sample."""
    signal = record[name]
    edges = np.append(t_s, t_s[-1] + STEP_S)
    area = np.concatenate(([0.0], np.cumsum(signal.values[:-1] * np.diff(signal.t_s))))
    held = np.clip(np.searchsorted(signal.t_s, edges, side="right") - 1, 0, None)
    until = area[held] + signal.values[held] * (edges - signal.t_s[held])
    return np.asarray(np.diff(until) / STEP_S)


def quaternions(euler_rad: Vec) -> Vec:
    """(n, 4) Of roll, pitch and yaw (n, 3), as `frames.quat_from_euler`."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(euler_rad.T / 2), np.sin(euler_rad.T / 2)
    return np.stack(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
        axis=1,
    )


def _rates(quat_WB: Vec) -> Vec:
    """Body rates of a series of attitudes: 2 conj(q) q'."""
    slope = np.gradient(quat_WB, STEP_S, axis=0)
    w, xyz = quat_WB[:, :1], quat_WB[:, 1:]
    return np.asarray(2.0 * (w * slope[:, 1:] - slope[:, :1] * xyz - np.cross(xyz, slope[:, 1:])))


def _translation(record: FlightRecord, t_s: Vec) -> tuple[Vec, Vec, bool]:
    """Position and velocity, and whether the log has them: of the estimate, else of the satellite receiver."""
    if all(name in record for name in ("north", "east", "down")):
        pos_W = np.stack([interpolated(record, name, t_s) for name in ("east", "north", "down")], axis=1) * (1, 1, -1)
    elif all(name in record for name in ("lat", "lon", "alt")):
        earth = Earth(_home(record, t_s[0]))
        fixes_s = record["lat"].t_s
        rows = [interpolated(record, name, fixes_s) for name in ("lat", "lon", "alt")]
        local = np.array([earth.pos_W(*fix) for fix in zip(*rows, strict=True)])
        pos_W = np.stack([np.interp(t_s, fixes_s, column) for column in local.T], axis=1)
    else:
        return np.zeros((len(t_s), 3)), np.zeros((len(t_s), 3)), False
    if all(name in record for name in ("vel_north", "vel_east", "vel_down")):
        names = ("vel_east", "vel_north", "vel_down")
        return pos_W, np.stack([interpolated(record, name, t_s) for name in names], axis=1) * (1, 1, -1), True
    over = max(1, round(0.5 / STEP_S))  # fixes come a few times a second
    smooth = np.stack([np.convolve(np.pad(c, over, "edge"), np.ones(over) / over, "same")[over:-over] for c in pos_W.T])
    return pos_W, np.gradient(smooth.T, STEP_S, axis=0), True


def _home(record: FlightRecord, at_s: float) -> Home:
    at = np.array([at_s])
    lat, lon, alt = (float(interpolated(record, name, at)[0]) for name in ("lat", "lon", "alt"))
    return Home(lat_deg=lat, lon_deg=wrap_longitude(lon), alt_m=min(max(alt, LOWEST_M), HIGHEST_M))


def _site(record: FlightRecord, t_s: Vec, pos_W: Vec, remarks: list[str]) -> Site:
    """The earth under the origin of the log's local frame."""
    if not all(name in record for name in ("lat", "lon", "alt")):
        remarks.append("The log has no place on earth: sea level and the project's own home are assumed.")
        return Site(Earth(Home(alt_m=0.0)), Atmosphere(SEA_LEVEL))
    fix = _home(record, t_s[0])
    x, y, z = -pos_W[0]
    lat, lon, alt = Earth(fix).geodetic((float(x), float(y), float(z)))
    home = Home(lat_deg=lat, lon_deg=lon, alt_m=min(max(alt, LOWEST_M), HIGHEST_M))
    return Site(Earth(home), Atmosphere(SEA_LEVEL))


def _density(record: FlightRecord, site: Site, t_s: Vec, pos_W: Vec) -> Vec:
    """Of the measured pressure, at the temperature of the standard atmosphere there."""
    if "pressure" in record:
        pressure = interpolated(record, "pressure", t_s)
        ratio = np.clip(pressure, 20e3, 120e3) / SEA_LEVEL.sea_level_pressure_Pa
        temperature = SEA_LEVEL.sea_level_temperature_K * ratio ** (1.0 / PRESSURE_EXPONENT)
        return np.asarray(pressure / (R_J_KG_K * temperature))
    alt_m = site.earth.geodetic((0.0, 0.0, 0.0))[2] + pos_W[:, 2]
    knots = np.linspace(alt_m.min(), alt_m.max() + 1.0, 20)
    return np.asarray(np.interp(alt_m, knots, [site.atmosphere.at(float(h))[2] for h in knots]))
