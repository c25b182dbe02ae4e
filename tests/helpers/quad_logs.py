"""Logs of multirotor flights that were never flown, with errors put in on purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from log_rows import rows_of
from stream_tables import MULTIROTOR

from aeroloop.controllers.pixhawk.types import FlightMode, Landed
from aeroloop.core.scenario_files import of_table
from aeroloop.core.signals import LINK_SIGNALS, Event
from aeroloop.families.multirotor.scenario import MultirotorTables, QuadrotorScenario
from aeroloop.families.multirotor.streams import STREAMS
from aeroloop.recording.log import Log

Array = Any

rows = rows_of(MULTIROTOR)

POINTS = ((0.0, 0.0, 5.0), (10.0, 0.0, 5.0), (10.0, 10.0, 5.0), (0.0, 10.0, 5.0))
FLIGHT_S = 60.0
RESTS_AT_M = 0.2  # the centre of mass above the ground


def a_scenario(*, count: int = 1, **changes: Any) -> QuadrotorScenario:
    table = {
        "name": "square",
        "duration_s": FLIGHT_S,
        "pace": "real",
        "vehicle": {"kind": "quadrotor", "count": count},
        "pilot": {"waypoints": [{"pos_m": point} for point in POINTS]},
        **changes,
    }
    scenario = of_table(table, "test")
    assert isinstance(scenario.aircraft, MultirotorTables)
    return scenario


def add(log: Log, stream: str, t_s: Array, vehicle: int = 0, **columns: Any) -> None:
    """More rows of a stream, from columns; fields that are not given are zero."""
    log.rows[stream] = np.concatenate([log.rows[stream], rows(stream, t_s, vehicle=vehicle, **columns)])


def quaternions(roll_rad: Array, pitch_rad: Array, yaw_rad: Array) -> dict[str, Array]:
    """Columns of ZYX angles, by multiplying the three turns."""
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a / 2), np.sin(a / 2)) for a in (roll_rad, pitch_rad, yaw_rad))
    return {
        "qw": cr * cp * cy + sr * sp * sy,
        "qx": sr * cp * cy - cr * sp * sy,
        "qy": cr * sp * cy + sr * cp * sy,
        "qz": cr * cp * sy - sr * sp * cy,
    }


def path(t_s: Array) -> tuple[Array, Array, Array]:
    """Up in 5 s, round the square by 45 s, down again by 55 s; above where it started."""
    stops_s = [0, 2, 7, 15, 25, 35, 45, 55, FLIGHT_S]
    corners = [(0, 0, 0), (0, 0, 0), POINTS[0], *POINTS[1:], POINTS[0], (0, 0, 0), (0, 0, 0)]
    x_m, y_m, z_m = (np.interp(t_s, stops_s, [corner[axis] for corner in corners]) for axis in range(3))
    return x_m, y_m, z_m


def mode_at(t_s: float) -> FlightMode:
    changes = {45: FlightMode.LAND, 35: FlightMode.POSITION, 7: FlightMode.MISSION, 2: FlightMode.TAKEOFF}
    return next((mode for start_s, mode in changes.items() if t_s >= start_s), FlightMode.HOLD)


def fly(log: Log, vehicle: int = 0, *, start_x_m: float = 0.0, off: Sequence[float] = (0, 0, 0), **errors: Any) -> None:
    """A whole flight: wanted is the path; flown is that plus `off` times a sine of 1 Hz, in the air."""
    t_s, slow_s, state_s = np.arange(0, FLIGHT_S, 0.004), np.arange(0, FLIGHT_S, 0.02), np.arange(0, FLIGHT_S, 0.1)
    z_off = RESTS_AT_M

    def flown(times_s: Array) -> dict[str, Array]:
        x_m, y_m, z_m = path(times_s)
        wave = np.sin(2 * np.pi * times_s) * (z_m > 0)
        return {
            "x_m": x_m + start_x_m + off[0] * wave,
            "y_m": y_m + off[1] * wave,
            "z_m": z_m + z_off + off[2] * wave,
        }

    def angles(times_s: Array, part: float) -> tuple[Array, Array, Array]:
        """`part` of 1: as flown; 0: as wanted. Yaw goes past half a turn."""
        wave = part * np.sin(2 * np.pi * times_s)
        roll, pitch, yaw = (math.radians(errors.get(f"{name}_deg", 0.0)) for name in ("roll", "pitch", "yaw"))
        return roll * wave, pitch * wave, 0.1 * times_s + yaw * wave

    x_m, y_m, z_m = path(slow_s)
    wanted = {"x_m": x_m + start_x_m, "y_m": y_m, "z_m": z_m + z_off}
    roll_rad, pitch_rad, yaw_rad = angles(slow_s, 0.0)
    add(log, "truth", t_s, vehicle, **flown(t_s), **quaternions(*angles(t_s, 1.0)))
    add(
        log,
        "command",
        t_s,
        vehicle,
        **{f"command_{i}": 0.5 + 0.02 * i for i in range(1, 5)},
        **{f"command_{i}": math.nan for i in range(5, 9)},
    )
    add(
        log,
        "effort",
        t_s,
        vehicle,
        **{f"speed_{i}_rad_s": 550.0 + 10 * i for i in range(1, 5)},
        **{f"speed_{i}_rad_s": math.nan for i in range(5, 9)},
    )
    add(log, "air", slow_s, vehicle, wind_x_m_s=3 + np.sin(slow_s), wind_y_m_s=np.cos(slow_s / 3), density_kg_m3=1.2)
    turned = (yaw_rad + np.pi) % (2 * np.pi) - np.pi
    add(log, "setpoint", slow_s, vehicle, **wanted, roll_rad=roll_rad, pitch_rad=pitch_rad, yaw_rad=turned)
    believed = flown(slow_s)
    believed["x_m"] = believed["x_m"] + errors.get("est_x_m", 0.0)
    believed["z_m"] = believed["z_m"] - errors.get("est_z_m", 0.0)
    flown_roll, flown_pitch, flown_yaw = angles(slow_s, 1.0)
    add(
        log,
        "estimate",
        slow_s,
        vehicle,
        **believed,
        **quaternions(flown_roll, flown_pitch, flown_yaw + math.radians(errors.get("est_yaw_deg", 0.0))),
        tilt_std_rad=0.01,
        yaw_std_rad=0.03,
        pos_std_m=0.3,
        height_std_m=0.2,
    )
    modes = [float(mode_at(t)) for t in state_s]
    in_air = (state_s >= 2) & (state_s < 55)
    add(
        log,
        "autopilot_state",
        state_s,
        vehicle,
        mode=modes,
        armed=(state_s >= 1) & (state_s < 57),
        landed=np.where(in_air, Landed.IN_AIR, Landed.ON_GROUND),
        battery=1 - 0.2 * state_s / FLIGHT_S,
    )
    add(log, "event", [55.0], vehicle, code=Event.GROUND_CONTACT, value=-0.5)
    happened = [(1.0, Event.ARMED, 0), (7.0, Event.MODE_CHANGED, FlightMode.MISSION)]
    happened += [(t, Event.WAYPOINT_REACHED, n) for n, t in enumerate((7.0, 15.0, 25.0, 35.0), 1)]
    times_s, codes, values = zip(*[*happened, (57.0, Event.DISARMED, 0)], strict=True)
    add(log, "board_event", times_s, vehicle, code=codes, value=values)
    add(log, "pace", slow_s, vehicle, lateness_s=2e-5, missed=np.floor(slow_s / 30))
    add(log, "link", [30.0, 59.0], vehicle, frames_in=[100, 200], frames_out=[300, 400])
    add(log, "board_link", [30.0, 59.0], vehicle, frames_in=[299, 399])


def count(
    log: Log,
    signal: str,
    set_hz: float,
    true_hz: float,
    *,
    vehicle: int = 0,
    stream: str = "signal_count",
    stretch: float = 1.0,
) -> None:
    """A row a second; wall time is simulated time divided by `stretch`."""
    times_s = np.arange(0.0, FLIGHT_S)
    counts = np.floor(times_s * true_hz)
    newest_s = np.where(counts > 0, (counts - 1) / true_hz, 0.0) / stretch
    number = float(LINK_SIGNALS.index(signal))
    add(log, stream, times_s, vehicle, signal=number, set_hz=set_hz, count=counts, wall_s=newest_s)


def count_usual(log: Log, vehicle: int = 0) -> None:
    for signal, set_hz, true_hz in (("IMU", 500, 499), ("GNSS", 5, 5), ("magnetometer", 50, 50.05)):
        count(log, signal, set_hz, true_hz, vehicle=vehicle)
    count(log, "actuators", 0, 498.5, vehicle=vehicle)
    count(log, "heartbeat", 1, 1, vehicle=vehicle, stream="telemetry_count")
    count(log, "attitude", 50, 49.5, vehicle=vehicle, stream="telemetry_count")


def a_log(count: int = 1) -> Log:
    """Like a flight that went well."""
    log = Log.empty(STREAMS)
    log.metadata["recorder"] = {"lost_rows": "0"}
    for vehicle in range(count):
        fly(
            log,
            vehicle,
            start_x_m=20.0 * vehicle,
            off=(0.2, 0.1, 0.05),
            roll_deg=1.5,
            pitch_deg=1.0,
            yaw_deg=2.0,
            est_x_m=0.25,
            est_z_m=0.1,
            est_yaw_deg=1.0,
        )
        count_usual(log, vehicle)
    return log
