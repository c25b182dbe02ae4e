"""From the log of a flight to its verdict: summary.json and report.html, also after errors and signals.

If the disk is full, files are missing but the verdict is still given. Ctrl-C or SIGTERM skips the report, which
`aeroloop report` can write later; a second signal skips the summary too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.core.errors import EXIT_INTERRUPTED, AeroloopError
from aeroloop.core.fleet import Plan
from aeroloop.flight import results, signals
from aeroloop.flight.supervisor import Outcome


@dataclass
class Judged:
    summary: dict[str, Any]
    exit_code: int
    report: Path | None = None
    # Why results could not be written; the flight's own reason is in summary.
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # of the outcome
    restarts: bool = False  # the user wants the same plan flown again
    folder: Path = Path()  # of the run
    plan: Plan | None = None  # as flown, with what was changed by hand


def judge(folder: Path, plan: Plan, outcome: Outcome, *, with_report: bool = True) -> Judged:
    """The verdict of a flight that has started."""
    with signals.noted(most=1) as came:
        log = results.read_log(folder, plan)
        summary = results.summary_of(plan, log, msgspec.to_builtins(outcome))
        judged = Judged(summary, summary["exit_code"], remarks=outcome.remarks, restarts=outcome.restarts)
        try:
            results.keep_summary(folder, summary)
        except AeroloopError as error:
            judged.errors.append(str(error))
            judged.exit_code = error.exit_code
    if came:
        judged.exit_code = signals.exit_code(came[0])
    elif with_report:
        try:
            judged.report = results.write_report(folder, plan, log, summary)
        except AeroloopError as error:
            judged.errors.append(str(error))
            judged.exit_code = error.exit_code
        except KeyboardInterrupt as interrupted:
            judged.exit_code = getattr(interrupted, "exit_code", EXIT_INTERRUPTED)
    return judged
