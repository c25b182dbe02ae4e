"""Cost of soft sensors on the emulated Cortex-M4: cycles of a set of pose packets, against a control period at 168 MHz.

One cycle for each instruction; the numbers repeat exactly, so there is one round.
"""

from __future__ import annotations

from aeroloop.controllers.pose.metrics import CORE_HZ, COST_STEPS, cost_cycles
from aeroloop.core.scenario_files import find, load
from aeroloop.flight.inline import fly_inline
from benchmarks.measure import Outcome, row

MODES = {
    "exact, 108 bytes": (),
    "paper, 54 bytes": ("pose.format=paper", "pose.board=paper", "pose.reconstruction=paper"),
}


def run(quick: bool) -> Outcome:
    outcome, duration_s = Outcome(), 1.0 if quick else 10.0
    for mode, settings in MODES.items():
        fixed = ("loop=pil", f"duration_s={duration_s}", "checks=[]", "ground.takeoff_s=60")
        scenario = load(find("quad-pose"), (*fixed, *settings))
        log = fly_inline(scenario).logs[0]
        cycles = cost_cycles(scenario, log)  # type: ignore[arg-type]
        period = CORE_HZ * scenario.controller.control_period_s  # type: ignore[operator]
        for name, own in zip((*COST_STEPS, "all"), (*cycles.T, cycles.sum(axis=1)), strict=True):
            outcome.rows.append(row(f"{mode}, {name}", "cycles", [float(own.mean())], "a control period", [period]))
        largest = cycles.sum(axis=1).max()
        outcome.notes.append(f"{mode}: largest of all sets {largest:.0f} cycles, {100 * largest / period:.2f} %")
    return outcome
