"""The planned faults and changes of one aircraft, and those made by hand, in order of their times.

What is done by hand is put here for the next step that begins, so that the same code applies it at the same place as
what was planned: a flight with the recorded entries in its file is the same flight.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from aeroloop.core.changes import Change, PlannedChange
from aeroloop.core.faults import PlannedFault, Switch
from aeroloop.core.signals import NS
from aeroloop.sim.exchange import NEVER_NS

Action = Switch | Change

END, START, BY_HAND, CHANGED = range(4)
"""Order at equal times: a fault ends before another starts, so that one may follow another of the same kind."""


class Due(NamedTuple):
    at_ns: int
    rank: int
    number: int  # in order of insertion
    action: Action
    by_hand: bool = False  # in this flight


class FaultPlan:
    def __init__(self, faults: Iterable[PlannedFault] = (), changes: Iterable[PlannedChange] = ()) -> None:
        self._waiting: list[Due] = []
        self._count = 0
        for fault in faults:
            from_ns = round(fault.from_s * NS)
            if fault.manual:
                self._put(from_ns, BY_HAND, fault.switch(on=fault.manual == "on"))
                continue
            self._put(from_ns, START, fault.switch(on=True))
            if fault.to_s is not None:
                self._put(round(fault.to_s * NS), END, fault.switch(on=False))
        for change in changes:
            self._put(round(change.at_s * NS), CHANGED, change.change())
        self.next_ns = self._next_ns()

    def add(self, at_ns: int, action: Action) -> None:
        """Done by hand, before the first step that begins at or after this time."""
        self._put(at_ns, CHANGED if isinstance(action, Change) else BY_HAND, action, by_hand=True)
        self.next_ns = self._next_ns()

    def due(self, t_ns: int) -> list[Due]:
        """What is to be done before the step that begins now; each is returned once."""
        taken = [due for due in self._waiting if due.at_ns <= t_ns]
        del self._waiting[: len(taken)]
        self.next_ns = self._next_ns()
        return taken

    def _put(self, at_ns: int, rank: int, action: Action, *, by_hand: bool = False) -> None:
        insort(self._waiting, Due(at_ns, rank, self._count, action, by_hand), key=lambda due: due[:3])
        self._count += 1

    def _next_ns(self) -> int:
        return self._waiting[0].at_ns if self._waiting else NEVER_NS
