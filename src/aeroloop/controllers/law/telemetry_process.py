"""The telemetry process of our boards: reads the flight's feed as the dashboard does, and sends telemetry to ground
stations.

The plant is not affected by it.
"""

from __future__ import annotations

import select
import time

from aeroloop.controllers.law.telemetry import BoardTelemetry
from aeroloop.controllers.law.telemetry_messages import Aircraft
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.signals import Origin
from aeroloop.core.tables import family
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.links.lasting import LastingServer
from aeroloop.realtime.feed import FeedIn

READS = ("live feed", "ground link")
WRITES = ()
PERIOD_S = 0.02
FIRST_SYSTEM = 1
"""System ID of the first aircraft of a flight; the following aircraft have the following IDs."""


def aircraft_of(scenario: Scenario, system: int) -> Aircraft:
    home = value_at(scenario, "world.home")
    origin = None if home is None else Origin(home.lat_deg, home.lon_deg, home.alt_m)
    return Aircraft(system, family(scenario.kind).mavlink_type, origin)


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    telemetry = BoardTelemetry(aircraft_of(launch.scenario, FIRST_SYSTEM + launch.aircraft_before))
    supervisor.await_message("open")
    link = LastingServer(launch.ground_links[0])
    feed = FeedIn(launch.folder_path)
    try:
        supervisor.send("ready")
        supervisor.await_message("start")
        while not stop():
            select.select([feed.fileno(), link.fileno()], [], [], PERIOD_S)
            now_ns = time.monotonic_ns()
            for stream, row in feed.rows():
                telemetry.take(stream.name, stream.names, row, now_ns)
            answers = telemetry.receive(link.poll(), now_ns)
            if out := answers + telemetry.step(now_ns):
                link.send(out)
        supervisor.send("done")
    finally:
        feed.close()
        link.close()


if __name__ == "__main__":
    run_process(main)
