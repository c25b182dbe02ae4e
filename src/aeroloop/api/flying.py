"""One flight from its options to its run: the common part of `aeroloop fly` and `aeroloop.fly`.

The processes of a flight are started as separate programs, so that a script needs no `if __name__` guard, and a flight
may be started from a notebook or from any thread.
"""

from __future__ import annotations

import logging
import re
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from aeroloop.analysis.fleet import verify
from aeroloop.api.progress import bar
from aeroloop.api.run import Run
from aeroloop.api.scenarios import ScenarioPlan, law_override, named, overrides_of
from aeroloop.core.camera import address
from aeroloop.core.companion import landing_camera
from aeroloop.core.config import override
from aeroloop.core.errors import (
    EXIT_INTERRUPTED,
    EXIT_LINK,
    EXIT_TERMINATED,
    EXIT_USAGE,
    AeroloopError,
    ConfigError,
    LinkError,
    StorageError,
)
from aeroloop.core.fleet import Plan, parts_of
from aeroloop.core.fleet_files import controllers_of
from aeroloop.core.scenario import value_at
from aeroloop.core.trust import guarded
from aeroloop.core.view import FLIGHTGEAR_URL
from aeroloop.flight import results
from aeroloop.flight.judging import Judged, judge
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.flight.running import flight_id
from aeroloop.flight.supervisor import Flight, Progress
from aeroloop.links.url import parse
from aeroloop.world.object_kinds import names as object_names

SIGNALS = {EXIT_INTERRUPTED: signal.SIGINT, EXIT_TERMINATED: signal.SIGTERM}
"""The signal that interrupted a flight, by its exit code."""
VIEWS = {"flightgear": FLIGHTGEAR_URL}
"""Programs that show a flight, by the key of `[view]`, and their default addresses."""
LISTEN = "?listen"
GROUND_LINKS, ONBOARD_PORT = "autopilot.ground_links", 14540
"""Key of the autopilot's MAVLink links, and the port of its companion."""
LOOPBACK = ("127.0.0.1", "localhost")
RUNS = Path("runs")
"""Default folder of runs."""

logger = logging.getLogger("aeroloop")


@dataclass(frozen=True)
class Watcher:
    """Callbacks during the preparation and the flight."""

    prepared: Callable[[Flight], None] = lambda flight: None  # its processes can be started; none is running yet
    progress: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(lambda flown_s: None)  # in the air
    notice: Callable[[str], None] = logger.info  # messages to show at once, and remarks
    began: Callable[[LaunchSettings], None] = lambda launch: None  # the processes of a part run
    failed: Callable[[str], None] = lambda words: None  # why a flight failed, before its report is drawn


def fly(
    scenario: str | Path | Mapping[str, Any] | ScenarioPlan,
    *,
    loop: str | None = None,
    link: str | None = None,
    pace: str | None = None,
    seed: int | None = None,
    law: str | Path | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the command line's name
    view: str | None = None,
    companion: str | None = None,
    out: str | Path | None = None,
    progress: bool | Progress = False,
    trust: bool = False,
    paused: bool = False,
    began: Callable[[LaunchSettings], None] = lambda launch: None,
) -> Run:
    """Fly a scenario, evaluate its checks, and write log and summary; `Run.report` writes the report.

    Arguments have the names and meanings of `aeroloop fly`. `scenario`: a name, a .toml file, a table, or what
    `aeroloop.scenario` gives. `set`: values of its keys by their dotted names. `view`: "flightgear". `companion`: "tcp://HOST:PORT",
    where the frames are for a companion outside. `out`: a folder
    that does not exist yet. `progress`: a bar on standard error, or a function of the simulated time in s. `trust`:
    execute Python files that the scenario file names (`law_file`, a family's folder) also if they are of foreign origin
    (`core/trust.py`). `paused`: simulated time stands still at the start until the user lets it go on; `aeroloop.start`
    gives a flight that can be paused, stepped and changed. `began` is called for each part once its processes run.

    A flight that cannot start raises ConfigError or LinkError. One that was aborted in the air is a run with its
    `error`, which did not pass. Ctrl-C ends an open-ended flight, which is judged; any other is ended and written down,
    then the signal is raised again for the caller. A second Ctrl-C aborts.
    """
    try:
        with guarded(trust=trust):
            asked = named(scenario).changed(overrides_of(set or {}))
            plan = verified(
                choose(asked, loop=loop, link=link, pace=pace, seed=seed, law=law, view=view, companion=companion)
            )
            folder = Path(out) if out is not None else new_folder(plan)
            judged = carry_out(
                plan, folder, Watcher(progress=lambda: _told(plan, progress), began=began), paused=paused
            )
    except AeroloopError as error:
        _hand_on(error.exit_code)
        raise
    _hand_on(judged.exit_code)
    if judged.exit_code != judged.summary["exit_code"]:  # the flight has ended, and its results cannot be written
        raise StorageError(judged.errors[-1])
    return Run(judged.folder, judged.plan or plan, judged.summary, judged.remarks)


