"""The log of a flight whose plant was killed: the last rows of some streams are missing, and it has a summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aeroloop.core.errors import EXIT_LINK
from aeroloop.core.scenario_files import find, load
from aeroloop.flight import results
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

SCENARIOS = (
    *("tiltrotor-spiral", "quad-hover", "quad-law-hover", "fixedwing-loiter", "heli-hover", "rrr-square"),
    "check-case-1",
)
"""One of each family, and of each controller of the multirotors that keeps its own streams."""
FAILED = {"ended": "failed", "wall_s": 1.0, "exit_code": EXIT_LINK, "error": "the plant process was killed by SIGKILL"}


def cut(log: Log, stream: str, rows: int | None) -> Log:
    """With the first rows of one stream only."""
    return replace(log, rows={name: each[:rows] if name == stream else each for name, each in log.rows.items()})


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_log_that_lacks_rows_of_one_stream_has_a_summary(name: str) -> None:
    plan = load(find(name), ("duration_s=0.3", "checks=[]"))
    (log,) = fly_inline(plan).logs
    began = replace(log, rows={each: rows[: each == "truth"] for each, rows in log.rows.items()})
    assert results.summary_of(plan, began, FAILED)["ok"] is False
    for stream in (stream for stream, rows in log.rows.items() if len(rows)):
        for rows in (0, 1, -3):
            summary = results.summary_of(plan, cut(log, stream, rows), FAILED)
            assert (summary["ok"], summary["error"]) == (False, FAILED["error"]), (stream, rows)
