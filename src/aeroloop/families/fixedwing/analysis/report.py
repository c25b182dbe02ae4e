"""The report of a fixed wing's flight: verdict, maps of every plan, statistics of the board, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aeroloop.analysis import page
from aeroloop.families.fixedwing import airframe, modes
from aeroloop.families.fixedwing.analysis.maps import Ground, overview, plan_pictures
from aeroloop.families.fixedwing.analysis.plots import board_figures, flight_pictures
from aeroloop.families.fixedwing.places import blocked_cells, planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.recording.log import Log

TEMPLATES = Path(__file__).parent
PROCESSOR = {
    "instructions_per_s": "instructions per second",
    "cpu_use_mean_pct": "processor use, mean (%)",
    "cpu_use_planning_pct": "processor use while planning (%)",
    "switches_per_s_mean": "context switches per second, mean",
    "stack_used_B": "stack used (B)",
    "stack_size_B": "stack there is (B)",
    "missed_cycles": "missed control periods",
    "worst_latency_s": "longest time from sensors to servos (s)",
}


def render_flight(scenario: FixedWingScenario, log: Log, summary: Mapping[str, Any]) -> str:
    """With the map that its planner had, and the linear modes of its airframe."""
    planner = planner_of(scenario)
    ground = Ground(planner.elevation, planner.settings, blocked_cells(planner))
    table = modes.table(airframe.load(scenario.aircraft.vehicle.airframe), scenario.aircraft.mission.airspeed_m_s)
    return render(scenario, log, summary, ground=ground, modes_table=table)


def render(
    scenario: FixedWingScenario, log: Log, summary: Mapping[str, Any], *, ground: Ground, modes_table: str
) -> str:
    """The page as text; equal input gives equal text. `summary` is what summary.json holds."""
    verdict_class, verdict = page.verdict(summary["exit_code"])
    return page.render(
        "report.html.j2",
        TEMPLATES,
        scenario=scenario,
        several=False,
        summary=summary,
        verdict=verdict,
        verdict_class=verdict_class,
        timing={name: row for name, row in summary["timing"].items() if isinstance(row, dict)},
        counters=log.columns["wing_link"][1:],
        processor=PROCESSOR,
        modes=modes_table,
        pictures=[
            overview(log, ground),
            *flight_pictures(
                log, height_m=scenario.aircraft.mission.height_m, airspeed_m_s=scenario.aircraft.mission.airspeed_m_s
            ),
        ],
        plans=plan_pictures(log, ground),
        board_pictures=board_figures(log),
    )
