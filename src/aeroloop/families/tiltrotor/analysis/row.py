"""What the analysis of the tilt-rotor's flights is made of."""

from __future__ import annotations

from aeroloop.analysis.family import Analysis
from aeroloop.core.signals import TASKS, Event, ResetCause
from aeroloop.families.tiltrotor.analysis.metrics import metrics
from aeroloop.families.tiltrotor.analysis.summary import details
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario

ANALYSIS = Analysis[TiltrotorScenario](
    metrics=metrics,
    never=("diverged", "overruns", "board_restarts"),
    details=details,
    command_caption="Thrusts in N and tilt torques in N m that the plant accepted from the board.",
    tasks=TASKS,
    event_values={Event.BOARD_RESTARTED.name: ResetCause},
)
