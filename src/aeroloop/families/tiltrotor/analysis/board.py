"""The board's own statistics over a flight: processor load, total and per task."""

from __future__ import annotations

from typing import Any

from aeroloop.analysis import board
from aeroloop.core.signals import TASKS
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log


def statistics(log: Log, scenario: TiltrotorScenario) -> dict[str, Any] | None:
    """The board's statistics over the flight; None of a board that sent none."""
    told = board.statistics(log, scenario, TASKS)
    return None if told is None else {**told, "period_s": scenario.controller.control.period_s}
