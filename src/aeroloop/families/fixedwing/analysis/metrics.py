"""Numbers of a fixed wing's flight, computed from its log alone. A name says what, which statistic and which unit.

What cannot be computed because nothing was logged is NaN, and no check passes on NaN. "Outside transients" is while the
mission follows a channel: not on circles, nor on the ways from one path to another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis import board, generic
from aeroloop.analysis.power import power_metrics
from aeroloop.analysis.statistics import Array, count, largest, last, mean, rms
from aeroloop.analysis.vehicle_log import VehicleLog, happened
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Event
from aeroloop.core.wing_signals import BoardParameter, PlanStatus, Step
from aeroloop.families.fixedwing.analysis import operator, stitches
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import blocked_cells
from aeroloop.planning.cells import Cell
from aeroloop.planning.planner import Planner
from aeroloop.recording.log import Log

FOLLOWING = (Step.FOLLOW, Step.REPLAN, Step.APPROACH)
IN_CHANNEL = (*FOLLOWING, Step.TRANSIENT)
ANGLES = ("roll", "pitch", "yaw")
SETTLED_S = 10.0
"""When estimation and law have settled on the first circle: heights and speeds count from here."""

Flags = NDArray[np.bool_]


def metrics(log: Log, scenario: FixedWingScenario) -> dict[str, float]:
    t_s = log.column("truth", "t_s")
    settled = t_s >= SETTLED_S
    z_m, airspeed_m_s = log.column("truth", "z_m"), log.column("truth", "airspeed_m_s")
    mission = scenario.aircraft.mission
    height_m = operator.setpoint_at(log, BoardParameter.HEIGHT, mission.height_m, t_s)
    speed_m_s = operator.setpoint_at(log, BoardParameter.AIRSPEED, mission.airspeed_m_s, t_s)
    height_error_m = np.abs(z_m - height_m)[settled]
    speed_error_m_s = np.abs(airspeed_m_s - speed_m_s)[settled]
    roll_deg = np.degrees(np.abs(log.column("truth", "roll_rad")))
    cross_m = _truly_cross_m(log)
    guided = _step_at(log, log.column("guidance", "t_s"))
    following = np.isin(guided, FOLLOWING)
    loitering = (guided == Step.LOITER) & (log.column("guidance", "t_s") >= SETTLED_S)
    return {
        **generic.metrics(log, scenario),
        **power_metrics(VehicleLog(log, 0)),
        "arrived": _arrived(log),
        "arrived_at_s": _arrived_at_s(log),
        "stranded": float(np.count_nonzero(log.column("mission_step", "step") == Step.STRANDED)),
        "cross_track_rms_m": rms(cross_m[following]),
        "cross_track_max_m": largest(np.abs(cross_m[following])),
        "cross_track_transient_rms_m": rms(cross_m[guided == Step.TRANSIENT]),
        "cross_track_loiter_rms_m": rms(cross_m[loitering]),
        "cross_track_loiter_max_m": largest(np.abs(cross_m[loitering])),
        "cross_track_board_rms_m": rms(log.column("guidance", "cross_m")[following]),
        "roll_max_deg": largest(roll_deg),
        "roll_p99_deg": _percentile(roll_deg, 99),
        "altitude_error_max_m": largest(height_error_m),
        "altitude_error_p99_m": _percentile(height_error_m, 99),
        "altitude_error_p95_m": _percentile(height_error_m, 95),
        "altitude_error_rms_m": rms(height_error_m),
        "airspeed_error_max_m_s": largest(speed_error_m_s),
        "airspeed_error_p99_m_s": _percentile(speed_error_m_s, 99),
        "airspeed_error_p95_m_s": _percentile(speed_error_m_s, 95),
        "airspeed_error_rms_m_s": rms(speed_error_m_s),
        "clearance_min_m": -largest(log.column("truth", "ground_m") - z_m),
        **_over_ground(log, scenario),
        **_planning(log),
        **stitches.metrics(log, np.isin(guided, IN_CHANNEL)),
        **operator.metrics(log),
        **_estimation(log),
        "saturated_steps": count(log.column("effort", "saturated")),
        "unanswered_cycles": happened(log, Event.SENSORS_LOST),
        "missed_cycles": last(log.column("cpu", "missed_cycles")),
        "latency_max_s": largest(log.column("command", "latency_s")),
        **board.metrics(log),
        "cpu_use_planning_pct": use_while_planning_pct(log),
        "messages_lost": float(last(log.column("link", "lost"))),
    }


def _percentile(values: Array, q: float) -> float:
    return float(np.percentile(values, q)) if values.size else math.nan


def _arrived(log: Log) -> float:
    """1 if the mission reports loitering at the goal at the end."""
    steps = log.column("mission_step", "step")
    return float(steps[-1] == Step.ARRIVED) if steps.size else math.nan


def _arrived_at_s(log: Log) -> float:
    return last(log.column("mission_step", "t_s")) if _arrived(log) == 1.0 else math.nan


def _step_at(log: Log, t_s: Array) -> Array:
    """The mission's step at each time; 0 before its first report."""
    told_s, steps = log.column("mission_step", "t_s"), log.column("mission_step", "step")
    if not told_s.size:
        return np.zeros(len(t_s))
    at = np.searchsorted(told_s, t_s, side="right") - 1
    return np.where(at >= 0, steps[np.maximum(at, 0)], 0.0)


