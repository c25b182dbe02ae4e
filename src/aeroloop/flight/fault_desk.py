"""Where a plant takes orders in flight: every fault that is switched is done, written down, and said once."""

from __future__ import annotations

from collections.abc import Callable

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import KINDS, TARGETS, Switch, Switched
from aeroloop.realtime.controls import ControlPort

MOST_SAID = 8
"""Refusals that are said; the others are counted."""

Deed = Callable[[Switch], Switched]
"""Does it; ConfigError with a sentence where it cannot."""


class FaultDesk:
    def __init__(
        self,
        port: ControlPort,
        deed: Deed,
        *,
        note: Callable[..., None],
        remark: Callable[[str], None],
        notice: Callable[[str], None],
    ) -> None:
        """`note` gets vehicle and row; `remark` what stands in the outcome, `notice` what is said at once."""
        self._port, self._deed, self._note = port, deed, note
        self._remark, self._notice = remark, notice
        self._bad = self._said = self._done = 0

    def attend(self) -> None:
        """Look for orders; costs next to nothing when there are none."""
        for switch in self._port.poll():
            self._obey(switch)
        if self._port.refused != self._bad:
            if not self._bad:
                self._notice("an order that is none came to the flight's control socket and was refused")
            self._bad = self._port.refused

    def _obey(self, switch: Switch) -> None:
        try:
            switched = self._deed(switch)
        except ConfigError as error:
            self._said += 1
            if self._said <= MOST_SAID:
                self._notice(f"a fault was not switched: {error}")
            return
        what = TARGETS.index(switch.target), KINDS.index(switch.kind), switch.on, switched.channel
        self._note(switch.vehicle, (*what, *(*switched.values, 0.0, 0.0, 0.0)[:3]))
        self._done += 1
        if self._done == 1:
            self._remark("faults were switched by hand in flight, so no other flight will be the same as this one")
