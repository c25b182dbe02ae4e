"""A worker of a campaign: one process that flies one flight after another, and reports each over a socket.

Nothing is drawn and nothing is compiled here. A flight whose controller can run in the plant's process is flown within
this one, with the same log hash as with separate processes; any other flies with its processes into a folder that is
removed after it. The worker is the leader of its process group, which the driver kills at the wall limit, and the
kernel kills when the driver ends. Run as `python -m aeroloop.campaign.worker - link=FD life=FD`.
"""

from __future__ import annotations

import fcntl
import os
import platform
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.api.flying import Watcher, carry_out, verified
from aeroloop.api.scenarios import ScenarioPlan
from aeroloop.campaign.identity import edition_of
from aeroloop.campaign.store import Outcome
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_OK, AeroloopError, ConfigError, LinkError
from aeroloop.core.fleet import Fleet, Plan
from aeroloop.core.paths import runtime_dir
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.results import summary_of

INLINE_RUNGS = ("mil", "sil")
LINK, LIFE = "link", "life"
RESULTS = (EXIT_OK, EXIT_CHECK_FAILED)


class Task(msgspec.Struct, frozen=True):
    """A flight to be flown."""

    key: str
    path: str
    changes: tuple[str, ...]
    edition: str
    table: dict[str, Any] | None = None  # of a scenario without a file


class Report(msgspec.Struct, frozen=True):
    """The end of a flight: its outcome, or why it could not be flown."""

    key: str
    outcome: Outcome | None = None
    why: str = ""
    exit_code: int = EXIT_OK


def fly(task: Task) -> Report:
    try:
        plan = verified(ScenarioPlan(Path(task.path), task.changes, task.table))
        if edition_of(plan) != task.edition:
            raise ConfigError("a file of the scenario was changed while the campaign ran; run the campaign again")
        began_s = time.monotonic()
        summary = summary_of_flight(plan)
        wall_s = time.monotonic() - began_s
    except AeroloopError as error:
        return Report(task.key, why=str(error), exit_code=error.exit_code)
    except Exception as error:
        traceback.print_exc()
        return Report(task.key, why=f"{type(error).__name__}: {error}", exit_code=EXIT_LINK)
    if summary["exit_code"] not in RESULTS:
        why = str(summary["error"] or summary["ended"])
        return Report(task.key, why=why, exit_code=int(summary["exit_code"]))
    return Report(task.key, outcome_of(summary, wall_s))


def summary_of_flight(plan: Plan) -> dict[str, Any]:
    if inlinable(plan):
        began_s = time.monotonic()
        flight = fly_inline(plan)
        return summary_of(plan, flight.logs[0], _outcome(flight.ended, time.monotonic() - began_s))
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=runtime_dir()) as folder:
        return carry_out(plan, Path(folder) / "run", Watcher(notice=lambda words: None)).summary


def _outcome(ended: str, wall_s: float) -> Mapping[str, Any]:
    return {"ended": ended, "wall_s": wall_s, "exit_code": EXIT_OK, "error": None}


def inlinable(plan: Plan) -> bool:
    """Whether plant and controller can share a process: one aircraft, a law on the host, no cameras."""
    if isinstance(plan, Fleet) or plan.loop not in INLINE_RUNGS or not plan.flown_by.inline:
        return False
    return not plan.cameras and not plan.controller.link_routed


def outcome_of(summary: Mapping[str, Any], wall_s: float) -> Outcome:
    return Outcome(
        verdict="passed" if summary["ok"] else "failed",
        exit_code=int(summary["exit_code"]),
        ended=str(summary["ended"]),
        wall_s=wall_s,
        host=platform.node(),
        log_sha256=str(summary["log_sha256"]),
        checks=tuple(dict(check) for check in summary["checks"]),
        metrics=dict(summary["metrics"]),
    )


def ends_with(life: int) -> None:
    """The kernel kills this process group when the driver's end of the socket closes, however the driver ended."""
    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([life], [], [], 0.0)[0]:
        raise LinkError("the driver of the campaign has ended")


def serve(link: Connection) -> None:
    """Until the driver closes the link."""
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = msgspec.json.decode(link.recv_bytes(), type=Task)
            link.send_bytes(msgspec.json.encode(asdict_report(fly(task))))


def asdict_report(report: Report) -> dict[str, Any]:
    outcome = None if report.outcome is None else asdict(report.outcome)
    return {"key": report.key, "outcome": outcome, "why": report.why, "exit_code": report.exit_code}


def main(arguments: Sequence[str]) -> None:
    given = dict(argument.split("=") for argument in arguments if "=" in argument)
    os.dup2(2, 1)  # standard output belongs to the driver's results
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends its workers
    ends_with(int(given[LIFE]))
    serve(Connection(int(given[LINK])))


if __name__ == "__main__":
    main(sys.argv[1:])
