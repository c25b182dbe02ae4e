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
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from aeroloop.api.flying import Watcher, carry_out, verified
from aeroloop.api.scenarios import ScenarioPlan
from aeroloop.campaign import kept
from aeroloop.campaign.fault_columns import FaultColumns
from aeroloop.campaign.identity import edition_of, flight_key
from aeroloop.campaign.store import Outcome
from aeroloop.core.errors import (
    EXIT_CHECK_FAILED,
    EXIT_LINK,
    EXIT_OK,
    AeroloopError,
    ConfigError,
    LinkError,
    StorageError,
    not_written,
)
from aeroloop.core.fleet import Fleet, Plan
from aeroloop.core.paths import SCENARIOS, process_folder
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.results import read_log, summary_of
from aeroloop.recording.log import Log

INLINE_RUNGS = ("mil", "sil")
LINK, LIFE = "link", "life"
RESULTS = (EXIT_OK, EXIT_CHECK_FAILED)


class Task(msgspec.Struct, frozen=True):
    """A flight to be flown."""

    key: str
    path: str  # absolute, or within the folder of shipped scenarios
    changes: tuple[str, ...]
    edition: str
    table: dict[str, Any] | None = None  # of a scenario without a file
    fault_free: tuple[str, ...] | None = None  # of a sweep of faults: changes of the fault-free flight
    kept: str | None = None  # folder for what a flight leaves that could not be flown; on this machine


class Report(msgspec.Struct, frozen=True):
    """The end of a flight: its outcome, or why it could not be flown."""

    key: str
    outcome: Outcome | None = None
    why: str = ""
    exit_code: int = EXIT_OK


def fly(task: Task) -> Report:
    try:
        plan = verified(ScenarioPlan(SCENARIOS / task.path, task.changes, task.table))
        if edition_of(plan) != task.edition or flight_key(plan, task.edition) != task.key:
            raise ConfigError(f"{task.path}: this file, or one that it names, has changed since the campaign began")
        began_s = time.monotonic()
        summary, log = flown(plan, task.kept)
        wall_s = time.monotonic() - began_s
        if task.fault_free is not None and summary["exit_code"] in RESULTS:
            free = None if task.fault_free == task.changes else _fault_free(task).plan
            summary["metrics"] |= _columns.of(plan, (summary, log), task.fault_free, free)
    except AeroloopError as error:
        return Report(task.key, why=str(error), exit_code=error.exit_code)
    except OSError as error:
        return Report(task.key, why=str(not_written(error.filename or "a file", error)), exit_code=EXIT_LINK)
    except Exception as error:
        traceback.print_exc()
        kept.keep(task.kept, traceback.format_exc())
        return Report(task.key, why=f"{type(error).__name__}: {error}", exit_code=EXIT_LINK)
    if summary["exit_code"] not in RESULTS:
        why = str(summary["error"] or summary["ended"])
        return Report(task.key, why=why, exit_code=int(summary["exit_code"]))
    return Report(task.key, outcome_of(summary, wall_s))


def flown(plan: Plan, keep_in: str | None = None) -> tuple[dict[str, Any], Log]:
    """Fly it; its summary and its log."""
    if inlinable(plan):
        began_s = time.monotonic()
        flight = fly_inline(plan)
        return summary_of(plan, flight.logs[0], _outcome(flight.ended, time.monotonic() - began_s)), flight.logs[0]
    with process_folder("campaign") as folder:
        try:
            judged = carry_out(plan, folder / kept.RUN, Watcher(notice=lambda words: None))
        except AeroloopError as error:
            kept.keep(keep_in, str(error), folder / kept.RUN)
            raise
        if judged.exit_code != judged.summary["exit_code"]:  # it has ended, and its results could not be written
            raise StorageError(judged.errors[-1])
        log = read_log(folder / kept.RUN, plan)
        if judged.summary["exit_code"] not in RESULTS:
            kept.keep(keep_in, str(judged.summary["error"] or judged.summary["ended"]), folder / kept.RUN)
        return judged.summary, log


_columns = FaultColumns(flown)


def _fault_free(task: Task) -> ScenarioPlan:
    return ScenarioPlan(SCENARIOS / task.path, task.fault_free or (), task.table)


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
            link.send_bytes(encoded(fly(task)))


def encoded(report: Report) -> bytes:
    outcome = None if report.outcome is None else asdict(report.outcome)
    table = {"key": report.key, "outcome": outcome, "why": report.why, "exit_code": report.exit_code}
    return msgspec.json.encode(table)


def main(arguments: Sequence[str]) -> None:
    given = dict(argument.split("=") for argument in arguments if "=" in argument)
    os.dup2(2, 1)  # standard output belongs to the driver's results
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver ends its workers
    ends_with(int(given[LIFE]))
    serve(Connection(int(given[LINK])))


if __name__ == "__main__":
    main(sys.argv[1:])
