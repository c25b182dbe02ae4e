"""The planned flights of a campaign with `[[sweep]]`: its phases come from a fault-free flight, which is flown once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.campaign.definition import CampaignFile
from aeroloop.campaign.design import PlannedFlight, flights
from aeroloop.campaign.fault_columns import single
from aeroloop.campaign.fault_outcome import seen
from aeroloop.campaign.fault_sweep import FAULTS, Flight, possible, sweep_flights
from aeroloop.campaign.flight_phases import Stretch, phases
from aeroloop.campaign.identity import flight_key
from aeroloop.campaign.store import Store
from aeroloop.campaign.worker import flown
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError

PHASES_KEPT = "phases"
"""In the store: the key of the fault-free flight, and its phases."""


def planned(file: CampaignFile, store: Store, edition: str) -> list[PlannedFlight]:
    """All flights of the sweeps; ConfigError names the file and the key that is wrong."""
    try:
        scenario = single(file.scenario.plan)
        stretches = _phases(file, store, edition)
        if scenario.planned:
            raise ConfigError("scenario: plans faults of its own; expected one without, for a sweep")
        flight = Flight(stretches, scenario.aircraft.step_s, scenario.duration_s)
        return sweep_flights(file.definition, possible(scenario), flight)
    except ConfigError as error:
        raise ConfigError(f"{file.path}: {error}") from None


def fault_free(file: CampaignFile, values: Mapping[str, Any], seed: int) -> tuple[str, ...]:
    """The changes of the flight that one with faults is compared with."""
    return file.changes({key: value for key, value in values.items() if key != FAULTS}, seed)


def _phases(file: CampaignFile, store: Store, edition: str) -> list[Stretch]:
    first = next(flights(file.definition))
    plan = file.scenario.changed(fault_free(file, first.values, first.seed)).plan
    key = flight_key(plan, edition)
    kept = store.about.get(PHASES_KEPT)
    if kept is None or kept["key"] != key:
        summary, log = flown(plan)
        if summary["exit_code"] not in (EXIT_OK, EXIT_CHECK_FAILED):
            raise ConfigError(f"the fault-free flight could not be flown: {summary['error'] or summary['ended']}")
        one = seen(log, str(summary["ended"]))
        kept = {"key": key, "stretches": [list(each) for each in phases(one.t_s, one.pos_W, one.vel_W)]}
        store.keep({PHASES_KEPT: kept})
    return stretches_of(kept)


def stretches_of(kept: Mapping[str, Any] | None) -> list[Stretch]:
    return [
        Stretch(str(phase), float(start_s), float(end_s)) for phase, start_s, end_s in (kept or {}).get("stretches", ())
    ]
