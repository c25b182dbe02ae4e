"""How a new path is joined to the current one, `planner.stitch`: by a transient B-spline against at a node.

The same flight with both, inline; it repeats exactly.
"""

from __future__ import annotations

from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.core.scenario import narrowed
from aeroloop.core.scenario_files import find, load
from aeroloop.families.fixedwing.analysis.metrics import metrics
from aeroloop.families.fixedwing.scenario import FixedWingTables
from aeroloop.flight.inline import fly_inline
from benchmarks.measure import Outcome, row

CASES = {
    "mil": ("fixedwing-hierarchical", ('loop="mil"',)),
    "sil": ("fixedwing-hierarchical", ('loop="sil"',)),
    "pil": ("fixedwing-hierarchical", ('loop="pil"',)),
    "paper": ("fixedwing-paper", ()),
}
QUICK = {"mil": ("fixedwing-hierarchical", ('loop="mil"', "seed=6", "duration_s=42", "mission.command_at_s=1"))}
ROWS = {
    "length of the path": ("path_length_m", "m"),
    "largest curvature": ("path_curvature_max_1_m", "1/m"),
    "cross-track RMS on channels": ("cross_track_rms_m", "m"),
    "cross-track RMS before and on joints": ("cross_track_transient_rms_m", "m"),
    "99th percentile of roll": ("roll_p99_deg", "deg"),
    "plans": ("plans", "plans"),
}
NOTED = (
    *("arrived", "arrived_at_s", "stitches_transient", "stitches_node", "roll_max_deg", "cross_track_max_m"),
    *("channel_margin_min_m", "outside_channel", "over_blocked_cells", "plans_failed"),
)


def run(quick: bool) -> Outcome:
    outcome = Outcome()
    for case, (scenario, settings) in (QUICK if quick else CASES).items():
        found = {
            stitch: _flown(scenario, (*settings, f'planner.stitch="{stitch}"')) for stitch in ("transient", "node")
        }
        for what, (name, unit) in ROWS.items():
            ours, peer = ([flight[name]] for flight in found.values())
            outcome.rows.append(row(f"{case}, {what}", unit, ours, "node", peer))
        for stitch, flight in found.items():
            outcome.notes.append(f"{case}, {stitch}: " + ", ".join(f"{name} {flight[name]:.6g}" for name in NOTED))
    return outcome


def _flown(name: str, settings: tuple[str, ...]) -> dict[str, float]:
    scenario = narrowed(load(find(name), ("checks=[]", *settings)), FixedWingTables, PeriodTables)
    assert scenario is not None
    return metrics(fly_inline(scenario).logs[0], scenario)