def _truly_cross_m(log: Log) -> Array:
    """Across the path of the true position, at each row of guidance: from the virtual point's tangent and curvature."""
    t_s, true_s = log.column("guidance", "t_s"), log.column("truth", "t_s")
    if not (t_s.size and true_s.size):
        return np.zeros(len(t_s))
    psi, kappa = log.column("guidance", "path_psi_rad"), log.column("guidance", "path_kappa_1_m")
    dx, dy = (
        np.interp(t_s, true_s, log.column("truth", f"{axis}_m")) - log.column("guidance", f"path_{axis}_m")
        for axis in "xy"
    )
    along_m, cross_m = np.cos(psi) * dx + np.sin(psi) * dy, np.cos(psi) * dy - np.sin(psi) * dx
    # The virtual point is not the nearest one: on an arc the distance is measured from its centre.
    bent = np.abs(kappa) > 1e-6
    radius_m = 1.0 / np.where(bent, kappa, 1.0)
    on_arc_m = radius_m - np.sign(radius_m) * np.hypot(along_m, radius_m - cross_m)
    return np.asarray(np.where(bent, on_arc_m, cross_m))


def _over_ground(log: Log, scenario: FixedWingScenario) -> dict[str, float]:
    """True positions compared with the cells of map and channels; counts are samples of the truth."""
    t_s = log.column("truth", "t_s")
    names = ("over_blocked_cells", "outside_channel", "channel_margin_min_m")
    if not t_s.size:
        return dict.fromkeys(names, math.nan)
    try:
        planner = planner_of(scenario)
    except ConfigError:  # the map's file is missing: the terrain is unknown
        return dict.fromkeys(names, math.nan)
    x_m, y_m = log.column("truth", "x_m"), log.column("truth", "y_m")
    margin_m = _channel_margin_m(log, planner, x_m, y_m, t_s)
    return {
        "over_blocked_cells": float(np.count_nonzero(_over_blocked(planner, x_m, y_m))),
        "outside_channel": float(np.count_nonzero(margin_m < 0.0)),
        "channel_margin_min_m": -largest(-margin_m),
    }


def _over_blocked(planner: Planner, x_m: Array, y_m: Array) -> Flags:
    level = planner.settings.resolution.finest
    blocked = blocked_cells(planner)
    size_m, half_m = planner.elevation.size_m(level), planner.elevation.side_m / 2
    col, row = (np.floor((axis_m + half_m) / size_m).astype(int) for axis_m in (x_m, y_m))
    side = len(blocked)
    on_map = (col >= 0) & (col < side) & (row >= 0) & (row < side)
    return np.asarray(on_map & blocked[np.clip(row, 0, side - 1), np.clip(col, 0, side - 1)])


def _channel_margin_m(log: Log, planner: Planner, x_m: Array, y_m: Array, t_s: Array) -> Array:
    """Distance to the edge of the channel, negative outside it, while one is followed.

    The channel is the latest plan's with the one before it: a new path begins on the old one, in its channel.
    """
    channels = _channels(log)
    plans = log.rows["plan"][log.column("plan", "status") == PlanStatus.FOUND]
    of_plan = log.columns["plan"].index("plan")
    steps = _step_at(log, t_s)
    margins: list[Array] = []
    for number, row in enumerate(plans):
        until_s = plans[number + 1][0] if number + 1 < len(plans) else math.inf
        now = (t_s >= row[0]) & (t_s < until_s) & np.isin(steps, IN_CHANNEL)
        before = channels.get(int(plans[number - 1][of_plan]), []) if number else []
        cells = [*before, *channels.get(int(row[of_plan]), [])]
        if cells and now.any():
            margins.append(_margin_m(planner, sorted(set(cells)), x_m[now], y_m[now]))
    return np.concatenate(margins) if margins else np.empty(0)


