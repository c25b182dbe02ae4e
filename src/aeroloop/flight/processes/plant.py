"""The plant process: every aircraft of the flight in one time. The only time-critical process.

supervisor ─▶ "open" ─▶ links open ─▶ "ready" ─▶ "start" ─▶ the flight ─▶ "done" ─▶ "close": the links end
"""

from __future__ import annotations

import time
from collections.abc import Callable

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import LINE_TARGETS, Switch, Switched
from aeroloop.core.signals import NS
from aeroloop.core.stream import numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.core.tables import family, made, part
from aeroloop.flight.attending import FaultDesk, PaceLog
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.flight.seat import Inlined, Seat
from aeroloop.realtime.controls import ControlPort
from aeroloop.realtime.setup import PLANT_PRIORITY, enter_lockstep, enter_realtime, share_core
from aeroloop.realtime.topics import Topics
from aeroloop.sim.exchange import Exchange
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.pace import Pace

READS = ("the link of each controller",)


def switcher(fleet: list[Craft]) -> Callable[[Switch], Switched]:
    """Does what was ordered by hand, to the aircraft that it is meant for."""

    def switch(switch: Switch) -> Switched:
        if switch.vehicle >= len(fleet):
            raise ConfigError(f"vehicle {switch.vehicle}: there are {len(fleet)}, the first is 0")
        craft = fleet[switch.vehicle]
        return craft.exchanges[0].switch(switch) if switch.target in LINE_TARGETS else craft.vehicle.switch(switch)

    return switch


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    scenario = orders.scenario
    controller = scenario.flown_by
    if scenario.lockstep and controller.shares_core:
        share_core(orders.core_draw)
    for warning in orders.warnings:
        line.tell("say", message=warning)
    topics = Topics(orders.folder_path, wait=scenario.lockstep)
    writers = ("plant", "board", "ground") if scenario.inline else ("plant",)
    streams = [stream for writer in writers for stream in writes(writer, streams_of(scenario), scenario.loop)]
    publish = {stream.name: topics.publisher(stream).send for stream in streams}
    row = family(scenario.kind)
    own = [numbered(publish, number) for number in range(scenario.aircraft.count)]
    vehicles = [made(row.vehicle, scenario, number, rows) for number, rows in enumerate(own)]
    finishers: list[Callable[[], None]] = []

    def seated(seat: Seat) -> Exchange:
        if not scenario.inline:
            exchange: Exchange = part(controller.exchange)(seat)
            return exchange
        inlined: Inlined = part(controller.inline)(seat)
        finishers.append(inlined.finish)
        return inlined.exchange

    def notice(words: str) -> None:
        line.tell("notice", message=words)

    line.await_order("open")
    port = ControlPort(orders.folder_path)
    fleet: list[Craft] = []
    try:
        for number, vehicle in enumerate(vehicles):
            seat = Seat(scenario, orders, number, vehicle, own[number], batons, notice)
            fleet.append(Craft(vehicle, [seated(seat)], scenario.end_ns))
        pace = Pace(min(v.step_ns for v in vehicles), speed=scenario.speed, lockstep=scenario.lockstep)
        pace_log = PaceLog(pace, vehicles[0])
        desk = FaultDesk(
            port,
            switcher(fleet),
            note=lambda number, row: vehicles[number].note_fault(row),
            remark=lambda words: line.tell("say", message=words),
            notice=notice,
        )

        def attend() -> None:
            desk.attend()
            pace_log.attend()

        line.tell("ready")
        line.await_order("start")
        if scenario.lockstep:
            enter_lockstep()
        else:
            for refused in enter_realtime(PLANT_PRIORITY):
                line.tell("say", message=f"plant: {refused}")
        for craft in fleet:
            for exchange in craft.exchanges:
                exchange.await_ready(scenario.link.start_timeout_s, stop)
        began_ns = time.monotonic_ns()
        try:
            ended = run(fleet, pace, stop, attend)
            wall_s = (time.monotonic_ns() - began_ns) / NS
        finally:
            for craft in fleet:
                for exchange in craft.exchanges:
                    exchange.finish()
            for finish in finishers:
                finish()
            topics.flush()
        line.tell("done", ended=ended, wall_s=wall_s)
        line.await_close()
    finally:
        topics.flush()
        port.close()
        for craft in fleet:
            for exchange in craft.exchanges:
                exchange.close()


if __name__ == "__main__":
    run_process(main)
