"""The planned faults of one aircraft, in order of their switching times."""

from __future__ import annotations

from collections.abc import Iterable

from aeroloop.core.faults import PlannedFault, Switch
from aeroloop.core.signals import NS
from aeroloop.sim.exchange import NEVER_NS


class FaultPlan:
    def __init__(self, faults: Iterable[PlannedFault] = ()) -> None:
        planned = list(faults)
        switches = [(round(fault.from_s * NS), 1, fault.switch(on=True)) for fault in planned]
        switches += [(round(f.to_s * NS), 0, f.switch(on=False)) for f in planned if f.to_s is not None]
        # At equal times the end of a fault comes before the start of another, so that a fault may follow one of the
        # same kind.
        self._waiting = sorted(switches, key=lambda item: item[:2])
        self.next_ns = self._waiting[0][0] if self._waiting else NEVER_NS

    def due(self, t_ns: int) -> list[Switch]:
        """The faults to switch before the step that begins now; each is returned once."""
        taken = [switch for at_ns, _, switch in self._waiting if at_ns <= t_ns]
        del self._waiting[: len(taken)]
        self.next_ns = self._waiting[0][0] if self._waiting else NEVER_NS
        return taken
