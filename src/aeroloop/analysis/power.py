"""What the battery gave in a flight: numbers, alike for every aircraft that has one."""

from __future__ import annotations

from typing import Protocol

from aeroloop.analysis.statistics import Array, largest, last

JOULES_PER_WH = 3600.0
LESS_IS_WORSE = ("battery_voltage_min_V", "battery_charge_end")


class Flown(Protocol):
    """An aircraft's part of a log."""

    number: int

    def rows(self, stream: str, /) -> Array: ...
    def column(self, stream: str, field: str, /) -> Array: ...


def simulated(flight: Flown) -> bool:
    """Whether the flight has a simulated battery; older logs do not have the stream."""
    try:
        return len(flight.rows("power")) > 0
    except KeyError:
        return False


def power_metrics(flight: Flown) -> dict[str, float]:
    """None of these without a simulated battery."""
    if not simulated(flight):
        return {}
    energy_J = last(flight.column("power", "energy_J"))
    return {
        "energy_J": energy_J,
        "energy_Wh": energy_J / JOULES_PER_WH,
        "battery_used_Ah": last(flight.column("power", "used_Ah")),
        "battery_charge_end": last(flight.column("power", "charge")),
        "battery_voltage_min_V": -largest(-flight.column("power", "voltage_V")),
        "current_max_A": largest(flight.column("power", "current_A")),
    }
