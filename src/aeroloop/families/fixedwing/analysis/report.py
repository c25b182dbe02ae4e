"""The report's sections of a fixed wing's flight: remarks, plans and their maps, pictures, linear modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.delay_margin import margin_section
from aeroloop.analysis.labels import times
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Figures, Listing, Note, Section, Table, Text, bold, flight_sections
from aeroloop.families.fixedwing import airframe, modes
from aeroloop.families.fixedwing.analysis import claims, operator
from aeroloop.families.fixedwing.analysis.maps import PlanningTerrain, overview, plan_pictures, top_view
from aeroloop.families.fixedwing.analysis.plots import flight_pictures
from aeroloop.families.fixedwing.margin import delay_margin
from aeroloop.families.fixedwing.planning_map import ground_of as terrain_of
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import blocked_cells
from aeroloop.planning.elevation import Elevation
from aeroloop.recording.log import Log

PLAN_COLUMNS = (
    Column("Plan", "name"),
    Column("Requested at (s)"),
    Column("Took (s)"),
    Column("Result", "text"),
    Column("Leaves"),
    Column("Expanded"),
    Column("Cells on the path"),
    Column("Fine"),
    Column("Work (ms)"),
)
WORK_NOTE = (
    "Work is execution time of planner and path generation on the board, in instruction-count time; on sil that of "
    "board.piece_s for each piece, 0 on mil."
)
MARGIN_NOTE = (
    "Of the inner loops in straight and level flight, with servos, body rates as means over a period and otherwise "
    "exact estimation. Path following closes an outer loop that tolerates less delay: its adaptation takes delay for "
    "roll lag."
)


def sections(scenario: FixedWingScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    ground = ground_of(scenario)
    mission = scenario.aircraft.mission
    flight = flight_pictures(log, height_m=mission.height_m, airspeed_m_s=mission.airspeed_m_s)
    return [
        Section("verdict", "", _remarks(summary)),
        *flight_sections([overview(log, ground), top_view(log, mission.height_m), *flight]),
        *_maps(log, ground, summary["metrics"]),
        Section("plans-table", "Path plans", _plans(summary["plans"])),
        *operator.sections(log, scenario),
        margin_section(
            delay_margin(scenario),
            diverged=bool(summary["metrics"]["diverged"]),
            where="straight and level flight",
            note=MARGIN_NOTE,
        ),
        Section("modes", "Linear modes of the aircraft", [Listing(modes_of(scenario))]),
        *claims.sections(scenario, log, summary.get("board")),
    ]


def ground_of(scenario: FixedWingScenario) -> PlanningTerrain:
    """The terrain, and the cells that its planner blocked."""
    planner, ground = planner_of(scenario), terrain_of(scenario.aircraft.world.terrain)
    return PlanningTerrain(Elevation(ground.values, ground.unit_m), planner.settings, blocked_cells(planner))


def modes_of(scenario: FixedWingScenario) -> str:
    return modes.table(airframe.load(scenario.aircraft.vehicle.airframe), scenario.aircraft.mission.airspeed_m_s)


def _remarks(summary: Mapping[str, Any]) -> list[Block]:
    metrics = summary["metrics"]
    remarks: list[Block] = []
    if not summary["plans"]:
        remarks.append(Text("No plan was requested."))
    elif not metrics["arrived"]:
        stranded = f" The aircraft was stranded {times(metrics['stranded'])} and loitered until the next attempt."
        remarks.append(Text(bold("The goal was not reached.") + (stranded if metrics["stranded"] else "")))
    if metrics["plans_failed"]:
        failed = f" {number(metrics['plans_failed'])} of {number(metrics['plans'])} searches found no path."
        remarks.append(Text(bold("Plans:") + failed))
    return remarks


def _plans(plans: list[dict[str, Any]]) -> list[Block]:
    rows = [
        (
            str(plan["plan"]),
            number(plan["began_s"], digits=6),
            number(round(plan["took_s"], 3)),
            (plan["why"] or plan["status"].replace("_", " ").lower())
            + (", to the goal" if plan["reaches_goal"] else ""),
            *(str(plan[key]) for key in ("leaves", "expanded", "cells", "fine")),
            number(plan["work_s"], scale=1000),
        )
        for plan in plans
    ]
    return [Table(PLAN_COLUMNS, rows), Note(WORK_NOTE)] if rows else [Note("No plan was requested.")]


def _maps(log: Log, ground: PlanningTerrain, metrics: Mapping[str, Any]) -> list[Section]:
    drawn = plan_pictures(log, ground)
    if not drawn:
        return []
    some = f"{len(drawn)} of {number(metrics['plans'])} plans, spread over the flight."
    notes = [Note(some)] if len(drawn) < metrics["plans"] else []
    return [Section("plans", "Map at each plan", [*notes, Figures(drawn)])]
