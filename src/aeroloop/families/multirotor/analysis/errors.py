"""Truth minus the autopilot's setpoint, over the time in the air."""

from __future__ import annotations

import numpy as np

from aeroloop.analysis.statistics import Array, rms
from aeroloop.analysis.track import POSITION, euler_rad
from aeroloop.analysis.truth_log import Errors
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.families.multirotor.analysis.flight import Flight


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
        np.full(len(t_s), np.nan),  # three angles with separate setpoints are not an attitude
    )


def _infinite_where_lost(error: Array, wanted: Array) -> Array:
    """A NaN state is not a small error: only times without a setpoint may be left out."""
    return np.where(np.isnan(error) & ~np.isnan(wanted), np.inf, error)


def rms_wanted(values: Array) -> float:
    """RMS over the times with a setpoint."""
    return rms(values[~np.isnan(values)])
