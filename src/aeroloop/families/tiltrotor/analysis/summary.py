"""What summary.json says of a flight with a board and of no other."""

from __future__ import annotations

from typing import Any

import numpy as np

from aeroloop.analysis.generic import counters
from aeroloop.analysis.statistics import FAULT_SWITCHED, event_name
from aeroloop.analysis.track import Track, angles, positions
from aeroloop.core.fault_offers import words
from aeroloop.families.tiltrotor.analysis import board, timing
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log

LINKS = {
    "board_link_at_plant": "plant_link",
    "board_link_at_board": "board_link",
    "reference_link": "reference_link",
}
COMMAND = ("thrust_right_N", "thrust_left_N", "torque_right_Nm", "torque_left_Nm")
"""What the board commands."""
SOURCES = {"plant": "plant_event", "board": "board_event"}


def details(log: Log, scenario: TiltrotorScenario) -> dict[str, Any]:
    return {
        "timing": timing.timing(log),
        "board": board.statistics(log, scenario),
        "links": {name: counters(log, stream) for name, stream in LINKS.items()},
    }


def events(log: Log) -> list[dict[str, Any]]:
    return [
        {"t_s": t_s, "source": source, "event": event_name(code), "value": value}
        for source, stream in SOURCES.items()
        for t_s, code, value in log.rows[stream].tolist()
    ] + [
        {"t_s": t_s, "source": "plant", "event": FAULT_SWITCHED, "value": words(row)}
        for t_s, *row in log.rows["plant_fault"].tolist()
    ]


def tracks(log: Log) -> list[Track]:
    return [
        Track(
            "",
            log.column("truth", "t_s"),
            positions(log, "truth"),
            angles(log, "truth"),
            log.column("reference", "t_s"),
            positions(log, "reference"),
            log.column("command", "t_s"),
            np.stack([log.column("command", field) for field in COMMAND], axis=1),
            COMMAND,
        )
    ]
