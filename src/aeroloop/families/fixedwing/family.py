"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="fixedwing",
    scenario="aeroloop.families.fixedwing.scenario:FixedWingScenario",
    offers="aeroloop.families.fixedwing.fault_offers:offers",
    page="aeroloop.families.fixedwing.page:PAGE",
)
