"""Flights within one process: plant and controllers in turns over links in memory, every row kept in memory.

The same crafts, bytes and rows as on the bench, so the same log hash; several scenarios, of any families, share one
time. What the processes of a flight protect against (a law that hangs, a controller that crashes) is not protected
against here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import runtime_dir
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.stream import Publish, Stream
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import MEMORY, family, made, part
from aeroloop.flight.process_table import launch_settings
from aeroloop.flight.processes.common import Orders
from aeroloop.flight.seat import Inlined, Seat
from aeroloop.recording.log import Log
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.pace import Pace


@dataclass(frozen=True)
class InlineFlight:
    """How the flight ended, and a log of each scenario."""

    ended: str
    logs: tuple[Log, ...]


def fly_inline(*scenarios: Scenario, stopped: Callable[[], bool] = lambda: False) -> InlineFlight:
    """In lockstep, to the end of every scenario; a vehicle that diverges or crashes ends the flight of all."""
    if not scenarios:
        raise ConfigError("a flight needs at least one scenario")
    with tempfile.TemporaryDirectory(prefix="inline-", dir=runtime_dir()) as folder:
        kept = [_Kept(scenario) for scenario in scenarios]
        fleet: list[Craft] = []
        finishers: list[Callable[[], None]] = []
        try:
            for index, (scenario, rows) in enumerate(zip(scenarios, kept, strict=True)):
                place = Path(folder) / str(index)
                place.mkdir()
                for craft, finish in _crafts(scenario, place, rows):
                    fleet.append(craft)
                    finishers.append(finish)
            pace = Pace(min(craft.vehicle.step_ns for craft in fleet), lockstep=True)
            for craft in fleet:
                for exchange in craft.exchanges:
                    exchange.await_ready(scenarios[0].link.start_timeout_s, stopped)
            ended = run(fleet, pace, stopped)
            for craft in fleet:
                for exchange in craft.exchanges:
                    exchange.finish()
        finally:
            for finish in finishers:
                finish()
        return InlineFlight(ended, tuple(rows.log() for rows in kept))


class _Kept:
    """The rows of one scenario, packed: a million tuples would be searched for garbage again and again."""

    def __init__(self, scenario: Scenario) -> None:
        self._streams = streams_of(scenario)
        self._rows = {stream.name: bytearray() for stream in self._streams}

    def publish(self, vehicle: int) -> dict[str, Publish]:
        """For the rows of one aircraft, which are given without its number."""
        return {stream.name: _keeper(stream, self._rows[stream.name], vehicle) for stream in self._streams}

    def log(self) -> Log:
        log = Log.empty(self._streams)
        for stream in self._streams:
            rows = self._rows[stream.name]
            if rows and stream.name in log.rows:
                log.rows[stream.name] = np.frombuffer(rows, "<f8").reshape(-1, len(stream.fields))
        return log


def _keeper(stream: Stream, rows: bytearray, vehicle: int) -> Publish:
    pack, keep = stream.packing.pack, rows.extend
    return lambda t_s, *values: keep(pack(t_s, vehicle, *values))


def _crafts(scenario: Scenario, folder: Path, kept: _Kept) -> Sequence[tuple[Craft, Callable[[], None]]]:
    scenario = with_value(scenario, "link.url", MEMORY)
    orders = Orders(
        scenario=scenario,
        folder=str(folder),
        log="",
        supervisor_pid=os.getpid(),
        core_draw=0,
        **launch_settings(scenario, folder),
    )
    row, controller = family(scenario.kind), scenario.flown_by
    found = []
    for number in range(scenario.aircraft.count):
        own = kept.publish(number)
        vehicle = made(row.vehicle, scenario, number, own)
        seat = Seat(scenario, orders, number, vehicle, own, {}, lambda words: None)
        inlined: Inlined = part(controller.inline)(seat)
        found.append((Craft(vehicle, [inlined.exchange], scenario.end_ns), inlined.finish))
    return found
