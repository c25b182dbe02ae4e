"""Records from one process to another: the topics in shared memory against `multiprocessing.Queue`."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

from aeroloop.core.common_streams import common
from aeroloop.flight.processes.recorder import IDLE_S
from aeroloop.realtime.topics import Topics
from benchmarks.flight_processes import PATIENCE_S, flight_folder
from benchmarks.measure import Outcome, row, take_turns

STREAM = common("truth", rate_hz=250.0)
RECORD = tuple(float(index) for index in range(len(STREAM.fields)))
TOPIC, QUEUE = "topic", "multiprocessing.Queue"


def run(quick: bool) -> Outcome:
    rounds, count = (2, 500) if quick else (9, 20_000)
    outcome = Outcome()
    with flight_folder() as folder:
        one_by_one = take_turns(in_one_process(folder, count // 10), rounds)
    with flight_folder() as folder:
        streamed = across_processes(folder, rounds, count)
    unit, peer = "records/s", QUEUE
    outcome.rows.append(row("streamed to another process", unit, streamed[TOPIC], peer, streamed[QUEUE]))
    outcome.rows.append(row("one at a time, one process", unit, one_by_one[TOPIC], peer, one_by_one[QUEUE]))
    outcome.notes.append(f"a record is a row of `{STREAM.name}`: {len(RECORD)} doubles")
    return outcome


def in_one_process(folder: Path, count: int) -> dict[str, Callable[[], float]]:
    topics = Topics(folder, wait=True, lockstep=False)
    subscriber, publisher = topics.subscriber(STREAM), topics.publisher(STREAM)
    queue: Any = multiprocessing.get_context("spawn").Queue()

    def topic_rate() -> float:
        began_s = time.perf_counter()
        for _ in range(count):
            publisher.send(*RECORD)
            (record,) = subscriber.records()
            STREAM.packing.unpack(record)
        return count / (time.perf_counter() - began_s)

    def queue_rate() -> float:
        began_s = time.perf_counter()
        for _ in range(count):
            queue.put(RECORD)
            queue.get(timeout=PATIENCE_S)
        return count / (time.perf_counter() - began_s)

    return {TOPIC: topic_rate, QUEUE: queue_rate}


def across_processes(folder: Path, rounds: int, count: int) -> dict[str, list[float]]:
    """One consumer each for topic and queue; each says when it has had the records of a round."""
    spawn = multiprocessing.get_context("spawn")
    queue: Any = spawn.Queue()
    topic_consumer = Consumer(spawn, consume_topic, (str(folder), count))
    queue_consumer = Consumer(spawn, consume_queue, (queue, count))
    with topic_consumer, queue_consumer:
        publish = Topics(folder, wait=True, lockstep=False).publisher(STREAM).send
        contestants = {
            TOPIC: lambda: _stream_rate(lambda: publish(*RECORD), topic_consumer, count),
            QUEUE: lambda: _stream_rate(lambda: queue.put(RECORD), queue_consumer, count),
        }
        return take_turns(contestants, rounds)


def _stream_rate(send: Callable[[], None], consumer: Consumer, count: int) -> float:
    began_s = time.perf_counter()
    for _ in range(count):
        send()
    consumer.await_word()
    return count / (time.perf_counter() - began_s)


class Consumer:
    """A process that receives, and its line back; use it as a context manager."""

    def __init__(self, spawn: SpawnContext, target: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._line, theirs = spawn.Pipe()
        self._process = spawn.Process(target=target, args=(theirs, *args), daemon=True)

    def __enter__(self) -> Consumer:
        self._process.start()
        self.await_word()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def await_word(self) -> None:
        if not self._line.poll(PATIENCE_S):
            raise RuntimeError(f"the records did not arrive within {PATIENCE_S:g} s")
        self._line.recv()


def consume_topic(line: Connection, folder: str, count: int) -> None:
    """As the recorder does: drain, and sleep when there is nothing."""
    subscriber = Topics(Path(folder), wait=True, lockstep=False).subscriber(STREAM)
    line.send("ready")
    while True:
        received = 0
        while received < count:
            had = received
            for record in subscriber.records():
                STREAM.packing.unpack(record)
                received += 1
            if received == had:
                time.sleep(IDLE_S)
        line.send("done")


def consume_queue(line: Connection, queue: Any, count: int) -> None:
    line.send("ready")
    while True:
        for _ in range(count):
            queue.get()
        line.send("done")
