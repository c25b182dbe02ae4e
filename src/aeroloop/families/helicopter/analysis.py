"""Metrics of a helicopter's flight."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from aeroloop.analysis import generic
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.statistics import Array, count, largest, mean, rms
from aeroloop.analysis.track import Track
from aeroloop.analysis.truth_log import TruthLog
from aeroloop.analysis.vehicle_log import event_values
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.signals import Event
from aeroloop.families.helicopter import airframe
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.recording.log import Log

POSITION = ("x_m", "y_m", "z_m")
TOGETHER = ("truth", "setpoint", "effort")
COMMANDS = {
    "collective_rad": "collective (rad)",
    "lateral_rad": "lateral cyclic (rad)",
    "longitudinal_rad": "longitudinal cyclic (rad)",
    "tail_rad": "tail pitch (rad)",
    "throttle": "throttle",
}


class HelicopterLog(TruthLog):
    """Truth, setpoint and effort are logged at the same times; of a flight that was killed, the last rows of some may
    be missing, and are left out of all."""

    @cached_property
    def _complete(self) -> int:
        return min(len(TruthLog.rows(self, stream)) for stream in TOGETHER)

    def rows(self, stream: str) -> Array:
        rows = super().rows(stream)
        return rows[: self._complete] if stream in TOGETHER else rows


def metrics(log: Log, scenario: HelicopterScenario) -> dict[str, float]:
    """Errors from `reference.evaluate_from_s` on."""
    flight, tables = HelicopterLog(log, 0), scenario.aircraft
    counted = flight.t_s >= tables.reference.evaluate_from_s
    off_m = (flight.pos_W - flight.columns("setpoint", POSITION))[counted]
    roll, pitch, yaw = flight.attitude_rad[counted].T
    yaw_off = np.abs(wrap_pi_half_open(yaw - flight.column("setpoint", "yaw_rad")[counted]))
    effort = {name: flight.column("effort", name)[counted] for name in log.columns["effort"]}
    speed = effort["rotor_rad_s"] / airframe.load(tables.vehicle.airframe).head.speed_rad_s
    hits_m_s = np.abs(event_values(log, Event.GROUND_CONTACT))
    return {
        **generic.metrics(log, scenario),
        "pos_rms_m": rms(np.linalg.norm(off_m, axis=1)),
        "horizontal_max_m": largest(np.hypot(off_m[:, 0], off_m[:, 1])),
        "height_max_m": largest(np.abs(off_m[:, 2])),
        "yaw_rms_deg": math.degrees(rms(yaw_off)),
        "yaw_max_deg": math.degrees(largest(yaw_off)),
        "roll_max_deg": math.degrees(largest(np.abs(roll))),
        "pitch_max_deg": math.degrees(largest(np.abs(pitch))),
        "flap_max_deg": math.degrees(largest(np.hypot(effort["flap_x_rad"], effort["flap_y_rad"]))),
        "rotor_speed_low_pct": 100.0 * float(np.min(speed)) if speed.size else math.nan,
        "rotor_speed_high_pct": 100.0 * largest(speed),
        "power_mean_W": mean(effort["power_W"]),
        "saturated_steps": count(effort["saturated"]),
        "touchdown_max_m_s": largest(hits_m_s) if hits_m_s.size else 0.0,
    }


def tracks(log: Log) -> list[Track]:
    return generic.tracks(log, COMMANDS)


NEVER = ("diverged", "overruns", "board_restarts", "law_not_finite")
ANALYSIS = Analysis[HelicopterScenario](metrics=metrics, tracks=tracks, never=NEVER)
