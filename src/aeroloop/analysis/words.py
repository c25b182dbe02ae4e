"""What the pages call the numbers of summaries that some families have and others lack."""

from __future__ import annotations

TRACKING_NUMBERS = {
    "roll_rms_deg": "roll (deg)",
    "pitch_rms_deg": "pitch (deg)",
    "yaw_rms_deg": "yaw (deg)",
    "altitude_rms_m": "altitude (m)",
    "waypoint_rms_m": "waypoint (m)",
}
"""Table 3.5 of the thesis."""


def load_words(busy_processes: int | None) -> str:
    if not busy_processes:
        return "without"
    who = "process that burns a core" if busy_processes == 1 else "processes that each burn a core"
    return f"with {busy_processes} {who}"
