"""A running router: routes, publishes link statistics twice a second, and accepts control datagrams.

Used standalone and in a flight; in a flight with the flight's clock and topics.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import msgspec

from aeroloop.core.router_streams import ROUTER_LINK, ROUTER_MESSAGE
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.realtime.feed import FeedOut
from aeroloop.realtime.topics import Publisher, Topics
from aeroloop.router.config import RouterConfig
from aeroloop.router.control import ControlPort
from aeroloop.router.engine import Router
from aeroloop.router.statistics import LINKS

PERIOD_NS = NS // 2
LOOK_PERIOD_NS = NS // 20


def serve_router(
    config: RouterConfig,
    folder: Path,
    topics: Topics | None,
    clock_s: Callable[[], float],
    stop: Callable[[], bool],
    notify: Callable[[str], None],
    *,
    feed: FeedOut | None = None,
    ready: Callable[[], None] = lambda: None,
    routed: Callable[[], None] = lambda: None,
) -> None:
    """Run until `stop()`. `ready` is called when every endpoint has been opened or is scheduled for a retry, `routed`
    after the last rows, while the links are still open."""
    with Router(config, notify=notify) as router:
        (folder / LINKS).write_bytes(msgspec.json.encode([asdict(info) for info in router.link_infos()]))
        port = ControlPort(folder)
        telemetry = LinkTelemetry(router, topics, clock_s, feed)
        actions = {"take-over": router.take_over}
        due_ns = 0

        def ending() -> bool:
            """Called once per turn: does the periodic work beside routing."""
            nonlocal due_ns
            now_ns = time.monotonic_ns()
            if now_ns >= due_ns:
                due_ns = now_ns + LOOK_PERIOD_NS
                port.serve(actions)
                telemetry.step(now_ns)
            return stop()

        try:
            ready()
            router.run(ending)
            telemetry.notify()
            routed()
        finally:
            port.close()


class LinkTelemetry:
    """Publishes rows of `router_link` and `router_message` to the topics and to the feed."""

    def __init__(
        self, router: Router, topics: Topics | None, clock_s: Callable[[], float], feed: FeedOut | None
    ) -> None:
        self._router = router
        self._clock_s = clock_s
        self._feed = feed
        self._topics = topics
        self._publishers: dict[str, Publisher] = {}
        if topics is not None:
            self._publishers = {stream.name: topics.publisher(stream) for stream in (ROUTER_LINK, ROUTER_MESSAGE)}
        self._due_ns = 0

    def step(self, now_ns: int) -> None:
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + PERIOD_NS
            self.notify()
        if self._feed is not None:
            self._feed.step(now_ns)

    def notify(self) -> None:
        t_s = self._clock_s()
        for state in self._router.links():
            self._send(ROUTER_LINK, state.row(t_s))
        for message in self._router.link_messages():
            self._send(ROUTER_MESSAGE, message.row(t_s))
        if self._topics is not None:
            self._topics.flush()

    def _send(self, stream: Stream, row: tuple[float, ...]) -> None:
        if (publisher := self._publishers.get(stream.name)) is not None:
            publisher.send(*row)
        if self._feed is not None:
            self._feed.offer(stream, stream.packing.pack(*row))
