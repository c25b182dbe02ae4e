"""Arming checks: one short sentence for each condition that is not met."""

from __future__ import annotations

import math

from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import FlightMode, SensorHealth
from aeroloop.core.signals import NavEstimate

STICK_MODES = {FlightMode.MANUAL, FlightMode.ALTITUDE, FlightMode.POSITION}
POSITION_MODES = {
    FlightMode.POSITION,
    FlightMode.TAKEOFF,
    FlightMode.HOLD,
    FlightMode.MISSION,
    FlightMode.RETURN,
    FlightMode.PRECLAND,
}
HEIGHT_MODES = POSITION_MODES | {FlightMode.ALTITUDE}


def is_sane(estimate: NavEstimate) -> bool:
    """Whether all its numbers are finite."""
    numbers = (*estimate.pos_W, *estimate.vel_W, *estimate.quat_WB, *estimate.rate_B)
    return math.isfinite(math.fsum(numbers)) and abs(math.hypot(*estimate.quat_WB) - 1.0) < 0.1


def tilt_rad(estimate: NavEstimate) -> float:
    _, x, y, _ = estimate.quat_WB
    return math.acos(max(-1.0, min(1.0, 1.0 - 2.0 * (x * x + y * y))))


def mode_problem(mode: FlightMode, estimate: NavEstimate | None, has_mission: bool) -> str | None:
    """The requirements of this mode that are not met."""
    if mode in POSITION_MODES and (estimate is None or not estimate.position_ok):
        return "No position: wait for satellites"
    if mode in HEIGHT_MODES and (estimate is None or not estimate.height_ok):
        return "No height estimate"
    if mode is FlightMode.MISSION and not has_mission:
        return "No mission: upload one first"
    return None


def arming_problems(
    mode: FlightMode,
    estimate: NavEstimate | None,
    health: SensorHealth,
    parameters: Parameters,
    *,
    battery_remaining: float,
    has_mission: bool,
    sticks_fresh: bool,
    thrust_low: bool,
) -> list[str]:
    problems = []
    if not health.imu:
        problems.append("No accelerometer and gyro data")
    if not health.magnetometer:
        problems.append("No compass data")
    if not health.barometer:
        problems.append("No barometer data")
    if estimate is None or not estimate.attitude_ok:
        problems.append("Attitude estimate is not ready")
    elif tilt_rad(estimate) > math.radians(parameters.get("AL_ARM_TILT")):
        problems.append("Not level: set it on even ground")
    missing = mode_problem(mode, estimate, has_mission)
    if missing is not None:
        problems.append(missing)
    if mode in (FlightMode.LAND, FlightMode.PRECLAND, FlightMode.RETURN):
        problems.append(f"Cannot take off in mode {mode.name.lower()}")
    if battery_remaining < parameters.get("BAT_LOW_THR"):
        problems.append("Battery is low: charge it")
    if mode in STICK_MODES:
        if not sticks_fresh:
            problems.append(f"Mode {mode.name.lower()} needs stick input; none received")
        elif not thrust_low:
            problems.append("Thrust stick is not low")
    return problems
