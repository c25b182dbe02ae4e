"""What summary.json says of a flight with a board and of no other."""

from __future__ import annotations

from typing import Any

from aeroloop.analysis import generic
from aeroloop.families.tiltrotor.analysis import board, timing
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log


def details(log: Log, scenario: TiltrotorScenario) -> dict[str, Any]:
    return {
        "timing": timing.timing(log),
        "board": board.statistics(log, scenario),
        "links": generic.links(log),
    }
