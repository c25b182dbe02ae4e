"""How well the rotors keep their speeds, and how they keep together: numbers.

Errors are setpoint minus true speed. Chatter is the RMS of the second difference of the speed asked of the ESC, as a
percentage of the top speed. The kick is the largest departure of roll or pitch in the seconds after the first
disturbance from the motion before it, continued: a constant, and a turn at the rate of the velocity setpoint.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.analysis.statistics import Array, largest, rms
from aeroloop.families.multirotor.analysis.flight import Flight
from aeroloop.families.multirotor.scenario import QuadrotorScenario

BEFORE_S, AFTER_S = 3.0, 2.0
"""Span before a disturbance whose motion is continued, and span after it in which a kick is looked for."""
SETTLED_M_S = 0.1
"""A setpoint that is slower than this has no direction."""
METRICS = (
    *("rotor_rms_rad_s", "rotor_sync_rms_rad_s", "rotor_error_max_rad_s"),
    *("rotor_effort_pct", "rotor_chatter_pct", "rotor_kick_deg"),
)


def names(rotors: int, pattern: str) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(1, rotors + 1))


def rotor_metrics(flight: Flight, scenario: QuadrotorScenario) -> dict[str, float]:
    """None of these for an aircraft without a drive."""
    if not scenario.aircraft.has_drive:
        return {}
    t_s = flight.column("rotor_law", "t_s")
    if not t_s.size:
        return dict.fromkeys(METRICS, math.nan)
    from aeroloop.families.multirotor import airframe  # imports MuJoCo, which other aircraft's numbers do without

    table, n = scenario.aircraft.synchronisation, flight.rotors
    counted = t_s >= (table.evaluate_from_s if table is not None else 0.0)
    counted &= flight.airborne(t_s)
    errors, sync, asked = (
        flight.columns("rotor_law", names(n, pattern))
        for pattern in ("error_{}_rad_s", "sync_error_{}_rad_s", "command_{}_rad_s")
    )
    top = airframe.flown(scenario).motors.speed_max_rad_s
    values = (
        rms(errors[counted].ravel()),
        rms(sync[counted].ravel()),
        largest(np.abs(errors[counted].ravel())),
        100.0 * rms(asked[counted].ravel()) / top,
        100.0 * rms(np.diff(asked, 2, axis=0)[counted[2:]].ravel()) / top,
        kick_deg(flight, scenario),
    )
    return dict(zip(METRICS, values, strict=True))


def disturbed_s(scenario: QuadrotorScenario) -> float:
    """Time of the first fault of a rotor, load on a motor or payload; NaN: none."""
    times = [load.from_s for load in scenario.aircraft.motors.loads]
    times += [payload.from_s] if (payload := scenario.aircraft.payload) is not None else []
    times += [fault.from_s for fault in scenario.planned.values() if fault.target in ("rotor", "battery")]
    return min(times, default=math.nan)


def kick_deg(flight: Flight, scenario: QuadrotorScenario) -> float:
    start_s = disturbed_s(scenario)
    t_s = flight.t_s - start_s
    before, after = (t_s >= -BEFORE_S) & (t_s < 0.0), (t_s >= 0.0) & (t_s < AFTER_S)
    if not (before.sum() > 10 and after.any()):
        return math.nan
    basis = _motions(t_s, _turn_rate(flight, start_s))
    angles = np.unwrap(flight.attitude_rad[:, :2], axis=0)
    found = np.linalg.lstsq(basis[before], angles[before], rcond=None)[0]
    return math.degrees(float(np.max(np.abs(angles[after] - basis[after] @ found))))


def _motions(t_s: Array, rate_rad_s: float) -> Array:
    """What is continued: a constant and, where the path turns, the two components of a turn."""
    constant = np.ones_like(t_s)
    if rate_rad_s == 0.0:
        return constant[:, None]
    return np.stack([constant, np.cos(rate_rad_s * t_s), np.sin(rate_rad_s * t_s)], axis=1)


def _turn_rate(flight: Flight, start_s: float) -> float:
    """Mean turn rate of the velocity setpoint before a time; 0 without one or at rest."""
    t_s = flight.column("setpoint", "t_s")
    chosen = (t_s >= start_s - BEFORE_S) & (t_s < start_s)
    x, y = flight.columns("setpoint", ("vx_m_s", "vy_m_s"))[chosen].T
    if x.size < 3 or not np.isfinite(x).all() or np.hypot(x, y).min() < SETTLED_M_S:
        return 0.0
    heading = np.unwrap(np.arctan2(y, x))
    return float((heading[-1] - heading[0]) / (t_s[chosen][-1] - t_s[chosen][0]))
