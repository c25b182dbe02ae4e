"""Flights of the fixed wing within the test's process: plant, board and a link that is a function call."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from aeroloop.controllers.law.period_process import HostWing
from aeroloop.core.scenario_files import find, load
from aeroloop.core.stream import numbered
from aeroloop.core.streams import writes
from aeroloop.core.wing_signals import WingSensors
from aeroloop.families.fixedwing.analysis.metrics import metrics
from aeroloop.families.fixedwing.autopilot import autopilot_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.streams import STREAMS
from aeroloop.protocols.wing import BoardEnd, Done
from aeroloop.recording.log import Log
from peers.wing_craft import WingCraft


class BoardBehind:
    """A link with the whole board behind it: what is sent is worked on at once."""

    url = "call://"

    def __init__(self, scenario: FixedWingScenario) -> None:
        self._board, self._end, self._out = HostWing(lambda: autopilot_of(scenario)), BoardEnd(), b""

    def fileno(self) -> int:
        raise AssertionError("nobody should have to wait for this board")

    def send(self, data: bytes) -> None:
        [sensors] = [message for message in self._end.receive(data) if isinstance(message, WingSensors)]
        self._out += self._board.step(data, sensors.t_ms)[0] + self._end.done(Done(sensors.cycle, 0.0))

    def poll(self) -> bytes:
        out, self._out = self._out, b""
        return out

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


def flown(name: str, *overrides: str) -> tuple[str, dict[str, float]]:
    """A flight in lockstep on rung mil: how it ended, and its numbers."""
    scenario = load(find(name), overrides)
    assert isinstance(scenario.aircraft, FixedWingTables)
    rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    streams = writes("plant", STREAMS, scenario.loop)
    publish = {s.name: lambda *row, kept=rows[s.name]: kept.append(row) for s in streams}
    ended = WingCraft(scenario, BoardBehind(scenario), numbered(publish, 0)).fly()
    log = Log.empty(STREAMS)
    log.rows.update({name: np.array(kept, dtype=float) for name, kept in rows.items() if kept})
    return ended, metrics(log, scenario)
