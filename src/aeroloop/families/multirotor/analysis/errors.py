"""Truth minus what the autopilot wanted, and truth minus what it believed, over the time in the air."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aeroloop.analysis.statistics import Array, rms
from aeroloop.analysis.track import POSITION, QUATERNION, euler_rad
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.families.multirotor.analysis.flight import Flags, Flight, angle_between_rad


@dataclass(frozen=True)
class Errors:
    """NaN where nothing was wanted."""

    t_s: Array  # (n,)
    pos_W: Array  # (n, 3) m
    attitude_rad: Array  # (n, 3) roll, pitch, yaw, each within half a turn
    turn_rad: Array  # (n,) all three in one

    def only(self, kept: Flags) -> Errors:
        return Errors(self.t_s[kept], self.pos_W[kept], self.attitude_rad[kept], self.turn_rad[kept])

    @property
    def horizontal_m(self) -> Array:
        return np.asarray(np.linalg.norm(self.pos_W[:, :2], axis=1))

    @property
    def distance_m(self) -> Array:
        return np.asarray(np.linalg.norm(self.pos_W, axis=1))


def tracking(flight: Flight) -> Errors:
    """Truth minus setpoint."""
    t_s = flight.column("setpoint", "t_s")
    kept = flight.known(t_s) & flight.airborne(t_s)
    t_s = t_s[kept]
    places_W = flight.columns("setpoint", POSITION)[kept]
    angles = flight.columns("setpoint", ("roll_rad", "pitch_rad", "yaw_rad"))[kept]
    return Errors(
        t_s,
        _infinite_where_lost(flight.position_at(t_s) - places_W, places_W),
        _infinite_where_lost(wrap_pi_half_open(euler_rad(flight.attitude_at(t_s)) - angles), angles),
        np.full(len(t_s), np.nan),  # three angles that are asked for one by one are no attitude
    )


def estimation(flight: Flight) -> Errors:
    """Truth minus estimate."""
    t_s = flight.column("estimate", "t_s")
    kept = flight.known(t_s) & flight.airborne(t_s)
    t_s = t_s[kept]
    true, believed = flight.attitude_at(t_s), flight.columns("estimate", QUATERNION)[kept]
    return Errors(
        t_s,
        flight.position_at(t_s) - flight.columns("estimate", POSITION)[kept],
        wrap_pi_half_open(euler_rad(true) - euler_rad(believed)),
        angle_between_rad(true, believed),
    )


def _infinite_where_lost(error: Array, wanted: Array) -> Array:
    """A state that is no number is no small error: only what was not wanted may be left out."""
    return np.where(np.isnan(error) & ~np.isnan(wanted), np.inf, error)


def rms_wanted(values: Array) -> float:
    """RMS over the times at which something was wanted."""
    return rms(values[~np.isnan(values)])
