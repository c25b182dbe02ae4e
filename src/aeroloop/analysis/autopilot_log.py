"""What an autopilot over MAVLink did and reported in a flight, alike for every aircraft."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aeroloop.analysis.generic import SOURCES
from aeroloop.analysis.statistics import STATUS_TEXT, Array, last
from aeroloop.analysis.truth_log import TruthLog
from aeroloop.analysis.vehicle_log import event_values, happened
from aeroloop.core.signals import Event
from aeroloop.core.text_rows import text_of
from aeroloop.recording.log import Log


class AutopilotLog(TruthLog):
    """Signals of one aircraft that an autopilot flies."""

    @property
    def has_autopilot(self) -> bool:
        """Whether the autopilot reports its state; an external one may not."""
        return len(self.rows("autopilot_state")) > 0

    def state_at(self, field: str, t_s: Array) -> Array:
        """A field of `autopilot_state` at each time; NaN before the first row."""
        told_s, values = self.column("autopilot_state", "t_s"), self.column("autopilot_state", field)
        index = np.searchsorted(told_s, t_s, side="right") - 1
        if not values.size:
            return np.full(len(t_s), np.nan)
        return np.where(index >= 0, values[index], np.nan)


def autopilot_metrics(flight: AutopilotLog) -> dict[str, float]:
    return {
        "failsafes": failsafes(flight),
        "autopilot_restarts": happened(flight, Event.AUTOPILOT_RESTARTED),
        "autopilot_losses": happened(flight, Event.AUTOPILOT_LEFT),
        "actuators_refused": refused(flight),
        "commands_refused": sum(happened(flight, Event.COMMAND_REFUSED, stream) for stream in SOURCES),
        "armed_at_end": last(flight.column("autopilot_state", "armed")),
    }


def failsafes(flight: AutopilotLog) -> float:
    values = event_values(flight, Event.FAILSAFE, "board_event")
    return float(np.count_nonzero(values)) if flight.has_autopilot else math.nan  # 0: the failsafe has ended


def refused(flight: AutopilotLog) -> float:
    values = event_values(flight, Event.ACTUATORS_REFUSED)
    return float(max(values.size, np.max(values))) if values.size else 0.0  # an event counts those before it too


def status_texts(log: Log) -> list[dict[str, Any]]:
    """Its texts to the pilot, as events of the summary."""
    return [
        {"t_s": t_s, "source": "board", "vehicle": int(vehicle), "event": STATUS_TEXT, "value": text_of(numbers)}
        for t_s, vehicle, _, *numbers in log.rows["status_text"].tolist()
    ]
