"""The emulator process: rung pil in real time. QEMU uses the links directly; this starts, monitors and ends it."""

from __future__ import annotations

import select
from pathlib import Path

from aeroloop.boards.monitor import Monitor
from aeroloop.boards.qemu import Emulator, escaped, realtime_command
from aeroloop.controllers.law.board_files import board_folder, board_links
from aeroloop.controllers.law.request_tables import injected
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.links.url import parse
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_realtime

READS = ("board link", "reference link")
WRITES = ()

WATCH_S = 0.005
"""A board runs on for this long when the flight is paused."""


def line_device(url: str) -> str:
    """A link URL as a character device of QEMU."""
    link = parse(url)
    server = "server=on,wait=off" if link.listen else "server=off"
    match link.scheme:
        case "serial":
            return f"serial,path={escaped(link.path)}"
        case "loopback":
            return f"socket,path={escaped(link.path)},{server}"
        case "tcp":
            return f"socket,host={link.host},port={link.port},{server},nodelay=on"
        case "udp" if not link.listen:
            return f"udp,host={link.host},port={link.port}"
    # Only references are received by a server on the board.
    raise ConfigError(f"ground.url: the emulator cannot be the server of {url}; use loopback:// or tcp://")


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    run_emulator(0, launch, supervisor)


def run_emulator(number: int, launch: LaunchSettings, supervisor: SupervisorLink) -> None:
    """The board with this number of several, or the only one."""
    link_client, reference_server = board_links(launch, number)
    folder = board_folder(launch.folder_path, number)
    references = line_device(reference_server) if reference_server else "null"
    devices = line_device(link_client), references
    monitor_path = folder / "monitor.sock"
    supervisor.await_message("open")
    for refused in enter_realtime(BOARD_PRIORITY):  # QEMU inherits the priority
        supervisor.send("remark", message=f"emulator: {refused}")
    emulator = Emulator(realtime_command(Path(launch.image), *devices, monitor_path), folder)
    try:
        monitor = Monitor(monitor_path, emulator)
        supervisor.send("ready")
        supervisor.await_message("start")
        faults = sorted(injected(launch.scenario), key=lambda fault: fault.at_s)
        clock, stopped = ClockIn(launch.folder_path), False
        began_ns = clock.now_ns()
        while not stop():
            select.select([emulator.ended_fd], [], [], WATCH_S)
            if (paused := clock.state.paused) is not stopped:
                stopped = paused
                (monitor.stop if paused else monitor.go_on)()
            failure = emulator.failure()
            if failure:
                raise failure
            if faults and clock.now_ns() - began_ns >= faults[0].at_s * NS:
                faults.pop(0)
                monitor.reset()
        supervisor.send("done")
    finally:
        emulator.stop()


if __name__ == "__main__":
    run_process(main)
