"""Flights within one process: plant and controllers alternate over links in memory, and all rows are kept in memory.

Vehicles, bytes and rows are the same as with separate processes, so the log hash is the same; several scenarios of any
families share one simulation. There is no protection against a law that hangs or a controller that crashes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet, Plan, parts_of
from aeroloop.core.fleet_files import expanded
from aeroloop.core.paths import process_folder
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.stream import Publish, Stream
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import MEMORY, calling
from aeroloop.flight.part import FlightPart, fleet_of
from aeroloop.flight.process_table import launch_settings
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.recording.log import Log
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.pace import Pace


@dataclass(frozen=True)
class InlineFlight:
    """The end reason of the flight, and a log of each part, in order."""

    ended: str
    logs: tuple[Log, ...]


def fly_inline(
    *plans: Plan,
    stopped: Callable[[], bool] = lambda: False,
    attend: Callable[[Sequence[Craft]], str | None] = lambda fleet: None,
    paced: Callable[[int], Pace] = lambda step_ns: Pace(step_ns, lockstep=True),
) -> InlineFlight:
    """Fly in lockstep to the end of every scenario; a vehicle that diverges or crashes ends the flight of all. `attend`
    is called once per round, for external input; if it returns a reason, the flight ends. `paced`: the pace for the
    finest step."""
    if not plans:
        raise ConfigError("a flight needs at least one scenario")
    scenarios = [part for plan in plans for part in parts_of(plan if isinstance(plan, Fleet) else expanded(plan))]
    with process_folder("inline") as folder:
        kept = [KeptRows(scenario) for scenario in scenarios]
        parts: list[FlightPart] = []
        try:
            for index, (scenario, rows) in enumerate(zip(scenarios, kept, strict=True)):
                place = folder / str(index)
                place.mkdir()
                prefix = f"{scenario.name}/" if len(scenarios) > 1 else ""
                part = FlightPart(_launch(scenario, place, prefix), rows.publish)
                parts.append(part)
                part.open({}, lambda words: None)
            fleet = fleet_of(parts)
            pace = paced(min(craft.vehicle.step_ns for craft in fleet))
            for part in parts:
                part.await_ready(stopped)
            with calling(part.build for part in parts):
                ended = run(fleet, pace, stopped, lambda: attend(fleet))
            for part in parts:
                part.finish()
        finally:
            for part in parts:
                part.end_controllers()
        return InlineFlight(ended, tuple(rows.log() for rows in kept))


class KeptRows:
    """The rows of one scenario, packed: the garbage collector would scan a million tuples repeatedly."""

    def __init__(self, scenario: Scenario) -> None:
        self._streams = streams_of(scenario)
        self._rows = {stream.name: bytearray() for stream in self._streams}

    def publish(self, vehicle: int) -> dict[str, Publish]:
        """Adds the aircraft's number to the rows of one aircraft."""
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
    if vehicle == 0:  # its number is eight zero bytes: as padding, the row need not be copied to insert it
        pack = struct.Struct(f"<d8x{len(stream.fields) - 2}d").pack
        return lambda *row: keep(pack(*row))
    return lambda t_s, *values: keep(pack(t_s, vehicle, *values))


def _launch(scenario: Scenario, folder: Path, prefix: str) -> LaunchSettings:
    scenario = with_value(scenario, "link.url", MEMORY)
    return LaunchSettings(
        scenario=scenario,
        folder=str(folder),
        log="",
        supervisor_pid=os.getpid(),
        core_draw=0,
        prefix=prefix,
        **launch_settings(scenario, folder),
    )
