"""A log flown again in numbers, for JSON: None stands for what is not known."""

from __future__ import annotations

import math
from typing import Any

from aeroloop.flown.as_json import numbers as compared_numbers
from aeroloop.reflight.attitude_loops import acceleration_per_command
from aeroloop.reflight.fitted_airframe import as_table
from aeroloop.reflight.replay import Number, Replayed


def numbers(replayed: Replayed) -> dict[str, Any]:
    segment = replayed.whole.segment
    return {
        "log": replayed.log.name,
        "format": replayed.log.format,
        "vehicle": replayed.vehicle,
        "replay": replayed.replay,
        "loops": replayed.loops,
        "from_s": segment.start_s,
        "to_s": segment.end_s,
        "numbers": [_number(each) for each in replayed.numbers],
        "correlations": [
            {"numbers": [first, second], "correlation": value} for first, second, value in replayed.entangled
        ],
        "accel_per_command_rad_s2": list(acceleration_per_command(replayed.airframe, replayed.plant.inertia_kgm2)),
        "delay_s": replayed.plant.delay_s,
        "airframe": as_table(replayed),
        "parts": [{"role": half.role, **compared_numbers(half.comparison)} for half in replayed.halves],
        "remarks": list(replayed.remarks),
    }


def _number(each: Number) -> dict[str, Any]:
    fitted = each.fitted
    return {
        "name": fitted.name,
        "unit": fitted.unknown.unit,
        "value": fitted.value,
        "std": fitted.std,
        "relative_std": fitted.relative_std if math.isfinite(fitted.relative_std) else None,
        "before": fitted.before,
        "determined": fitted.determined,
        "of_flight": fitted.unknown.nuisance,
        "by": each.by,
    }
