"""The supervisor: starts the processes of a scenario, monitors them, and ends them.

In every case (end of the flight, Ctrl-C, SIGTERM, a child that dies, a lost link) all processes end within a few
seconds, the log is complete up to that time, and the outcome gives the reason. Only a recorder that still has rows to
write may take longer.

Ctrl-C or SIGTERM in flight requests the plant to end the flight, as `aeroloop cmd end` does; a second one aborts: every
process is killed. Signals are recorded by their handler and checked in the loops here, so that none interrupts a
clean-up.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.core.errors import EXIT_OK, AeroloopError, ConfigError, LinkError
from aeroloop.core.fleet import Fleet, Plan, part_key, parts_of, prefix
from aeroloop.core.paths import runtime_dir
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import Role
from aeroloop.flight import forked, process_table, signals
from aeroloop.flight.child import RECORDER_GRACE_S, Child
from aeroloop.flight.live_control import ENDED
from aeroloop.flight.process_table import Process
from aeroloop.flight.processes.common import LAUNCH_FILE, LaunchSettings, read_supervisor_pid
from aeroloop.flight.results import LOG
from aeroloop.flight.signals import Interrupted
from aeroloop.realtime.controls import Controls
from aeroloop.realtime.limits import lacking_words, raise_open_files
from aeroloop.realtime.topics import sweep

STARTUP_TIMEOUT_S = 60.0
GRACE_S = 0.6
"""Time for plant, board and ground to end by themselves before they are killed."""
BLAME_S = 0.2
"""Time after a failure to receive the other processes' messages before the cause is named."""
END_S = 2.0
"""Time for the plant to end the flight on request: one that waits for its board cannot."""


@dataclass
class Outcome:
    ended: str
    began: bool = False
    aborted: bool = False  # its processes were killed: missing rows are not waited for
    wall_s: float = 0.0
    flown_s: float = 0.0  # simulated time that the log has
    exit_code: int = EXIT_OK
    error: str | None = None
    remarks: list[str] = field(default_factory=list)
    # Faults and changes by hand, in order: part of the flight, and the entry of its scenario (`live_control.recorded`).
    changes: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def restarts(self) -> bool:
        """The user wants the same plan flown again."""
        return self.ended == ENDED["restart"]


Progress = Callable[[float], None]
"""Called with the simulated time reached, in s."""


