"""The router of a flight: between its autopilots and the ground stations, the dashboard and `aeroloop cmd`."""

from __future__ import annotations

from aeroloop.core.config import convert
from aeroloop.core.stream import Stream
from aeroloop.core.streams import named
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.realtime.topics import Topics
from aeroloop.router.config import RouterConfig
from aeroloop.router.serving import serve_router

READS = ("pace", "ground links")
WRITES = ("line", "line_message")


class FlightClock:
    """Simulated time, as the plant tells it fifty times a second."""

    def __init__(self, topics: Topics, pace: Stream) -> None:
        self._pace = topics.subscriber(pace)
        self._t_s = 0.0

    def __call__(self) -> float:
        newest = self._pace.latest()
        if newest is not None:
            self._t_s = newest[0]
        return self._t_s


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    assert orders.router is not None
    config = convert(orders.router, RouterConfig, "router")
    topics = Topics(orders.folder_path, wait=False, lockstep=orders.scenario.lockstep)
    clock_s = FlightClock(topics, named(orders.scenario)["pace"])
    line.await_order("open")

    def ready() -> None:
        line.tell("ready")
        line.await_order("start")

    serve_router(
        config,
        orders.folder_path,
        topics,
        clock_s,
        stop,
        lambda words: line.tell("notice", message=f"router: {words}"),
        ready=ready,
    )
    line.tell("done")


if __name__ == "__main__":
    run_process(main)
