"""The plant process: all aircraft of the flight, on one clock. The only time-critical process.

supervisor ─▶ "open" ─▶ links open ─▶ "ready" ─▶ "start" ─▶ the flight ─▶ "done" ─▶ "close": the links end
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import partial

from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.core.streams import streams_of, writes
from aeroloop.core.tables import calling
from aeroloop.flight.live_control import LiveControl, PaceLog
from aeroloop.flight.part import FlightPart, fleet_of
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, launch_settings_of_parts, run_process, stop
from aeroloop.realtime.controls import ControlPort
from aeroloop.realtime.flight_clock import ClockOut
from aeroloop.realtime.setup import PLANT_PRIORITY, enter_lockstep, enter_realtime, share_core
from aeroloop.realtime.topics import LOCKSTEP_HELD_S, Publisher, Topics, numbered
from aeroloop.sim.loop import run
from aeroloop.sim.pace import Pace, PaceState

READS = ("the link of each controller",)


def publishers(launch: LaunchSettings, topics: Topics) -> dict[str, Publisher]:
    """Publishers of the streams that the plant writes for one part, by name."""
    scenario = launch.scenario
    writers = ("plant", *scenario.controller.board_processes, "ground") if scenario.inline else ("plant",)
    streams = [stream for writer in writers for stream in writes(writer, streams_of(scenario), scenario.loop)]
    return {stream.name: topics.publisher(stream) for stream in streams}


def batons_of(launch: LaunchSettings, batons: Mapping[str, int]) -> dict[str, int]:
    """The batons of one part, by the names of its own processes."""
    return {name.removeprefix(launch.prefix): fd for name, fd in batons.items() if name.startswith(launch.prefix)}


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    lockstep, speed, own = launch.scenario.lockstep, launch.scenario.speed, launch_settings_of_parts(launch)
    if lockstep and any(each.scenario.flown_by.shares_core for each in own):
        share_core(launch.core_draw)
    for warning in (warning for each in own for warning in each.warnings):
        supervisor.send("remark", message=warning)
    topics = [Topics(each.folder_path, wait=lockstep, held_s=_held_s(each.scenario), stopped=stop) for each in own]
    rows = [publishers(each, of_part) for each, of_part in zip(own, topics, strict=True)]
    parts = [FlightPart(each, partial(numbered, publish)) for each, publish in zip(own, rows, strict=True)]

    def notice(words: str) -> None:
        supervisor.send("notice", message=words)

    def tell(state: PaceState) -> None:
        clock.tell(paused=state.paused, speed=state.speed, t_ns=state.t_ns)
        if state.paused:
            _flush(topics)  # pages show the present state

    def control(index: int, part: FlightPart, port: ControlPort) -> LiveControl:
        return LiveControl(
            port,
            part.crafts,
            pace,
            notice=notice,
            changed=lambda entry: supervisor.send("changed", part=index, entry=entry),
            kill=lambda name: supervisor.send("kill", process=f"{part.launch.prefix}{name}"),
            fixed_speed=part.scenario.fixed_speed,
        )

    supervisor.await_message("open")
    ports = [ControlPort(each.folder_path) for each in own]
    clock = ClockOut((each.folder_path for each in own), math.inf if lockstep else speed)
    try:
        for part in parts:
            part.open(batons_of(part.launch, batons), notice)
        fleet = fleet_of(parts)
        finest_ns = min(craft.vehicle.step_ns for craft in fleet)
        pace = Pace(finest_ns, speed=speed, lockstep=lockstep, tell=tell)
        if launch.paused:
            pace.pause()
        controls = [control(index, *each) for index, each in enumerate(zip(parts, ports, strict=True))]
        flying = dict(enumerate(parts))  # at a wall-clock pace a part that has ended leaves before the others
        pace_logs = [(part.crafts[0], PaceLog(pace, part.vehicles[0])) for part in parts if not lockstep]

        def obey() -> str:
            ended = ""
            for each in controls:
                ended = each.attend() or ended
            return ended

        def attend() -> str:
            ended = pace.hold(obey, stop)
            for craft, pace_log in pace_logs:
                if not craft.over:
                    pace_log.attend()
            if not lockstep and len(flying) > 1:
                for number in [n for n, part in flying.items() if part.over]:
                    flying.pop(number).finish()
                    supervisor.send("left", part=number)
            return ended

        supervisor.send("ready")
        supervisor.await_message("start")
        if lockstep:
            enter_lockstep()
        else:
            for refused in enter_realtime(PLANT_PRIORITY):
                supervisor.send("remark", message=f"plant: {refused}")
        for part in parts:
            part.await_ready(stop)
        supervisor.send("flying")
        began_ns = time.monotonic_ns()
        try:
            with calling(part.build for part in parts):
                ended = run(fleet, pace, stop, attend)
            wall_s = (time.monotonic_ns() - began_ns - pace.held_ns) / NS
        finally:
            for part in flying.values():
                part.finish()
            for part in parts:
                part.end_controllers()
            _flush(topics)
        supervisor.send("done", ended=ended, wall_s=wall_s)
        supervisor.await_close()
    finally:
        _flush(topics)
        clock.close()
        for port in ports:
            port.close()
        for part in parts:
            part.close()


def _held_s(scenario: Scenario) -> float:
    """Poses must reach the camera before the companion's messages are due, for which the autopilot waits."""
    watched = scenario.watched_camera
    return LOCKSTEP_HELD_S if watched is None else min(LOCKSTEP_HELD_S, scenario.cameras[watched].latency_s / 4)


def _flush(topics: list[Topics]) -> None:
    for each in topics:
        each.flush()


if __name__ == "__main__":
    run_process(main)
