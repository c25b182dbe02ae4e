"""Preemptive against cooperative on the fixed wing's emulated board: one plan, in instruction-count time.

Everything here repeats to the nanosecond, so that one round is all there is.
"""

from __future__ import annotations

from aeroloop.families.fixedwing.images import scenario_of
from benchmarks.measure import Aim, Outcome, Row, row
from tools.wing_timing import Timing, compare, table

SHIFTS = (5, 8, 10)
"""31.25 million instructions a second, then nearer to the paper's computer: its planning time, and its routine load."""
SLICES_S = (0.010, 0.015, 0.020, 0.025)


def run(quick: bool) -> Outcome:
    outcome = Outcome()
    scenario = scenario_of()
    for shift in (8,) if quick else SHIFTS:
        preemptive, *cooperative = compare(scenario, (0.020,) if quick else SLICES_S, shift)
        at = f"{preemptive.mips:.3g} MIPS"
        expected = "W / (1 - U)"
        outcome.rows.append(
            row(f"{at}, preemptive, planning", "s", [preemptive.completion_s], expected, [preemptive.expected_s])
        )
        for one in cooperative:
            outcome.rows.append(_against(one, preemptive, f"{at}, slices of {one.slice_s * 1e3:.0f} ms, planning"))
        outcome.notes += table([preemptive, *cooperative]).splitlines()
    return outcome


def _against(cooperative: Timing, preemptive: Timing, what: str) -> Row:
    times = [cooperative.completion_s], "preemptive", [preemptive.completion_s]
    return row(what, "s", *times, Aim(1.0, at_least=True))