class Flight:
    """One flight from start to end; use it as a context manager."""

    def __init__(self, plan: Plan, out: Path, *, paused: bool = False) -> None:
        """`paused`: simulated time stands still at the start until the user lets it go on."""
        self.plan, self._paused = plan, paused
        # Each part of a fleet has a folder, whose name is no longer than that of a single flight.
        drawn = secrets.token_hex(4)
        ids = [f"{drawn[:6]}-{n}" for n in range(len(parts_of(plan)))] if isinstance(plan, Fleet) else [drawn]
        self.id = ids[0]
        self._folders = [runtime_dir() / f"flight-{each}" for each in ids]
        self._core_draw = int(drawn, 16)
        self._out = out
        self._children: dict[str, Child] = {}
        # Of processes that may be started again: their peers do not see that one has ended.
        self._kept_ends: dict[str, dict[str, socket.socket]] = {}
        self._signals: list[int] = []  # received signals, in order
        self._end_by_s: float | None = None  # deadline of the plant for a requested end of the flight
        self._outcome: Outcome | None = None
        if server := forked.server():
            server.load(process_table.modules(plan))
        _clear_away_dead_flights()
        self.launch = self._write_orders()

    def __enter__(self) -> Flight:
        return self

    def __exit__(self, *_: object) -> None:
        with signals.noted() as came:
            self._clean_up()
        self._count(came)

    def _count(self, came: Sequence[int]) -> None:
        """Signals during the clean-up: the flight keeps its verdict, and the program ends with their exit code."""
        if came and self._outcome is not None and self._outcome.exit_code == EXIT_OK:
            self._outcome.exit_code = signals.exit_code(came[0])

    def _clean_up(self) -> None:
        """May be called twice."""
        self._take_down()
        for child in self._children.values():
            child.line.close()
        for folder in self._folders:
            sweep(folder)
            shutil.rmtree(folder, ignore_errors=True)

    def fly(
        self,
        progress: Progress,
        ready: Callable[[LaunchSettings], None] = lambda _: None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> Outcome:
        """`notice` is for messages that are shown at once; remarks are part of the outcome."""
        with signals.noted() as self._signals:
            try:
                self._outcome = self._flown(progress, ready, notice)
            finally:
                before = len(self._signals)
                self._clean_up()
            self._count(self._signals[before:])
        return self._outcome

    def _flown(
        self, progress: Progress, ready: Callable[[LaunchSettings], None], notice: Callable[[str], None]
    ) -> Outcome:
        outcome = Outcome("failed")
        try:
            self._start()
            outcome.began = True
            for launch in self.launch:
                ready(launch)
            outcome.ended = self._watch(progress, notice)
        except Interrupted as interrupted:
            outcome.ended = f"interrupted by {interrupted}"
            outcome.exit_code = interrupted.exit_code
        except AeroloopError as error:
            outcome.error, outcome.exit_code = str(error), error.exit_code
        finally:
            self._take_down()
        if self._signals and outcome.exit_code == EXIT_OK and not (self._end_requested and self.plan.open_ended):
            outcome.exit_code = signals.exit_code(self._signals[0])
        if self._aborted:
            outcome.aborted, outcome.exit_code = True, signals.exit_code(self._signals[-1])
            outcome.ended = f"aborted by {signal.Signals(self._signals[-1]).name}"
        done = self._children["plant"].received("done") if "plant" in self._children else None
        outcome.wall_s = done["wall_s"] if done else 0.0
        recorder = self._children.get("recorder")
        written = recorder.received("done") if recorder else None
        outcome.flown_s = written["flown_s"] if written else 0.0
        lost = recorder.verdict() if recorder else None
        if lost and outcome.exit_code == EXIT_OK:
            outcome.error, outcome.exit_code = str(lost), lost.exit_code
        if done and not lost:
            for part in parts_of(self.plan):
                for words in part.controller.log_complete(part):
                    notice(words)
        for child in self._children.values():
            accounted = child.missed or child.killed or child.received("done") is not None
            if child.role.ends_by_recorder and not accounted and (failure := child.verdict()):
                words = f"{failure}: the log lacks its last {child.role.without}"
                child.messages.append({"kind": "remark", "message": words})
        plant = self._children.get("plant")
        outcome.changes = [(told["part"], told["entry"]) for told in plant.taken("changed")] if plant else []
        outcome.remarks = [
            message["message"]
            for child in self._children.values()
            for message in child.messages
            if message["kind"] == "remark"
        ]
        return outcome

    def _write_orders(self) -> tuple[LaunchSettings, ...]:
        """Of each part."""
        parts, folders = parts_of(self.plan), self._folders
        settings = [self._settings(part, folder) for part, folder in zip(parts, folders, strict=True)]
        process_table.check_links(settings)
        written: list[LaunchSettings] = []
        for part, folder, own in zip(parts, folders, settings, strict=True):
            launch = LaunchSettings(
                scenario=part,
                folder=str(folder),
                log=str(self._out.resolve() / LOG),
                supervisor_pid=os.getpid(),
                core_draw=self._core_draw,
                prefix=prefix(self.plan, part),
                parts=[str(each) for each in folders] if isinstance(self.plan, Fleet) else (),
                aircraft_before=sum(each.scenario.aircraft.count for each in written),
                paused=self._paused,
                **own,
            )
            try:
                folder.mkdir(mode=0o700)
                # Written by renaming: other programs find the flight by this file, which must be complete.
                draft = folder / "launch.draft"
                draft.write_bytes(launch.encode())
                draft.rename(folder / LAUNCH_FILE)
            except OSError as error:
                for each in folders:
                    shutil.rmtree(each, ignore_errors=True)
                raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from None
            written.append(launch)
        return tuple(written)

    def _settings(self, part: Scenario, folder: Path) -> dict[str, Any]:
        try:
            return process_table.launch_settings(part, folder)
        except ConfigError as error:
            if not isinstance(self.plan, Fleet):
                raise
            raise ConfigError(f"{part_key(self.plan, part)}.{error}") from None

    def _start(self) -> None:
        processes = process_table.processes(self.plan)
        roles = tuple(process.role for process in processes)
        raise_open_files()
        try:
            with ExitStack() as open_ends:
                batons = _batons(roles, open_ends)
                for process in processes:
                    name, ends = process.role.name, batons[process.role.name]
                    self._children[name] = self._spawn(process, ends)
                    if process.role.restarts:
                        self._kept_ends[name] = {peer: end.dup() for peer, end in ends.items()}
        except OSError as error:
            raise LinkError(f"the flight cannot be started: {error.strerror}: {lacking_words()}") from None
        for role in roles:
            child = self._children[role.name]
            child.send("open")
            self._await(child, "ready")
        recorder = self._children["recorder"]
        recorder.send("start")
        self._await(recorder, "begun")  # connected to all that publish: rows of a process that ends at once are kept
        for child in self._children.values():
            if child is not recorder:
                child.send("start")

    def _spawn(self, launched: Process, ends: Mapping[str, socket.socket]) -> Child:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = forked.start(
                launched.role,
                str(self._folders[launched.part or 0] / LAUNCH_FILE),
                [("", theirs.fileno())]
                + [(peer.removeprefix(launched.prefix), end.fileno()) for peer, end in ends.items()],
            )
        return Child(launched, process, ours)

    def _await(self, child: Child, word: str) -> None:
        deadline_s = time.monotonic() + STARTUP_TIMEOUT_S
        while child.received(word) is None:
            self._listen(0.1)
            self._raise_failure()
            if child.process.poll() is not None and child.received(word) is None:
                raise LinkError(f"the {child.role.name} process ended before the flight began")
            if time.monotonic() > deadline_s:
                raise LinkError(f"the {child.role.name} process was not ready within {STARTUP_TIMEOUT_S:g} s")

    def _watch(self, progress: Progress, notice: Callable[[str], None]) -> str:
        """Run until the plant is done or a process fails."""
        plant = self._children["plant"]
        while True:
            self._listen(0.1)
            for child in self._children.values():
                for message in child.taken("notice"):
                    notice(message["message"])
            recorded = self._children["recorder"].received("progress")
            if recorded:
                progress(recorded["flown_s"])
            self._start_again()
            if done := plant.received("done"):
                self._miss(notice, [child for child in self._children.values() if child.role.ends_by_recorder])
                if any(child.ready_by_s is not None and not child.missed for child in self._children.values()):
                    continue  # started again, it still has frames to make
                return str(done["ended"])
            if self._end_by_s is not None and time.monotonic() > self._end_by_s:
                return ENDED[signals.ender(self._signals[0])]  # it may wait for its board without end
            for message in plant.taken("left"):
                self._part_left(message["part"])
            for message in plant.taken("kill"):
                self._kill(message["process"], notice)
            self._miss(notice, self._children.values())
            self._raise_failure(vital_alone=True)

    def _kill(self, name: str, notice: Callable[[str], None]) -> None:
        """On a user's request; what follows is as if it had died by itself."""
        child = self._children.get(name)
        if child is None or child.role.vital:
            notice(f"{name!r}: not killed; expected a process of this flight that it can do without")
        else:
            child.process.kill()

    def _part_left(self, part: int) -> None:
        """At a wall-clock pace a board would continue without its plant, and log the effects."""
        gone = [child for child in self._children.values() if child.launched.part == part]
        for child in gone:
            child.left = True
        self._end(gone, GRACE_S)

    def _listen(self, timeout_s: float) -> None:
        alive = [child.line for child in self._children.values() if child.process.poll() is None]
        if alive:
            select.select(alive, [], [], timeout_s)
        for child in self._children.values():  # one that has just ended may have reported why, or that it is done
            child.listen()
        self._handle_signals()

    @property
    def _aborted(self) -> bool:
        """A second signal: abort without waiting."""
        return len(self._signals) > 1

    @property
    def _end_requested(self) -> bool:
        return self._end_by_s is not None

    def _handle_signals(self) -> None:
        """The first signal in flight requests the plant to end it; before the flight, and any further one, it
        interrupts."""
        if not self._signals or (self._end_requested and not self._aborted):
            return
        plant = self._children.get("plant")
        if self._aborted or plant is None or plant.received("flying") is None:
            raise Interrupted(self._signals[-1])
        self._end_by_s = time.monotonic() + END_S
        with suppress(LinkError):  # it has just ended, which the loop detects
            Controls(self._folders[0]).end(signals.ender(self._signals[0]))

    def _miss(self, notice: Callable[[str], None], children: Iterable[Child]) -> None:
        """A process has ended without which the flight continues: start it again, or report at once, and in the
        outcome, that it is missing."""
        for child in list(children):
            if child.role.vital or child.missed or child.left or not (error := child.verdict(flying=True)):
                continue
            if child.restarts < child.role.restarts and self._restart(child, f"{error}: it is started again"):
                notice(f"{error}: it is started again")
                continue
            child.missed = True
            self._let_go(child.role.name)
            words = f"{error}: the flight continues without {child.role.without}"
            child.messages.append({"kind": "remark", "message": words})
            notice(words)

    def _restart(self, child: Child, words: str) -> bool:
        """The flight does not wait until it is ready."""
        try:
            again = self._spawn(child.launched, self._kept_ends[child.role.name])
        except OSError:
            return False
        child.line.close()
        again.messages = [*child.taken("remark"), {"kind": "remark", "message": words}]
        again.restarts, again.ready_by_s = child.restarts + 1, time.monotonic() + STARTUP_TIMEOUT_S
        self._children[child.role.name] = again
        again.send("open")
        return True

    def _start_again(self) -> None:
        """Processes that were started again: those that are ready."""
        for child in self._children.values():
            if child.ready_by_s is None:
                continue
            if child.received("ready"):
                child.ready_by_s = None
                child.send("start")
            elif time.monotonic() > child.ready_by_s:
                child.process.kill()

    def _let_go(self, name: str) -> None:
        """The peers of a process that is not started again see that it has ended."""
        for end in self._kept_ends.pop(name, {}).values():
            end.close()

    def _raise_failure(self, *, vital_alone: bool = False) -> None:
        """Name the cause: a process that was killed, else the one that failed first; the others report its effects.
        A flight starts only with all of its processes; once started, it ends only with a vital one."""
        vital = [child for child in self._children.values() if child.role.vital or not vital_alone]
        if not any(child.verdict(flying=True) for child in vital):
            return
        deadline_s = time.monotonic() + BLAME_S
        while time.monotonic() < deadline_s:
            for child in self._children.values():
                child.listen()
            if self._children.get("plant") and self._children["plant"].received("done"):
                return  # the flight had ended: the others reported that
            time.sleep(0.01)
        failures = [(child.failed_at_ns, error) for child in vital if (error := child.verdict(flying=True))]
        raise min(failures, key=lambda failure: failure[0])[1]

    def _take_down(self) -> None:
        """End the recorder when nothing more can arrive. A plant that has completed its flight ends last: PX4 spins at
        full speed once its link is closed, and would take processor time from processes that still write."""
        for name in list(self._kept_ends):
            self._let_go(name)
        plant, recorder = self._children.get("plant"), self._children.get("recorder")
        last = plant if plant is not None and plant.received("done") else None
        fed = [child for child in self._children.values() if child.role.ends_by_recorder]
        # A router that holds an autopilot's link writes its last rows on request, and keeps the link open.
        holders = [child for child in self._children.values() if last is not None and child.role.holds_link]
        for child in holders:
            child.process.terminate()
        others = [child for child in self._children.values() if child not in (recorder, last, *fed, *holders)]
        self._end(others, GRACE_S)
        self._await_done(holders)
        if recorder is not None:
            self._end([recorder], RECORDER_GRACE_S, progress=self._log_bytes)
        self._end(fed, GRACE_S)
        if last is not None:
            for child in (*holders, last):
                child.send("close")
            self._end([*holders, last], GRACE_S, terminate=False)

    def _await_done(self, children: list[Child]) -> None:
        deadline_s = time.monotonic() + GRACE_S
        for child in children:
            while child.received("done") is None and child.process.poll() is None and time.monotonic() < deadline_s:
                child.listen()
                time.sleep(0.005)

    def _log_bytes(self) -> int:
        """Progress of the log; a recorder that closes it reports no more rows."""
        try:
            return (self._out / LOG).stat().st_size
        except OSError:
            return 0

    def _end(
        self,
        children: list[Child],
        grace_s: float,
        *,
        terminate: bool = True,
        progress: Callable[[], int] = lambda: 0,
    ) -> None:
        """Wait for processes that make progress; one without progress for `grace_s` is killed."""
        for child in children:
            if child.process.poll() is None and terminate:
                child.process.terminate()
                with suppress(OSError):  # wakes one that still waits for a message, which no signal does
                    child.line.shutdown(socket.SHUT_WR)
        deadline_s, done = time.monotonic() + grace_s, progress()
        for child in children:
            while child.process.poll() is None and time.monotonic() < deadline_s and not self._aborted:
                child.listen()
                if child.taken("progress") or progress() != done:
                    deadline_s, done = time.monotonic() + grace_s, progress()
                time.sleep(0.005)
            if child.process.poll() is None:
                child.killed = True
                child.process.kill()
                child.process.wait()
            child.listen()


def _clear_away_dead_flights() -> None:
    """Remove what a killed supervisor left."""
    for path in runtime_dir().glob("flight-*/launch.json"):
        try:
            os.kill(read_supervisor_pid(path), 0)
        except ProcessLookupError:
            sweep(path.parent)
            shutil.rmtree(path.parent, ignore_errors=True)
        except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
            continue  # another user's, or incomplete


def _batons(roles: tuple[Role, ...], open_ends: ExitStack) -> dict[str, dict[str, socket.socket]]:
    """A packet socket between each pair of peers: role -> peer -> its end."""
    held: dict[str, dict[str, socket.socket]] = {role.name: {} for role in roles}
    for role in roles:
        for peer in role.peers:
            if peer in held and peer not in held[role.name]:
                ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                held[role.name][peer], held[peer][role.name] = map(open_ends.enter_context, ends)
    return held
