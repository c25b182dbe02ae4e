"""Numbers of a flight's cameras, from the stream `camera`."""

from __future__ import annotations

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario
from aeroloop.recording.log import Log


def metrics(scenario: Scenario, log: Log) -> dict[str, float]:
    """Of all cameras together; none without cameras."""
    if not scenario.cameras:
        return {}
    rows = [frames_of(log, index) for index in range(len(scenario.cameras))]
    delivered = sum(len(own) for own in rows)
    late, dropped = sum(int(own[:, 0].sum()) for own in rows), sum(int(own[-1, 1]) for own in rows if len(own))
    work_s = np.concatenate([own[:, 2] for own in rows])
    return {
        "frames_delivered": float(delivered),
        "frames_late": float(late),
        "frames_dropped": float(dropped),
        "frames_behind_pct": 100.0 * (late + dropped) / (delivered + dropped) if delivered else float("nan"),
        "frame_work_mean_s": float(work_s.mean()) if len(work_s) else float("nan"),
    }


def frames_of(log: Log, index: int) -> Vec:
    """Late, dropped, work and age of one camera's frames."""
    rows = log.rows["camera"]
    column = log.columns["camera"].index
    own = rows[rows[:, column("camera")] == index]
    age_s = own[:, column("delivered_s")] - own[:, column("t_s")]
    return np.column_stack([own[:, column("late")], own[:, column("dropped")], own[:, column("work_s")], age_s])
