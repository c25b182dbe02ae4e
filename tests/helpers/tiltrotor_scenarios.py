"""Scenarios of the tilt-rotor from the tables of a file, each already a struct."""

from __future__ import annotations

from typing import Any

from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core.scenario import Scenario
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, TiltrotorTables


def tiltrotor(**keys: Any) -> TiltrotorScenario:
    """Every key goes to its owner, as in a file."""
    aircraft, controller = (
        owner(**{key: keys.pop(key) for key in owner.__struct_fields__ if key in keys})
        for owner in (TiltrotorTables, RequestTables)
    )
    return Scenario(aircraft=aircraft, controller=controller, **keys)
