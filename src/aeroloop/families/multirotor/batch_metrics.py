"""Metrics of a multirotor's flight, reduced in the loop of a batch; names and definitions of `analysis/metrics.py`.

The board tells its estimate and setpoints at 50 Hz. A row reaches the log after the link's delay and is compared with
the truth of that time, so the truth is kept (`seen`) when the row arrives, linear between two steps, and compared when
the next one is told.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from aeroloop.control.quad_toolkit import SETPOINT
from aeroloop.estimation import ekf
from aeroloop.families.multirotor.analysis.flight import AIRBORNE_M
from aeroloop.families.multirotor.analysis.metrics import HARD_M_S
from aeroloop.families.multirotor.batch_plant import arriving, motion
from aeroloop.families.multirotor.batch_setup import AGE, COLUMNS, RELEASED, Setup

ATTITUDE = ("roll_rms_deg", "pitch_rms_deg", "yaw_rms_deg")
METRICS = (
    "pos_rms_m",
    "horizontal_rms_m",
    "altitude_rms_m",
    "pos_max_m",
    "roll_max_deg",
    "pitch_max_deg",
    "height_max_m",
    "est_pos_rms_m",
    "est_horizontal_rms_m",
    "est_height_rms_m",
    "est_attitude_rms_deg",
    "saturated_steps",
    "ground_contacts",
    "hard_contacts",
    "diverged",
    "flown_s",
)
_DEG = math.degrees(1.0)


def names(setup: Setup) -> tuple[str, ...]:
    """A law of one's own tells no attitude that it wants."""
    return (*METRICS, *ATTITUDE) if setup.tells_attitude else METRICS


def euler(quat: Any) -> tuple[Any, Any, Any]:
    """Roll, sine of the pitch, yaw."""
    w, x, y, z = (quat[i] for i in range(4))
    roll = ca.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    yaw = ca.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, ca.fmin(ca.fmax(2 * (w * y - z * x), -1), 1), yaw


def told(setup: Setup) -> ca.Function:
    """The row before is compared with the truth of its arrival; the new one is kept."""
    s, row = setup.parts, ca.SX.sym("table", COLUMNS)
    before, seen, counted = s["told"], s["seen"], s["seen"][7] > 0.999
    error_W = seen[:3] - before[:3]
    estimate_W = seen[:3] - before[6:9]
    turn = _turn(seen[3:7], before[9:13])
    squares = [
        error_W[2] ** 2,
        error_W[0] ** 2 + error_W[1] ** 2,
        estimate_W[2] ** 2,
        estimate_W[0] ** 2 + estimate_W[1] ** 2,
        turn**2,
    ]
    if setup.tells_attitude:
        roll, sine, yaw = euler(seen[3:7])
        angles = ca.vertcat(roll, ca.asin(sine), yaw) - before[3:6]
        wrapped = angles - 2 * math.pi * ca.floor((angles + math.pi) / (2 * math.pi))
        squares += ca.vertsplit(wrapped**2)
    added = ca.vertcat(*squares, ca.SX.zeros(8 - len(squares)))
    distance_m = ca.sqrt(squares[0] + squares[1])
    largest = s["largest"]
    now = ca.vertcat(row[:3], s["attitude_setpoint"], s["x"][ekf.POS], s["x"][ekf.QUAT])
    assert now.numel() == 13 and SETPOINT >= 3
    changes = {
        "squares": s["squares"] + ca.if_else(counted, added, 0),
        "compared": s["compared"] + counted,
        "largest": ca.vertcat(ca.fmax(largest[0], ca.if_else(counted, distance_m, 0)), largest[1:]),
        "told": now,
        "seen": ca.SX.zeros(8),
    }
    return s.event("told", {"table": row}, changes)


def _turn(one: Any, other: Any) -> Any:
    """The angle between two attitudes; from its sine, which is exact where it is small."""
    w = ca.dot(one, other)
    x = one[0] * other[1:4] - other[0] * one[1:4] - ca.cross(one[1:4], other[1:4])
    return 2 * ca.atan2(ca.sqrt(ca.sumsqr(x)), ca.fabs(w))


def watched(setup: Setup) -> ca.Function:
    """Ends a cycle: whether it still flies, extremes, and the truth where telemetry arrives."""
    s, row = setup.parts, ca.SX.sym("table", COLUMNS)
    now = motion(s["motion"])
    height_m = now.pos_W[2]
    inside = ca.sumsqr(now.pos_W) <= setup.scenario.aircraft.world.bound_m**2
    above = height_m > setup.airframe.rest_height_m
    touched = ca.logic_and(s["alive"], ca.logic_and(inside, ca.logic_not(above)))
    alive = ca.logic_and(s["alive"], ca.logic_and(inside, above))
    airborne = ca.logic_and(alive, ca.logic_and(row[RELEASED], height_m > AIRBORNE_M))
    seen = arriving(setup, row[AGE]) * ca.vertcat(now.pos_W, now.quat_WB, airborne)
    roll, sine, _ = euler(now.quat_WB)
    extremes = ca.vertcat(ca.fabs(roll), ca.fabs(sine), height_m - setup["world.stand.pos_W[2]"])
    hard = ca.logic_and(touched, ca.fabs(now.vel_W[2]) > HARD_M_S)
    changes = {
        "alive": alive,
        "contacts": s["contacts"] + ca.vertcat(touched, hard),
        "seen": s["seen"] + seen,
        "saturated": s["saturated"] + ca.logic_and(airborne, s["limited"]),
        "largest": ca.vertcat(s["largest"][0], ca.fmax(s["largest"][1:], ca.if_else(alive, extremes, 0))),
        "flown": s["flown"] + alive,
    }
    return s.event("watched", {"params": setup.params, "table": row}, changes)


def finish(setup: Setup) -> ca.Function:
    s = setup.parts
    squares, largest = s["squares"] / ca.fmax(s["compared"], 1), s["largest"]
    rms = ca.sqrt(squares)
    made = {
        "pos_rms_m": ca.sqrt(squares[0] + squares[1]),
        "horizontal_rms_m": rms[1],
        "altitude_rms_m": rms[0],
        "pos_max_m": largest[0],
        "roll_max_deg": _DEG * largest[1],
        "pitch_max_deg": _DEG * ca.asin(largest[2]),
        "height_max_m": largest[3],
        "est_pos_rms_m": ca.sqrt(squares[2] + squares[3]),
        "est_horizontal_rms_m": rms[3],
        "est_height_rms_m": rms[2],
        "est_attitude_rms_deg": _DEG * rms[4],
        "saturated_steps": s["saturated"],
        "ground_contacts": s["contacts"][0],
        "hard_contacts": s["contacts"][1],
        "diverged": 1 - s["alive"] - s["contacts"][0],
        "flown_s": setup.step_s * s["flown"],
        **{name: _DEG * rms[5 + i] for i, name in enumerate(ATTITUDE)},
    }
    row = ca.vertcat(*(made[name] for name in names(setup)))
    return ca.Function("finish", [s.symbol], [row], ["state"], ["metrics"])
