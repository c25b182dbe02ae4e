"""Records that travel in batches: none is lost, held too long or counted wrongly."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from stream_tables import MULTIROTOR

from aeroloop.core.paths import runtime_dir
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


def test_all_publishers_are_flushed_at_the_end(folder: Path) -> None:
    topics = Topics(folder, wait=True)
    stream = MULTIROTOR["truth"]
    subscribers = [topics.subscriber(s, batch=BATCH) for s in (STREAM, stream)]
    for s in (STREAM, stream):
        topics.publisher(s, batch=BATCH).send(*(0.0 for _ in s.fields))
    assert [len(list(s.records())) for s in subscribers] == [0, 0]
    topics.flush()
    assert [len(list(s.records())) for s in subscribers] == [1, 1]
