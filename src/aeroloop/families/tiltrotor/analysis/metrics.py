"""Numbers of a flight, computed from its log alone. A name says what, which statistic and which unit.

A number that cannot be computed because its stream is empty is NaN, and no check passes on NaN.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.analysis import board, generic
from aeroloop.analysis.statistics import Array, count, largest, rms
from aeroloop.analysis.truth_log import TruthLog, estimation, estimation_metrics
from aeroloop.analysis.vehicle_log import event_values, happened
from aeroloop.core.signals import Event
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log

WIND = ("wind_x_m_s", "wind_y_m_s", "wind_z_m_s")
SETTLED_S = 5.0
"""When the transient of a start from rest is over."""


def metrics(log: Log, scenario: TiltrotorScenario) -> dict[str, float]:
    _, error_W = position_error(log)
    thrust_N = np.concatenate([log.column("effort", f"thrust_{side}_N") for side in ("right", "left")])
    thrust_min_N, thrust_max_N = -largest(-thrust_N), largest(thrust_N)
    return {
        "pos_x_rms_m": rms(error_W[:, 0]),
        "pos_y_rms_m": rms(error_W[:, 1]),
        "pos_z_rms_m": rms(error_W[:, 2]),
        "pos_max_m": largest(np.linalg.norm(error_W, axis=1)),
        "roll_max_deg": _max_abs_deg(log.column("truth", "roll_rad")),
        "pitch_max_deg": _max_abs_deg(log.column("truth", "pitch_rad")),
        "yaw_max_deg": _max_abs_deg(log.column("truth", "yaw_rad")),
        "yaw_settled_max_deg": _max_abs_deg(log.column("truth", "yaw_rad")[log.column("truth", "t_s") >= SETTLED_S]),
        "tilt_right_max_deg": _max_abs_deg(log.column("truth", "tilt_right_rad")),
        "tilt_left_max_deg": _max_abs_deg(log.column("truth", "tilt_left_rad")),
        "thrust_min_N": thrust_min_N,
        "thrust_max_N": thrust_max_N,
        "thrust_reserve_N": float(np.minimum(thrust_min_N, scenario.aircraft.actuators.thrust_max_N - thrust_max_N)),
        "saturated_steps": count(log.column("effort", "saturated")),
        **generic.metrics(log, scenario),
        **estimation_metrics(estimation(flown(log))),
        "wind_max_m_s": largest(np.linalg.norm(flown(log).columns("air", WIND), axis=1)),
        "ground_clearance_min_m": -largest(-_over_ground_m(log)),
        "sensor_losses": happened(log, Event.SENSORS_LOST, "board_event"),
        "safe_commands": happened(log, Event.SAFE_COMMAND, "board_event"),
        "implausible_sensors": happened(log, Event.IMPLAUSIBLE_SENSORS, "board_event"),
        "implausible_commands": happened(log, Event.IMPLAUSIBLE_COMMAND),
        "law_not_finite": happened(log, Event.LAW_NOT_FINITE, "board_event"),
        "law_fallbacks": board.fallbacks(log),
        "references_lost": happened(log, Event.REFERENCE_LOST, "board_event"),
        "overruns": board.overruns(log),
        "late_cycles": happened(log, Event.LATE_CYCLE),
        "board_restarts": happened(log, Event.BOARD_RESTARTED),
        "board_messages_lost": float(np.sum(event_values(log, Event.MESSAGES_LOST))),
        **board.metrics(log),
        "worst_cycle_max_s": largest(log.column("cpu", "worst_cycle_s")),
    }


def flown(log: Log) -> TruthLog:
    """The aircraft of the log: each of several has a log of its own."""
    return TruthLog(log, 0)


def _over_ground_m(log: Log) -> Array:
    """Height of the body's origin over the ground below it."""
    flight = flown(log)
    return np.asarray(flight.pos_W[:, 2] - flight.ground_at(flight.t_s))


def position_error(log: Log) -> tuple[Array, Array]:
    """Times (n,) in s and truth minus reference (n, 3) in m, from the first to the last reference.

    References come at the control period and truth at the finer integration step: interpolate between them.
    """
    t_ref_s = log.column("setpoint", "t_s")
    t_s = log.column("truth", "t_s")
    if not t_ref_s.size:
        return np.empty(0), np.empty((0, 3))
    compared = (t_s >= t_ref_s[0]) & (t_s <= t_ref_s[-1])
    t_s = t_s[compared]
    axes = [
        log.column("truth", axis)[compared] - np.interp(t_s, t_ref_s, log.column("setpoint", axis))
        for axis in ("x_m", "y_m", "z_m")
    ]
    return t_s, np.stack(axes, axis=1)


def _max_abs_deg(angles_rad: Array) -> float:
    return math.degrees(largest(np.abs(angles_rad)))
