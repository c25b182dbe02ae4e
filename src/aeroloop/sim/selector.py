"""Selects the command that flies from those of two or three boards. A state machine without input or output.

    standby   the active board's command, if it came for this control period, is plausible and its heartbeat is valid;
              else the next board's of the same period. Latched: a board that is valid again waits for its turn.
    vote      of three the mid-value of each element; of two the command that is nearer to the last one that flew. Of
              three boards, one out of the band for some periods is voted out.

A board returns when it has been aligned, valid and in the band for `return_cycles` periods. Two boards that disagree
are an alarm and no more: nothing tells which of them is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul, sub
from typing import NamedTuple

from aeroloop.core.redundancy import BY_VOTE, Redundancy, Verdict
from aeroloop.sim.exchange import NEVER_NS, Row

START_NS = 1_000_000_000
"""A board that has sent no command by then is missing."""


class Report(NamedTuple):
    """What is known of one board now."""

    command: Row | None  # its newest plausible command
    received_ns: int  # when that was received
    sent: int  # commands received so far
    fault: Verdict  # what is wrong with it apart from a missing command; VALID: nothing
    aligned: bool  # it computed this command with the memory it was given


class Occurrence(NamedTuple):
    """For the log."""

    kind: str  # "selected", "out", "in", "disagree", "agree", "none", "some"
    board: int


class Decision(NamedTuple):
    command: Row | None  # to fly from now on; None: hold the last one
    active: int  # BY_VOTE: mid-value of several
    reason: Verdict
    since_ns: int
    verdicts: tuple[Verdict, ...]
    spread: float
    held: int  # control periods without a command
    occurred: tuple[Occurrence, ...]


@dataclass(slots=True)
class _Board:
    """What the selector remembers of a board."""

    counted: int = 0  # commands that have been looked at
    out: Verdict | None = None  # why it may not fly; None: it may
    good: int = 0  # periods in a row in which it was valid, aligned and in the band
    off: int = 0  # periods in a row out of the band
    seen: Verdict = Verdict.VALID  # the fault it was last reported with


class Selector:
    def __init__(self, settings: Redundancy, period_ns: int, first: Row) -> None:
        """`first` is the command that flies until there is one."""
        self._settings, self._period_ns = settings, period_ns
        self._fresh_ns = period_ns + round(settings.wait_s * 1e9)
        self._boards = [_Board() for _ in settings.numbers]
        self._votes = settings.mode == "vote"
        self.active = BY_VOTE if self._votes else 0
        self._reason, self._since_ns = Verdict.VALID, 0
        self._flown, self._flown_ns = first, 0
        self._band = settings.band if len(settings.band) == len(first) else settings.band[:1] * len(first)
        self._off = 0
        self._disagree = self._none = self._switched = False
        self._spread = 0.0
        self._shown: tuple[Verdict, ...] = (Verdict.VALID,) * settings.boards
        self._widths = tuple(1.0 / width for width in self._band)

    def deadline_ns(self, t_ns: int, reports: Sequence[Report]) -> int:
        """When the next command will be missing that has not come by then."""
        due = (
            report.received_ns + self._fresh_ns
            for report, board in zip(reports, self._boards, strict=True)
            if board.out is None and report.sent
        )
        return min((each for each in due if each > t_ns), default=NEVER_NS)

    def held(self, t_ns: int) -> int:
        """Control periods without a new command."""
        return max(0, (t_ns - self._flown_ns) // self._period_ns)

    def decide(self, t_ns: int, reports: Sequence[Report]) -> Decision | None:
        """Called whenever something may have come; None if nothing has, and nothing is overdue."""
        return self._usual(t_ns, reports) or self._any(t_ns, reports)

    def _usual(self, t_ns: int, reports: Sequence[Report]) -> Decision | None:
        """The decision of nearly every control period, quickly: each board that flies has sent its command, they agree,
        and the others are as before. None if that is not so."""
        flying = []
        for report, board in zip(reports, self._boards, strict=True):
            is_new = report.sent != board.counted
            if board.out is None:
                if report.fault or not is_new or report.command is None:
                    return None
                flying.append(report.command)
            elif is_new or report.fault != board.seen:
                return None
        count = len(flying)
        if not count or self._none or self._disagree:
            return None
        spread = self._apart(flying[0], flying[1]) if count > 1 else self._spread
        if count > 2:
            spread = max(spread, self._apart(flying[1], flying[2]), self._apart(flying[0], flying[2]))
        if spread > 1.0 or (not self._votes and self._boards[self.active].out is not None):
            return None
        if not self._votes:
            command = reports[self.active].command
        elif count > 2:
            command = tuple([sorted(values)[1] for values in zip(*flying, strict=True)])
        else:
            nearer = count == 1 or self._apart(flying[0], self._flown) <= self._apart(flying[1], self._flown)
            command = flying[0] if nearer else flying[1]
        assert command is not None, "each that flies has one"
        for report, board in zip(reports, self._boards, strict=True):
            board.counted, board.off = report.sent, board.off if board.out is not None else 0
        held = max(0, self.held(t_ns) - 1)
        self._flown, self._flown_ns, self._spread, self._off = command, t_ns, spread, 0
        return Decision(command, self.active, self._reason, self._since_ns, self._shown, spread, held, ())

    def _any(self, t_ns: int, reports: Sequence[Report]) -> Decision | None:
        new = [report.sent != board.counted for report, board in zip(reports, self._boards, strict=True)]
        verdicts = [self._verdict(t_ns, report) for report in reports]
        if Verdict.STARTING in (verdicts if self._votes else (verdicts[self.active],)):
            return None
        awaited = [
            board.out is None and verdict is Verdict.VALID and not is_new
            for board, verdict, is_new in zip(self._boards, verdicts, new, strict=True)
        ]
        if self._votes:
            if any(awaited) or not (any(new) or self._judged(verdicts)):
                return None
        elif awaited[self.active] or not (any(new) or self._judged(verdicts)):
            return None
        occurred = self._admit(verdicts, reports, new)
        for board, report in zip(self._boards, reports, strict=True):
            board.counted, board.seen = report.sent, report.fault
        usable = self._usable(verdicts)
        command = self._vote(t_ns, usable, reports) if self._votes else self._standby(t_ns, usable, verdicts, reports)
        occurred += self._compare(verdicts, reports, command)
        if self._since_ns == t_ns and self._switched:
            occurred.append(Occurrence("selected", self.active))
        if self._none is not (command is None):
            self._none = command is None
            occurred.append(Occurrence("none" if self._none else "some", self.active))
        if command is not None:
            held, self._flown, self._flown_ns = max(0, self.held(t_ns) - 1), command, t_ns
        else:
            held = self.held(t_ns)
        self._shown = tuple(
            board.out if board.out is not None and verdict is Verdict.VALID else verdict
            for board, verdict in zip(self._boards, verdicts, strict=True)
        )
        why = self._reason, self._since_ns
        return Decision(command, self.active, *why, self._shown, self._spread, held, tuple(occurred))

    def _usable(self, verdicts: Sequence[Verdict]) -> list[int]:
        """The boards whose command may fly; without any, those that are not back for long enough."""
        valid = [number for number in self._settings.numbers if verdicts[number] is Verdict.VALID]
        for allowed in (None, Verdict.RETURNING):
            usable = [number for number in valid if self._boards[number].out is allowed]
            if usable:
                return usable
        return []

    def _verdict(self, t_ns: int, report: Report) -> Verdict:
        if report.fault:
            return report.fault
        if not report.sent and t_ns < START_NS:
            return Verdict.STARTING
        return Verdict.VALID if t_ns - report.received_ns < self._fresh_ns else Verdict.MISSING

    def _judged(self, verdicts: Sequence[Verdict]) -> bool:
        """Whether a board that may fly has failed since the last decision."""
        failed = (verdict not in (Verdict.VALID, Verdict.STARTING) for verdict in verdicts)
        return any(bad and board.out is None for bad, board in zip(failed, self._boards, strict=True))

    def _admit(self, verdicts: Sequence[Verdict], reports: Sequence[Report], new: Sequence[bool]) -> list[Occurrence]:
        """Take failed boards out, and those in again that were good for long enough."""
        occurred = []
        for number, (board, verdict) in enumerate(zip(self._boards, verdicts, strict=True)):
            if verdict not in (Verdict.VALID, Verdict.STARTING):
                board.good = 0
                if board.out is None:
                    occurred.append(Occurrence("out", number))
                board.out = verdict
            elif board.out is not None and new[number]:
                board.out = Verdict.OUTVOTED if board.off else Verdict.RETURNING
                board.good = board.good + 1 if reports[number].aligned and not board.off else 0
                if board.good >= self._settings.return_cycles:
                    board.out, board.good = None, 0
                    occurred.append(Occurrence("in", number))
        return occurred

    def _standby(
        self, t_ns: int, usable: Sequence[int], verdicts: Sequence[Verdict], reports: Sequence[Report]
    ) -> Row | None:
        self._switched = False
        if self.active not in usable:
            if not usable:
                return None
            reason = self._boards[self.active].out or verdicts[self.active]
            after = [number for number in usable if number > self.active]
            self._select(t_ns, (after or usable)[0], reason)
        return reports[self.active].command

    def _vote(self, t_ns: int, usable: Sequence[int], reports: Sequence[Report]) -> Row | None:
        self._switched = False
        commands = [command for number in usable if (command := reports[number].command) is not None]
        if not commands:
            return None
        if len(commands) > 2:
            self._select(t_ns, BY_VOTE, Verdict.VALID)
            return tuple(sorted(values)[len(values) // 2] for values in zip(*commands, strict=True))
        nearest = min(range(len(commands)), key=lambda at: (self._apart(commands[at], self._flown), at))
        others = [board.out for board in self._boards if board.out is not None]
        alone = len(commands) == 1
        self._select(t_ns, usable[nearest] if alone else BY_VOTE, others[0] if others else self._reason)
        return commands[nearest]

    def _select(self, t_ns: int, active: int, reason: Verdict) -> None:
        if active != self.active:
            self.active, self._reason, self._since_ns, self._switched = active, reason, t_ns, True

    def _compare(self, verdicts: Sequence[Verdict], reports: Sequence[Report], flown: Row | None) -> list[Occurrence]:
        """Compare the commands of one control period with what flies, and with each other."""
        settings, occurred = self._settings, []
        valid = [n for n in settings.numbers if verdicts[n] is Verdict.VALID]
        commands = {n: command for n in valid if (command := reports[n].command) is not None}
        if flown is None or len(commands) < 2:
            return []
        rows = list(commands.values())
        self._spread = max(self._apart(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :])
        members = [n for n in commands if self._boards[n].out is None]
        for number, command in commands.items():
            board = self._boards[number]
            board.off = board.off + 1 if self._apart(command, flown) > 1.0 else 0
            majority = self._votes and len(members) > 2
            if board.out is None and majority and board.off >= settings.off_cycles:
                board.out, board.good = Verdict.OUTVOTED, 0
                occurred.append(Occurrence("out", number))
        of_members = [commands[n] for n in members if self._boards[n].out is None]
        apart = max((self._apart(a, b) for i, a in enumerate(of_members) for b in of_members[i + 1 :]), default=0.0)
        self._off = self._off + 1 if apart > 1.0 else 0
        disagree = self._off >= settings.off_cycles or (self._disagree and apart > 1.0)
        if disagree is not self._disagree:
            self._disagree = disagree
            occurred.append(Occurrence("disagree" if disagree else "agree", self.active))
        return occurred

    def _apart(self, a: Row, b: Row) -> float:
        """The largest difference of two commands, as a fraction of the band."""
        apart: float = max(map(mul, map(abs, map(sub, a, b)), self._widths))
        return apart
