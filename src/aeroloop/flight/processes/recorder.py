"""The recorder process: every logged stream into one MCAP file and to who watches, and progress to the supervisor."""

from __future__ import annotations

import time
from pathlib import Path

from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.core.streams import logged, streams_of
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.realtime.feed import FeedOut
from aeroloop.realtime.topics import Subscriber, Topics
from aeroloop.recording.log import LogWriter

IDLE_S = 0.002
FLUSH_PERIOD_NS = NS // 4
"""After `kill -9` the file ends at the last flush, well within its last second."""
PROGRESS_PERIOD_NS = NS // 10


class Recording:
    def __init__(self, topics: Topics, log: LogWriter, feed: FeedOut, streams: tuple[Stream, ...]) -> None:
        self._log, self._feed = log, feed
        self._subscribers: list[Subscriber] = [topics.subscriber(stream) for stream in streams]
        self.flown_s = 0.0

    def drain(self) -> int:
        """Write everything that has arrived; how many records that was."""
        written = 0
        for subscriber in self._subscribers:
            record = None
            for record in subscriber.records():
                self._log.write(subscriber.stream, record)
                self._feed.offer(subscriber.stream, record)
                written += 1
            if record is not None and subscriber.stream.simulated and subscriber.stream.producer == "plant":
                self.flown_s = max(self.flown_s, subscriber.stream.packing.unpack(record)[0])
        return written

    @property
    def lost(self) -> int:
        return sum(subscriber.lost for subscriber in self._subscribers)


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    line.await_order("open")
    streams = logged(streams_of(orders.scenario))
    log = LogWriter(Path(orders.log), streams)
    feed = FeedOut(orders.folder_path, streams)
    topics = Topics(orders.folder_path, wait=orders.scenario.lockstep)
    recording = Recording(topics, log, feed, streams)
    line.tell("ready")
    line.await_order("start")
    flushed_ns = told_ns = time.monotonic_ns()
    while not stop():
        if not recording.drain():
            time.sleep(IDLE_S)
        now_ns = time.monotonic_ns()
        feed.step(now_ns)
        if now_ns - flushed_ns > FLUSH_PERIOD_NS:
            flushed_ns = now_ns
            log.flush()
        if now_ns - told_ns > PROGRESS_PERIOD_NS:
            told_ns = now_ns
            line.tell("progress", flown_s=recording.flown_s)
    while recording.drain():
        feed.step(time.monotonic_ns())
        line.tell("progress", flown_s=recording.flown_s)  # as long as there is any, it is waited for
    feed.close()
    log.write_metadata("recorder", {"lost_rows": str(recording.lost)})
    log.close()
    line.tell("done", lost=recording.lost)


if __name__ == "__main__":
    run_process(main)
