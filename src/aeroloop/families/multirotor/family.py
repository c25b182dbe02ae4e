"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="quadrotor",
    scenario="aeroloop.families.multirotor.scenario:QuadrotorScenario",
    offers="aeroloop.families.multirotor.fault_offers:offers",
    page="aeroloop.families.multirotor.page:PAGE",
)
