"""What the analysis of the fixed wing's flights is made of."""

from __future__ import annotations

from aeroloop.analysis.family import Analysis
from aeroloop.core.wing_signals import WING_TASKS
from aeroloop.families.fixedwing.analysis.metrics import metrics
from aeroloop.families.fixedwing.analysis.summary import details, events, tracks
from aeroloop.families.fixedwing.scenario import FixedWingScenario

ANALYSIS = Analysis[FixedWingScenario](
    metrics=metrics,
    never=("diverged", "ground_contacts"),
    details=details,
    events=events,
    tracks=tracks,
    command_caption="Surfaces in rad and throttle, 0 to 1, that the plant accepted from the board.",
    tasks=WING_TASKS,
)
