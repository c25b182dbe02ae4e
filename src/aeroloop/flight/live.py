"""A running flight for Foxglove: a WebSocket server with the topics of its log, from the live feed.

It reads the feed as the dashboard does: the plant is not affected. The connection is read only.
"""

from __future__ import annotations

import ipaddress
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import foxglove

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.signals import NS
from aeroloop.core.streams import logged, streams_of
from aeroloop.flight import running
from aeroloop.flight.described import described
from aeroloop.flight.processes.common import LaunchSettings, launch_settings_of_parts
from aeroloop.realtime.feed import FeedIn, read_epoch
from aeroloop.recording.log import StreamChannels
from aeroloop.recording.well_known import WellKnownTopics

LOOK_S = 0.5
WAIT_S = 0.05
AGAIN_NS = NS // 2
"""Static messages are sent twice to a new subscriber: the first may arrive before the subscription is active."""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


class LivePart:
    """One part of a flight: publishes the rows of its feed to its topics."""

    def __init__(
        self, context: foxglove.Context, launch: LaunchSettings, feed: FeedIn, topics: WellKnownTopics
    ) -> None:
        self._folder, self._topics, self._feed = launch.folder_path, topics, feed
        self._streams = {stream.name: stream for stream in logged(streams_of(launch.scenario))}
        self._channels = StreamChannels(context, tuple(self._streams.values()), launch.prefix)
        self._begun = False

    def fileno(self) -> int:
        return self._feed.fileno()

    def step(self) -> None:
        if not self._begun:
            epoch_ns = read_epoch(self._folder)
            if epoch_ns is None:
                return
            self._begun, self._channels.epoch_ns = True, epoch_ns
            self._topics.begin(epoch_ns)
        for stream, row in self._feed.rows():
            if stream.name not in self._streams:
                continue
            self._channels.write(stream, row)
            take = self._topics.taker(stream.name)
            if take is not None:
                take(row)

    def show_again(self) -> None:
        if self._begun:
            self._topics.show_again()

    def finish(self) -> None:
        """Publish the last rows; its topics stay."""
        self.step()
        self._topics.finish()
        self._feed.close()

    def close(self) -> None:
        self._topics.close()
        self._channels.close()


class LiveServer:
    """Listens from the start; the topics of a flight stay until the next starts."""

    def __init__(self, host: str, port: int) -> None:
        self._context = foxglove.Context()
        self._came = threading.Event()  # a new subscriber needs the static messages
        self._again_ns = 0  # time at which they are sent again; 0: not
        self._parts: list[LivePart] = []
        try:
            self._server = foxglove.start_server(
                name="aeroloop", host=host, port=port, context=self._context, server_listener=self
            )
        except RuntimeError as error:
            reason = str(error).rpartition("bind port: ")[2]
            raise ConfigError(f"cannot listen on {host}, port {port}: {reason}; choose another --port") from None

    @property
    def port(self) -> int:
        return int(self._server.port)

    @property
    def app_url(self) -> str:
        """URL that opens Foxglove with this server as its source."""
        return str(self._server.app_url())

    def on_subscribe(self, client: Any, channel: Any) -> None:
        """Called by the server, in its own thread."""
        self._came.set()

    def on_unsubscribe(self, client: Any, channel: Any) -> None:
        """Not used; required by the server's interface."""

    def watch(self, launch: Sequence[LaunchSettings], stopped: threading.Event) -> None:
        """Serve one flight to its end, or until stopped. LinkError if its feed does not exist (yet): then nothing has
        changed, and no topic is left open."""
        feeds = _opened(launch)
        for part in self._parts:
            part.close()
        about = described([(part.scenario, part.prefix) for part in launch])
        self._parts = [
            LivePart(
                self._context,
                part,
                feed,
                WellKnownTopics(self._context, logged(streams_of(part.scenario)), known),
            )
            for part, feed, known in zip(launch, feeds, about, strict=True)
        ]
        self._server.clear_session()
        while not stopped.is_set() and _runs(launch[0]):
            select.select(self._parts, [], [], WAIT_S)
            self.step()
        for part in self._parts:
            part.finish()

    def step(self) -> None:
        for part in self._parts:
            part.step()
        now_ns = time.monotonic_ns()
        came = self._came.is_set()
        if came:
            self._came.clear()
        if came or 0 < self._again_ns <= now_ns:
            self._again_ns = now_ns + AGAIN_NS if came else 0
            for part in self._parts:
                part.show_again()

    def close(self) -> None:
        self._server.stop()


def _opened(launch: Sequence[LaunchSettings]) -> list[FeedIn]:
    """The feed of every part, or an error."""
    feeds: list[FeedIn] = []
    try:
        for part in launch:
            feeds.append(FeedIn(part.folder_path))
    except LinkError:
        for feed in feeds:
            feed.close()
        raise
    return feeds


def newest(wanted: str = "", but: Path | None = None) -> list[LaunchSettings]:
    """The parts of the flight with this ID, or of the newest; empty if it is not running. `but`: excluded."""
    found = [launch for launch in running.flights() if not launch.parts or launch.folder == launch.parts[0]]
    if wanted:
        found = [launch for launch in found if running.flight_id(launch) == wanted]
    found = [launch for launch in found if launch.folder_path != but]
    if not found:
        return []

    def made_ns(launch: LaunchSettings) -> int:
        try:
            return launch.folder_path.stat().st_ctime_ns
        except OSError:
            return 0

    try:
        return launch_settings_of_parts(max(found, key=made_ns))
    except OSError:  # it has just ended
        return []


def serve(server: LiveServer, wanted: str, stopped: threading.Event, notice: Callable[[str], None]) -> None:
    """Serve one flight after the other until stopped; a flight selected by ID only to its end."""
    last: Path | None = None
    told: Path | None = None
    while not stopped.is_set():
        launch = newest(wanted, last)
        if not launch:
            server.step()
            stopped.wait(LOOK_S)
            continue
        if told != launch[0].folder_path:
            told = launch[0].folder_path
            notice(f"flight {running.flight_id(launch[0])}: {launch[0].scenario.name}")
        try:
            server.watch(launch, stopped)
        except LinkError:  # it has just ended, or its recorder has not started yet
            if wanted and not _runs(launch[0]):
                return
            stopped.wait(LOOK_S)
            continue
        last = launch[0].folder_path
        notice("the flight has ended")
        if wanted:
            return


def _runs(launch: LaunchSettings) -> bool:
    try:
        os.kill(launch.supervisor_pid, 0)
    except OSError:
        return False
    return launch.folder_path.exists()
