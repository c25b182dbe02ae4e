"""What the analysis of flights with autopilots is made of."""

from __future__ import annotations

from aeroloop.analysis.family import Analysis
from aeroloop.families.multirotor.analysis.metrics import metrics
from aeroloop.families.multirotor.analysis.summary import details, events, tracks
from aeroloop.families.multirotor.analysis.words import EVENT_VALUES
from aeroloop.families.multirotor.scenario import QuadrotorScenario

ANALYSIS = Analysis[QuadrotorScenario](
    metrics=metrics,
    never=("diverged", "autopilot_restarts", "actuators_refused"),
    details=details,
    events=events,
    tracks=tracks,
    command_caption="Commands to the motors, 0 to 1.",
    event_values=EVENT_VALUES,
)
