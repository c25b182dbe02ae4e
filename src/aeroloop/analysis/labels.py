"""Labels for numbers in summaries that only some families have."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 5
TRACKING_NUMBERS = {
    "roll_rms_deg": "roll (deg)",
    "pitch_rms_deg": "pitch (deg)",
    "yaw_rms_deg": "yaw (deg)",
    "altitude_rms_m": "altitude (m)",
    "waypoint_rms_m": "waypoint (m)",
}
"""Table 3.5 of the thesis."""


BOARD_NUMBERS = {
    "cpu_use_mean_pct": ("processor use, mean (%)", 1.0),
    "cpu_use_max_pct": ("processor use, largest (%)", 1.0),
    "cpu_use_planning_pct": ("processor use while planning (%)", 1.0),
    "switches_per_s_mean": ("context switches, mean (1/s)", 1.0),
    "switches_per_s_max": ("context switches, most (1/s)", 1.0),
    "stack_used_B": ("stack used (B)", 1.0),
    "stack_size_B": ("stack size (B)", 1.0),
    "period_s": ("control period (ms)", 1e3),
    "worst_cycle_s": ("longest execution time of a cycle (ms)", 1e3),
    "worst_latency_s": ("longest time from sensors to servos (ms)", 1e3),
    "overruns": ("overruns", 1.0),
    "missed_cycles": ("missed control periods", 1.0),
}
"""Values that boards report, each some of them: title with unit, and the scale to that unit."""


def times(count: float) -> str:
    return f"{count:g} {'time' if count == 1 else 'times'}"


def first_few(items: Sequence[str]) -> str:
    return ", ".join(items[:FEW]) + (" and others" if len(items) > FEW else "")


def load_words(busy_processes: int | None) -> str:
    if not busy_processes:
        return "without"
    who = "process that loads one core fully" if busy_processes == 1 else "processes that load one core fully each"
    return f"with {busy_processes} {who}"
