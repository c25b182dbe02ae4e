"""Records that travel in batches: none is lost, held too long or counted wrongly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stream_tables import MULTIROTOR

from aeroloop.core.paths import runtime_dir
from aeroloop.realtime import topics as topics_module
from aeroloop.realtime.topics import BUFFERED_RECORDS, HELD_S, LOCKSTEP_HELD_S, Publisher, Subscriber, Topics, sweep

STREAM = MULTIROTOR["imu"]
BATCH = 8


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flight-", dir=runtime_dir()) as made:  # short: sockets live there
        yield Path(made)
        sweep(Path(made))


def ends(folder: Path, *, wait: bool = True) -> tuple[Publisher, Subscriber]:
    topics = Topics(folder, wait=wait, lockstep=False)
    return topics.publisher(STREAM, batch=BATCH), topics.subscriber(STREAM, batch=BATCH)


def row(n: int, t_s: float) -> tuple[float, ...]:
    return (t_s, *(float(n) for _ in STREAM.fields[1:]))


def taken(subscriber: Subscriber) -> list[tuple[float, ...]]:
    return [STREAM.packing.unpack(record) for record in subscriber.records()]


def test_rows_of_a_batch_come_out_one_by_one_and_in_order(folder: Path) -> None:
    publisher, subscriber = ends(folder)
    rows = [row(n, 0.001 * n) for n in range(3 * BATCH + 2)]
    for one in rows:
        publisher.send(*one)
    assert taken(subscriber) == rows[: 3 * BATCH], "full batches went by themselves"
    publisher.flush()
    publisher.flush()
    assert taken(subscriber) == rows[3 * BATCH :]
    assert subscriber.lost == 0


def test_rows_of_an_aircraft_get_its_number_among_all_rows(folder: Path) -> None:
    publisher, subscriber = ends(folder)
    first, third = publisher.numbered(0), publisher.numbered(2)
    rows = [row(n, 0.001 * n) for n in range(BATCH)]
    for n, (t_s, _, *values) in enumerate(rows):
        (third if n % 2 else first)(t_s, *values)
    assert taken(subscriber) == [(one[0], 2.0 if n % 2 else 0.0, *one[2:]) for n, one in enumerate(rows)]


def test_no_row_is_held_longer_than_it_may(folder: Path) -> None:
    publisher, subscriber = ends(folder)
    publisher.send(*row(0, 1.0))
    publisher.send(*row(1, 1.0 + 0.9 * HELD_S))
    assert taken(subscriber) == []
    publisher.send(*row(2, 1.0 + 1.1 * HELD_S))
    assert len(taken(subscriber)) == 3
    publisher.send(*row(3, 1.0 + 1.2 * HELD_S))
    assert taken(subscriber) == [], "the next batch has its own time"


def test_in_lockstep_fast_streams_are_held_longer_and_slow_ones_not_at_all(folder: Path) -> None:
    topics = Topics(folder, wait=True)
    publisher, subscriber = topics.publisher(STREAM), topics.subscriber(STREAM)
    publisher.send(*row(0, 1.0))
    publisher.send(*row(1, 1.0 + 0.9 * LOCKSTEP_HELD_S))
    assert taken(subscriber) == []
    publisher.send(*row(2, 1.0 + 1.1 * LOCKSTEP_HELD_S))
    assert len(taken(subscriber)) == 3
    event = MULTIROTOR["event"]
    events, told = topics.publisher(event), topics.subscriber(event)
    events.send(*(1.0 for _ in event.fields))
    assert len(list(told.records())) == 1


def test_a_process_that_never_waits_reads_the_topics_of_a_flight_in_lockstep(folder: Path) -> None:
    publisher = Topics(folder, wait=True).publisher(STREAM)
    subscriber = Topics(folder, wait=False, lockstep=True).subscriber(STREAM)
    publisher.send(*row(0, 1.0))
    publisher.flush()
    assert taken(subscriber) == [row(0, 1.0)]


def test_losses_are_counted_in_rows(folder: Path) -> None:
    publisher, subscriber = ends(folder, wait=False)
    for n in range(BUFFERED_RECORDS + 3 * BATCH):
        publisher.send(*row(n, 0.0))
    assert len(taken(subscriber)) == BUFFERED_RECORDS
    publisher.send(*row(0, 0.0))
    publisher.flush()
    assert len(taken(subscriber)) == 1
    assert subscriber.lost == 3 * BATCH


SLOW_READER = """
import sys, time
from pathlib import Path
from aeroloop.families.multirotor.streams import STREAMS
from aeroloop.realtime.topics import Topics