def choose(
    scenario: ScenarioPlan,
    *,
    loop: str | None = None,
    link: str | None = None,
    pace: str | None = None,
    seed: int | None = None,
    law: str | Path | None = None,
    view: str | None = None,
    companion: str | None = None,
    watched: bool = False,
) -> ScenarioPlan:
    """A scenario with the options of a flight; ConfigError names what does not match. If `watched`, with a companion
    outside, or with a controller that has its own clock, it flies in real time unless `pace` is given."""
    if companion is not None:
        scenario = with_companion(scenario, companion)
    rung = () if loop is None else (override("loop", loop),)
    controllers = controllers_of(scenario.path, (*scenario.changes, *rung), scenario.table)
    if view not in (None, *VIEWS):
        raise ConfigError(f"--view: expected {' or '.join(VIEWS)}, not {view!r}")
    if pace is None and (watched or view or any(loop in controller.own_clock for controller in controllers)):
        pace = "real"
    if law is not None and len(controllers) > 1:
        key = controllers[0].law_key or "control.law_file"
        raise ConfigError(f"--law: several aircraft fly; expected --set aircraft[0].{key}=FILE for one of them")
    options = {"loop": loop, "link.url": link, "pace": pace, "seed": seed}
    given = (override(key, value) for key, value in options.items() if value is not None)
    chosen = scenario.changed((*given, *law_override(law, controllers[0])))
    if view is not None and not any(part.view.flightgear for part in parts_of(chosen.plan)):
        chosen = chosen.changed((override(f"view.{view}", VIEWS[view]),))
    return chosen


def with_companion(scenario: ScenarioPlan, url: str) -> ScenarioPlan:
    """A landing whose companion is outside of the flight: it gets the frames at `url`, and MAVLink on port 14540."""
    (own, *others), listen = parts_of(scenario.plan), f"{url.removesuffix(LISTEN)}{LISTEN}"
    try:
        host, _ = address(listen)
    except ValueError:
        raise ConfigError(
            f"--companion: expected tcp://HOST:PORT, for example tcp://0.0.0.0:5600, not {url!r}"
        ) from None
    index = None if own.landing is None else landing_camera(own.cameras, own.landing)
    if others or index is None:
        raise ConfigError(
            f"--companion: {scenario.name} is no landing with a camera; expected one aircraft with [landing] and "
            "[[cameras]], as in quad-landing"
        )
    changes = [
        override("pace", "real"),
        override("landing.use", "external"),
        override(f"cameras[{index}].link", listen),
    ]
    links = value_at(own, GROUND_LINKS)
    if links and host not in LOOPBACK:  # a board elsewhere: it cannot be reached before it was heard
        served = f"udp://{host}:{ONBOARD_PORT}{LISTEN}"
        mavlink = [served if parse(link).port == ONBOARD_PORT else link for link in links]
        changes.append(override(GROUND_LINKS, mavlink))
    return scenario.changed(tuple(changes))


def verified(scenario: ScenarioPlan) -> Plan:
    """A plan whose checks name metrics that there are, and whose aircraft start in free air; ConfigError else."""
    verify(scenario.plan)
    if not any(map(object_names, parts_of(scenario.plan))):
        return scenario.plan
    from aeroloop.flight.part import check_starts  # imports what flies

    try:
        check_starts(scenario.plan)
    except ConfigError as error:
        raise ConfigError(f"{scenario.path}: {error}") from None
    return scenario.plan


