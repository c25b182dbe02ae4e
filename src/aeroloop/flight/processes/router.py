"""The router of a flight: between its autopilots and the ground stations, the dashboard and `aeroloop cmd`; with
`router.hil` also between its autopilots and the plant."""

from __future__ import annotations

from aeroloop.core.config import convert
from aeroloop.core.stream import Stream
from aeroloop.core.streams import named
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_realtime, share_core, without_long_collections
from aeroloop.realtime.topics import Topics
from aeroloop.router.config import RouterConfig
from aeroloop.router.serving import serve_router

READS = ("pace", "ground links")
WRITES = ("router_link", "router_message")


class FlightClock:
    """Simulated time, received from the plant fifty times a second."""

    def __init__(self, topics: Topics, pace: Stream) -> None:
        self._pace = topics.subscriber(pace)
        self._t_s = 0.0

    def __call__(self) -> float:
        newest = self._pace.latest()
        if newest is not None:
            self._t_s = newest[0]
        return self._t_s


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    assert launch.router is not None
    config = convert(launch.router, RouterConfig, "router")
    topics = Topics(launch.folder_path, wait=False, lockstep=launch.scenario.lockstep)
    clock_s = FlightClock(topics, named(launch.scenario)["pace"])
    carries_hil, lockstep = launch.scenario.controller.link_routed, launch.scenario.lockstep
    if carries_hil and lockstep and launch.scenario.flown_by.shares_core:
        share_core(launch.core_draw)  # with plant and board, which wait for what it forwards
    supervisor.await_message("open")

    def ready() -> None:
        supervisor.send("ready")
        supervisor.await_message("start")
        if carries_hil and not lockstep:
            for refused in enter_realtime(BOARD_PRIORITY):
                supervisor.send("remark", message=f"router: {refused}")
        without_long_collections()

    def routed() -> None:
        """An autopilot may take every core once its link has ended, so that this waits for the recorder."""
        supervisor.send("done")
        if carries_hil:
            supervisor.await_close(stopped=lambda: False)

    serve_router(
        config,
        launch.folder_path,
        topics,
        clock_s,
        stop,
        lambda words: supervisor.send("notice", message=f"router: {words}"),
        ready=ready,
        routed=routed,
    )


if __name__ == "__main__":
    run_process(main)
