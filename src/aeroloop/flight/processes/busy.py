"""Intentional background load: keeps a core busy, to test the timing of a flight."""

from __future__ import annotations

from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    supervisor.await_message("open")
    supervisor.send("ready")
    supervisor.await_message("start")
    while not stop():
        sum(range(1000))


if __name__ == "__main__":
    run_process(main)
