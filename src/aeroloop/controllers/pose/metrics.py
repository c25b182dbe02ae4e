"""Numbers of a flight with a pose board: soft minus hard samples in the air, and what rebuilding costs.

RMS is over all axes, as in table A3. Execution times are those of the emulated processor: one cycle for each
instruction, held against the control period of a processor with CORE_HZ.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.analysis.statistics import Array, largest, last, mean, rms
from aeroloop.controllers.pose.driver_table import LOG_STALE, PART_VALUES, PARTS
from aeroloop.controllers.pose.tables import PoseScenario
from aeroloop.recording.log import Log

CORE_HZ = 168e6
AIRBORNE_M = 0.1
NAMES = ("acc_m_s2", "gyro_rad_s", "mag_T", "baro_m", "gnss_m", "gnss_vel_m_s")
"""Of each part, with its unit."""
COST_STEPS = ("decode", "place", "accelerometer", "gyro", "magnetometer", "barometer", "gnss")


def metrics(scenario: PoseScenario, log: Log) -> dict[str, float]:
    errors = {name: differences(log, part) for part, name in enumerate(NAMES)}
    cost = cost_cycles(scenario, log)
    whole = cost.sum(axis=1)
    period = CORE_HZ * scenario.controller.control.period_s
    return {
        **{f"soft_{_named(name, 'rms')}": rms(error) for name, error in errors.items()},
        **{f"soft_{_named(name, 'max')}": largest(np.abs(error)) for name, error in errors.items()},
        "pose_sets": last(log.column("pose_state", "sets")),
        "pose_sets_lost": last(log.column("pose_state", "lost")),
        "pose_stale_samples": stale_samples(log),
        "pose_failsafes": rises(log.column("pose_state", "failed")),
        "pose_parameters_refused": float(np.count_nonzero(log.column("pose_parameter", "answer"))),
        "sens_soft_at_end": last(log.column("pose_state", "sens_soft")),
        "pose_cost_mean_pct": 100 * mean(whole) / period,
        "pose_cost_p99_pct": 100 * percentile(whole, 99) / period,
        "pose_cost_max_pct": 100 * largest(whole) / period,
    }


def differences(log: Log, part: int) -> Array:
    """Soft minus hard of one part in the air, (samples, axes); both of one period."""
    names = log.columns["pose_sensor"]
    rows = log.rows["pose_sensor"]
    rows = rows[rows[:, names.index("part")] == part]
    rows = rows[airborne(log, rows[:, 0])]
    first_soft, first_hard, count = names.index("soft_x"), names.index("hard_x"), PART_VALUES[part]
    found = rows[:, first_soft : first_soft + count] - rows[:, first_hard : first_hard + count]
    return np.asarray(found[np.isfinite(found).all(axis=1)])


def airborne(log: Log, t_s: Array) -> Array:
    truth_s, height_m = log.column("truth", "t_s"), log.column("truth", "z_m")
    if not truth_s.size:
        return np.zeros(len(t_s), dtype=bool)
    return np.asarray(np.interp(t_s, truth_s, height_m) - height_m[0] > AIRBORNE_M)


def stale_samples(log: Log) -> float:
    flags = log.column("pose_sensor", "flags")
    return float(np.count_nonzero(flags.astype(int) & LOG_STALE))


def rises(values: Array) -> float:
    """How often a flag went from 0 to 1."""
    return float(np.count_nonzero(np.diff(values, prepend=0.0) > 0)) if values.size else math.nan


def cost_cycles(scenario: PoseScenario, log: Log) -> Array:
    """(sets, steps): instructions of the emulated processor, which has 2^shift ns for each."""
    seconds = log.rows["pose_cost"][:, 2:]
    return np.asarray(np.rint(seconds * 1e9 / 2**scenario.controller.emulator.shift))


def percentile(values: Array, share: float) -> float:
    return float(np.percentile(values, share)) if values.size else math.nan


def _named(name: str, statistic: str) -> str:
    what, _, unit = name.partition("_")
    if name.startswith("gnss_vel"):
        what, unit = "gnss_vel", "m_s"
    return f"{what}_{statistic}_{unit}"


assert len(NAMES) == len(PARTS)