folder, batch, rows = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
stream = next(stream for stream in STREAMS if stream.name == "imu")
topics = Topics(folder, wait=True)
subscriber = topics.subscriber(stream, batch=batch)
print("ready", flush=True)
numbers = []
while len(numbers) < rows and not subscriber.lost:
    time.sleep(0.05)
    numbers += [stream.packing.unpack(record)[1] for record in subscriber.records()]
print(subscriber.lost, numbers == [float(n) for n in range(rows)], flush=True)
"""
"""A program, since a forked process would share iceoryx2's state with this one."""


@contextmanager
def slow_readers(folder: Path, count: int, batch: int, rows: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Their buffers are full most of the time."""
    command = [sys.executable, "-c", SLOW_READER, str(folder), str(batch), str(rows)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        assert [line(reader) for reader in readers] == ["ready"] * count
        yield readers
    finally:
        for reader in readers:
            reader.kill()
            reader.communicate()


def line(reader: subprocess.Popen[str]) -> str:
    assert reader.stdout is not None
    return reader.stdout.readline().strip()


@pytest.mark.parametrize("batch", [1, 64])
def test_in_lockstep_full_subscribers_are_waited_for(folder: Path, batch: int) -> None:
    """Two of them, so that what one has already comes again, and must not be read twice."""
    rows = 4 * BUFFERED_RECORDS
    with slow_readers(folder, 2, batch, rows) as readers:
        publisher = Topics(folder, wait=True).publisher(STREAM, batch=batch)
        for n in range(rows):
            publisher.send(*row(n, 0.0))
        publisher.flush()
        assert publisher.sent == rows
        assert [line(reader) for reader in readers] == ["0 True"] * 2


def test_a_subscriber_that_was_killed_is_not_waited_for(folder: Path) -> None:
    with slow_readers(folder, 1, 1, BUFFERED_RECORDS**2) as (reader,):
        os.kill(reader.pid, signal.SIGSTOP)
        publisher = Topics(folder, wait=True).publisher(STREAM, batch=1)
        for n in range(BUFFERED_RECORDS):
            publisher.send(*row(n, 0.0))
        reader.kill()
        reader.wait()
        for n in range(100):
            publisher.send(*row(n, 0.0))  # would wait for ever


def test_a_process_that_has_to_end_does_not_wait_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics_module, "LAST_WAIT_S", 0.01)
    topics = Topics(folder, wait=True, stopped=lambda: True)
    publisher, subscriber = topics.publisher(STREAM, batch=1), topics.subscriber(STREAM, batch=1)
    for n in range(BUFFERED_RECORDS + 3):
        publisher.send(*row(n, 0.0))
    assert len(taken(subscriber)) == BUFFERED_RECORDS


def test_all_publishers_are_flushed_at_the_end(folder: Path) -> None:
    topics = Topics(folder, wait=True)
    stream = MULTIROTOR["truth"]
    subscribers = [topics.subscriber(s, batch=BATCH) for s in (STREAM, stream)]
    for s in (STREAM, stream):
        topics.publisher(s, batch=BATCH).send(*(0.0 for _ in s.fields))
    assert [len(list(s.records())) for s in subscribers] == [0, 0]
    topics.flush()
    assert [len(list(s.records())) for s in subscribers] == [1, 1]
