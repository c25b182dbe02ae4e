"""The part of summary.json specific to flights with a board."""

from __future__ import annotations

from typing import Any

from aeroloop.analysis import generic
from aeroloop.analysis.family import Analysis
from aeroloop.core.signals import TASKS, Event, ResetCause
from aeroloop.families.tiltrotor.analysis import board, timing
from aeroloop.families.tiltrotor.analysis.metrics import metrics
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log


def details(log: Log, scenario: TiltrotorScenario) -> dict[str, Any]:
    return {
        "timing": timing.timing(log),
        "board": board.statistics(log, scenario),
        "links": generic.links(log),
    }


ANALYSIS = Analysis[TiltrotorScenario](
    metrics=metrics,
    never=("diverged", "overruns", "board_restarts"),
    details=details,
    command_caption="Thrusts in N and tilt torques in N m that the plant accepted from the board.",
    tasks=TASKS,
    event_values={Event.BOARD_RESTARTED.name: ResetCause},
)