def _channels(log: Log) -> dict[int, list[Cell]]:
    """The fine cells at the start of each plan's path, by its number."""
    fine = {int(plan): int(n) for plan, n in zip(*(log.column("plan", f) for f in ("plan", "fine")), strict=True)}
    found: dict[int, list[Cell]] = {}
    for plan, index, level, col, row in log.rows["plan_cell"][:, 2:].astype(int).tolist():
        if index < fine.get(plan, 0):
            found.setdefault(plan, []).append(Cell(level, col, row))
    return found


def _margin_m(planner: Planner, cells: list[Cell], x_m: Array, y_m: Array) -> Array:
    """How far inside the union of cells: the distance to the nearest cell of the same size that is not among them."""
    level = cells[0].level
    size_m = planner.elevation.size_m(level)
    among = {(cell.col, cell.row) for cell in cells}
    around = {(c + i, r + j) for c, r in among for i in (-1, 0, 1) for j in (-1, 0, 1)} - among
    half_m = planner.elevation.side_m / 2
    outside = np.array(sorted(around), dtype=float)
    gap_m = np.full(len(x_m), np.inf)
    inside = np.zeros(len(x_m), dtype=bool)
    for col, row in among:
        west_m, south_m = col * size_m - half_m, row * size_m - half_m
        inside |= (x_m >= west_m) & (x_m < west_m + size_m) & (y_m >= south_m) & (y_m < south_m + size_m)
    for col, row in outside:
        gap_m = np.minimum(gap_m, _distance_m(x_m, y_m, col * size_m - half_m, row * size_m - half_m, size_m))
    away_m = np.full(len(x_m), np.inf)
    for col, row in among:
        away_m = np.minimum(away_m, _distance_m(x_m, y_m, col * size_m - half_m, row * size_m - half_m, size_m))
    return np.where(inside, gap_m, -away_m)


def _distance_m(x_m: Array, y_m: Array, west_m: float, south_m: float, size_m: float) -> Any:
    """To a square; 0 in it."""
    dx = np.maximum(np.maximum(west_m - x_m, x_m - west_m - size_m), 0.0)
    dy = np.maximum(np.maximum(south_m - y_m, y_m - south_m - size_m), 0.0)
    return np.hypot(dx, dy)


def _planning(log: Log) -> dict[str, float]:
    status = log.column("plan", "status")
    took_s = (log.column("plan", "t_s") - log.column("plan", "began_s"))[status == PlanStatus.FOUND]
    work_s = log.column("plan", "work_s")[status == PlanStatus.FOUND]
    return {
        "plans": float(len(status)),
        "plans_failed": float(np.count_nonzero(status != PlanStatus.FOUND)),
        "planning_mean_s": mean(took_s),
        "planning_max_s": largest(took_s),
        "planning_work_mean_s": mean(work_s),
    }


def _estimation(log: Log) -> dict[str, float]:
    """Estimate minus truth, from when the first fix has settled."""
    t_s, true_s = log.column("estimate", "t_s"), log.column("truth", "t_s")
    names = ("est_pos_rms_m", "est_height_rms_m", "est_airspeed_rms_m_s", *(f"est_{angle}_rms_deg" for angle in ANGLES))
    settled = t_s >= SETTLED_S
    if not (settled.any() and true_s.size):
        return dict.fromkeys(names, math.nan)
    t_s = t_s[settled]

    def error(field: str) -> Array:
        true, believed = log.column("truth", field), log.column("estimate", field)[settled]
        if not field.endswith("_rad"):
            return believed - np.interp(t_s, true_s, true)
        return wrap_pi_half_open(believed - np.interp(t_s, true_s, np.unwrap(true)))

    x, y, z = (error(f"{axis}_m") for axis in "xyz")
    return {
        "est_pos_rms_m": rms(np.hypot(x, y)),
        "est_height_rms_m": rms(z),
        "est_airspeed_rms_m_s": rms(error("airspeed_m_s")),
        **{f"est_{angle}_rms_deg": math.degrees(rms(error(f"{angle}_rad"))) for angle in ANGLES},
    }


def use_while_planning_pct(log: Log) -> float:
    weights_s, use_pct = log.column("cpu", "planning_s"), log.column("cpu", "planning_use_pct")
    total_s = float(np.sum(weights_s))
    return float(np.sum(weights_s * use_pct)) / total_s if total_s > 0 else math.nan
