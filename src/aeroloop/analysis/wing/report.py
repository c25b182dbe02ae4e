"""The report of a fixed wing's flight: verdict, maps of every plan, statistics of the board, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aeroloop.analysis import page
from aeroloop.analysis.wing.maps import Ground, overview, plan_pictures
from aeroloop.analysis.wing.plots import board_figures, flight_pictures
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.streams import BY_NAME
from aeroloop.recording.log import Log

COUNTERS = BY_NAME["wing_link"].names[1:]
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


def write_report(
    path: Path,
    scenario: FixedWingScenario,
    log: Log,
    summary: Mapping[str, Any],
    *,
    ground: Ground,
    modes: str,
) -> None:
    """`modes`: the aircraft's linear modes as a table of text."""
    page.write(path, render(scenario, log, summary, ground=ground, modes=modes), "report")


def render(scenario: FixedWingScenario, log: Log, summary: Mapping[str, Any], *, ground: Ground, modes: str) -> str:
    """The page as text; equal input gives equal text. `summary` is what summary.json holds."""
    verdict_class, verdict = page.verdict(summary["exit_code"])
    return page.render(
        "wing_report.html.j2",
        scenario=scenario,
        several=False,
        summary=summary,
        verdict=verdict,
        verdict_class=verdict_class,
        timing={name: row for name, row in summary["timing"].items() if isinstance(row, dict)},
        counters=COUNTERS,
        processor=PROCESSOR,
        modes=modes,
        pictures=[
            overview(log, ground),
            *flight_pictures(log, height_m=scenario.mission.height_m, airspeed_m_s=scenario.mission.airspeed_m_s),
        ],
        plans=plan_pictures(log, ground),
        board_pictures=board_figures(log),
    )
