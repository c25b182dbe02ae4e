"""A router at work in a folder: it routes, says twice a second how its lines are, and listens who shall command.

The same whether it stands alone or inside a flight, whose clock and topics it then uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import msgspec

from aeroloop.core.router_streams import LINE, LINE_MESSAGE
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.realtime.feed import FeedOut
from aeroloop.realtime.topics import Publisher, Topics
from aeroloop.router.config import RouterConfig
from aeroloop.router.control import ControlPort
from aeroloop.router.engine import Router
from aeroloop.router.statistics import LINES

PERIOD_NS = NS // 2
LOOK_PERIOD_NS = NS // 20


def serve_router(
    config: RouterConfig,
    folder: Path,
    topics: Topics | None,
    clock_s: Callable[[], float],
    stop: Callable[[], bool],
    tell: Callable[[str], None],
    *,
    feed: FeedOut | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Until `stop()`. `ready` is called when the endpoints have been opened, or will be tried again."""
    with Router(config, tell=tell) as router:
        (folder / LINES).write_bytes(msgspec.json.encode([asdict(info) for info in router.line_infos()]))
        port = ControlPort(folder)
        telling = Telling(router, topics, clock_s, feed)
        deeds = {"take-over": router.take_over}
        due_ns = 0

        def ending() -> bool:
            """Asked turn by turn: now and then there is something to do beside routing."""
            nonlocal due_ns
            now_ns = time.monotonic_ns()
            if now_ns >= due_ns:
                due_ns = now_ns + LOOK_PERIOD_NS
                port.serve(deeds)
                telling.step(now_ns)
            return stop()

        try:
            ready()
            router.run(ending)
            telling.tell()
        finally:
            port.close()


class Telling:
    """Rows of `line` and `line_message`, to the topics and to the feed."""

    def __init__(
        self, router: Router, topics: Topics | None, clock_s: Callable[[], float], feed: FeedOut | None
    ) -> None:
        self._router = router
        self._clock_s = clock_s
        self._feed = feed
        self._topics = topics
        self._publishers: dict[str, Publisher] = {}
        if topics is not None:
            self._publishers = {stream.name: topics.publisher(stream) for stream in (LINE, LINE_MESSAGE)}
        self._due_ns = 0

    def step(self, now_ns: int) -> None:
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + PERIOD_NS
            self.tell()
        if self._feed is not None:
            self._feed.step(now_ns)

    def tell(self) -> None:
        t_s = self._clock_s()
        for state in self._router.lines():
            self._send(LINE, state.row(t_s))
        for message in self._router.line_messages():
            self._send(LINE_MESSAGE, message.row(t_s))
        if self._topics is not None:
            self._topics.flush()

    def _send(self, stream: Stream, row: tuple[float, ...]) -> None:
        if (publisher := self._publishers.get(stream.name)) is not None:
            publisher.send(*row)
        if self._feed is not None:
            self._feed.offer(stream, stream.packing.pack(*row))
