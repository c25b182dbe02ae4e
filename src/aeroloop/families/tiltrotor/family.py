"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="tiltrotor",
    scenario="aeroloop.core.scenario:TiltrotorScenario",
    offers="aeroloop.families.tiltrotor.fault_offers:offers",
    page="aeroloop.families.tiltrotor.page:PAGE",
)