def carry_out(plan: Plan, folder: Path, watcher: Watcher, *, report: bool = False, paused: bool = False) -> Judged:
    """Fly a verified plan into a new folder, and evaluate its checks. A flight that never started raises its error and
    leaves no folder; one that was aborted leaves its log. `report`: draw it at once. `paused`: simulated time stands
    still until the user lets it go on.

    A flight that the user restarts is flown again, into another folder; the last one is judged for the caller.
    """
    while True:
        judged = _carried_out(plan, folder, watcher, report=report, paused=paused)
        if not judged.restarts:
            return judged
        folder, paused = beside(folder), False
        watcher.notice(f"restarted: the results of the next flight go to {folder}")


def _carried_out(plan: Plan, folder: Path, watcher: Watcher, *, report: bool, paused: bool) -> Judged:
    with Flight(plan, folder, paused=paused) as flight:  # building a missing firmware image takes seconds
        watcher.prepared(flight)
        results.make_folder(folder, plan)
        with watcher.progress() as progress:
            outcome = flight.fly(progress, lambda launch: _tell_where(launch, watcher), watcher.notice)
            if outcome.flown_s:  # a short flight ends before its first progress
                progress(outcome.flown_s)
    if not outcome.began:
        results.discard(folder, plan)
        raise _error(outcome.error or outcome.ended, outcome.exit_code)
    if outcome.changes:
        plan = results.with_changes(plan, outcome.changes)
        try:
            results.write_scenario(folder, plan)
            outcome.remarks.append(_repeated(plan, folder, len(outcome.changes)))
        except StorageError as error:
            outcome.remarks.append(f"the changes by hand are not recorded: {error}")
    if outcome.error:
        watcher.failed(outcome.error)
    for remark in outcome.remarks:
        watcher.notice(f"note: {remark}")
    if outcome.aborted:
        words = f"{outcome.ended}; for a report of what its log holds: aeroloop report {folder}"
        raise _error(words, outcome.exit_code)
    judged = judge(folder, plan, outcome, with_report=report and not outcome.restarts)
    judged.folder, judged.plan = folder, plan
    return judged


def _repeated(plan: Plan, folder: Path, count: int) -> str:
    """How a flight with changes by hand is repeated."""
    made = f"{count} {'change was' if count == 1 else 'changes were'} made by hand in flight"
    if plan.lockstep:
        return f"{made}; to repeat the flight with them: aeroloop fly {folder / results.SCENARIO}"
    return f"{made}; {folder / results.SCENARIO} has them with their times (only lockstep repeats to the bit)"


def _tell_where(launch: LaunchSettings, watcher: Watcher) -> None:
    watcher.began(launch)
    for sentence in launch.scenario.notices(launch, flight_id(launch)):
        watcher.notice(sentence)


def _error(text: str, exit_code: int) -> AeroloopError:
    kinds: dict[int, type[AeroloopError]] = {EXIT_USAGE: ConfigError, EXIT_LINK: LinkError}
    error = kinds.get(exit_code, AeroloopError)(text)
    error.exit_code = exit_code
    return error


def _hand_on(exit_code: int) -> None:
    """A signal that interrupted a flight is the caller's too: a loop of flights ends with Ctrl-C."""
    if exit_code in SIGNALS:
        signal.raise_signal(SIGNALS[exit_code])


def beside(folder: Path) -> Path:
    """A folder for a restarted flight."""
    match = re.fullmatch(r"(.*)-restart(\d+)", folder.name)
    stem, n = (match[1], int(match[2])) if match else (folder.name, 0)
    while True:
        n += 1
        if not (found := folder.with_name(f"{stem}-restart{n}")).exists():
            return found


_choosing = threading.Lock()
_chosen: set[Path] = set()


def new_folder(plan: Plan) -> Path:
    """In `runs`, by scenario, rung and time of day; no two flights of this process get the same."""
    stem = f"{RUNS}/{plan.name}-{plan.loop}-{datetime.now():%Y%m%d-%H%M%S}"
    with _choosing:
        folder, n = Path(stem), 1
        while folder.exists() or folder.absolute() in _chosen:
            n += 1
            folder = Path(f"{stem}-{n}")
        _chosen.add(folder.absolute())
    return folder


def _told(plan: Plan, progress: bool | Progress) -> AbstractContextManager[Progress]:
    """Destination of the progress of a flight."""
    if progress is True:
        return bar(plan)
    return nullcontext(progress if callable(progress) else lambda flown_s: None)
