"""The live feed: what comes through, what it costs nobody, and what is refused."""

from __future__ import annotations

import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from stream_tables import MULTIROTOR, TILTROTOR

from aeroloop.core.errors import LinkError
from aeroloop.core.paths import runtime_dir
from aeroloop.core.signals import NS
from aeroloop.core.stream import REMEMBERED, Stream, fields
from aeroloop.flight.processes.recorder import Recording
from aeroloop.realtime import feed
from aeroloop.realtime.feed import LISTENERS, LONGEST, TABLE, FeedIn, FeedOut
from aeroloop.realtime.topics import Topics, sweep
from aeroloop.recording.log import LogWriter, read

MS = NS // 1000
STREAMS = (*MULTIROTOR.values(), TILTROTOR["cycle"])
FAST, FULL, EVENT = MULTIROTOR["truth"], TILTROTOR["cycle"], MULTIROTOR["event"]

HASH = feed._hash(STREAMS)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, since the path of a socket is."""
    made = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def packed(stream: Stream, t_s: float, second: float = 0.0) -> bytes:
    return stream.packing.pack(t_s, second, *(float(i) for i in range(len(stream.fields) - 2)))


class Flight:
    """A recorder that goes with the wall's time, or `speed` times as fast."""

    def __init__(self, folder: Path, speed: int = 1) -> None:
        self.out = FeedOut(folder, STREAMS)
        self.speed, self.wall_ns = speed, NS
        self.out.step(self.wall_ns)

    def fly(self, stream: Stream, seconds: float, rate_hz: float, *, vehicles: int = 1, start_s: float = 0.0) -> None:
        for k in range(round(seconds * rate_hz)):
            for vehicle in range(vehicles):
                self.out.offer(stream, packed(stream, start_s + k / rate_hz, vehicle))
            self.wall_ns += round(NS / rate_hz / self.speed)
            self.out.step(self.wall_ns)
        self.settle()

    def settle(self) -> None:
        for _ in range(2):
            self.wall_ns += NS
            self.out.step(self.wall_ns)


def times(rows: list[tuple[Stream, tuple[float, ...]]], stream: Stream, vehicle: float | None = None) -> list[float]:
    return [row[0] for s, row in rows if s.name == stream.name and (vehicle is None or row[1] == vehicle)]


def everything(flight: Flight, listener: FeedIn, stream: Stream, seconds: int, rate_hz: float, **more: int) -> list:  # type: ignore[type-arg]
    """As a listener that reads in time."""
    rows = []
    for second in range(5 * seconds):
        flight.fly(stream, 0.2, rate_hz, start_s=second / 5, **more)
        rows += listener.rows()
    return rows


def test_rows_come_as_they_were_offered(folder: Path) -> None:
    flight, listener = Flight(folder), FeedIn(folder)
    flight.settle()
    row = tuple(float(i) for i in range(len(FAST.fields)))
    flight.out.offer(FAST, FAST.packing.pack(*row))
    flight.out.offer(EVENT, EVENT.packing.pack(1.0, 0.0, 17.0, 2.5))
    flight.settle()
    assert listener.rows() == [(FAST, row), (EVENT, (1.0, 0.0, 17.0, 2.5))]
    assert listener.rows() == []


def test_fast_streams_are_thinned_evenly_and_each_vehicle_by_itself(folder: Path) -> None:
    flight, listener = Flight(folder), FeedIn(folder)
    flight.settle()
    rows = everything(flight, listener, FAST, 1, 250.0, vehicles=3)
    assert listener.lost == 0
    for vehicle in range(3):
        assert times(rows, FAST, vehicle) == pytest.approx([k / 50 for k in range(50)])


def test_slower_streams_and_events_come_in_full(folder: Path) -> None:
    flight, listener = Flight(folder), FeedIn(folder)
    flight.settle()
    assert len(everything(flight, listener, FULL, 2, 1 / 0.0125)) == 160
    flight.fly(EVENT, 0.2, 5000.0)
    assert len(times(listener.rows(), EVENT)) == 1000


def test_in_lockstep_no_more_comes_than_a_watcher_can_take(folder: Path) -> None:
    flight, listener = Flight(folder, speed=40), FeedIn(folder)
    flight.settle()
    flight.fly(FULL, 8.0, 1 / 0.0125)
    rows = listener.rows()
    assert 20 <= len(rows) <= 25 + 20 + 1, "0.2 s of the wall's time, and what may come at once"
    flight.fly(EVENT, 8.0, 100.0)
    assert len(times(listener.rows(), EVENT)) == 800


def test_without_a_listener_nothing_is_kept_but_the_latest_events(folder: Path) -> None:
    flight = Flight(folder)
    flight.fly(FAST, 1.0, 250.0)
    flight.fly(EVENT, 1.0, 2.0 * REMEMBERED)
    assert flight.out._held == []
    listener = FeedIn(folder)
    flight.settle()
    rows = listener.rows()
    assert [stream for stream, _ in rows] == [EVENT] * REMEMBERED, "who comes late is told what happened"
    assert times(rows, EVENT)[-1] == pytest.approx(1.0 - 0.5 / REMEMBERED)
    flight.fly(EVENT, 0.1, 50.0, start_s=2.0)
    assert len(listener.rows()) == 5, "and told nothing twice"
    assert listener.lost == 0


def test_a_newcomer_is_not_told_twice_what_was_on_its_way(folder: Path) -> None:
    flight, first = Flight(folder), FeedIn(folder)
    flight.settle()
    newcomer = FeedIn(folder)
    flight.out.offer(EVENT, packed(EVENT, 1.0))
    flight.out._look()
    flight.settle()
    assert [len(listener.rows()) for listener in (first, newcomer)] == [1, 1]


def test_a_stalled_listener_costs_only_itself(folder: Path) -> None:
    flight, stalled, reader = Flight(folder), FeedIn(folder), FeedIn(folder)
    flight.settle()
    rows = everything(flight, reader, FAST, 6, 250.0)
    assert len(rows) == 300
    assert reader.lost == 0
    assert flight.out.dropped > 0
    held = stalled.rows()
    assert 0 < len(held) < 300
    flight.fly(FAST, 0.1, 250.0, start_s=10.0)
    assert len(stalled.rows()) == 5, "it is served again as soon as it reads"
    assert stalled.lost == flight.out.dropped


def test_every_row_that_was_published_is_logged_though_all_watchers_stall(tmp_path: Path) -> None:
    folder = runtime_dir() / f"test-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    out, stalled = FeedOut(folder, STREAMS), [FeedIn(folder) for _ in range(feed.MOST_LISTENERS)]
    try:
        topics, log = Topics(folder, wait=False), LogWriter(tmp_path / "log.mcap", STREAMS)
        recording = Recording(topics, log, out, STREAMS)
        publishers = {stream: topics.publisher(stream) for stream in (FAST, EVENT, MULTIROTOR["router_link"])}
        for k in range(2000):
            for stream, publisher in publishers.items():
                publisher.send(*(float(k) / 250,) * len(stream.fields))
            if k % 50 == 0:
                recording.drain()
                out.step(NS + k * 4 * MS)
        topics.flush()
        recording.drain()
        log.close()
        assert out.listeners == feed.MOST_LISTENERS and out.dropped > 0
        assert recording.lost == 0
        logged = read(tmp_path / "log.mcap").rows
        assert {s.name: p.sent for s, p in publishers.items()} == {s.name: len(logged[s.name]) for s in publishers}
    finally:
        out.close()
        for listener in stalled:
            listener.close()
        sweep(folder)
        shutil.rmtree(folder)


def test_the_epoch_is_read_as_it_was_told_and_not_before(folder: Path) -> None:
    assert feed.read_epoch(folder) is None
    feed.publish_epoch(folder, 1_780_000_000_123_456_789)
    assert feed.read_epoch(folder) == 1_780_000_000_123_456_789
    (folder / feed.EPOCH).write_text("soon")
    assert feed.read_epoch(folder) is None
    feed.publish_epoch(folder / "gone", 1)  # a flight's folder that is no longer there


def test_only_its_owner_may_enter_the_folder_of_listeners(folder: Path) -> None:
    FeedOut(folder, STREAMS)
    assert (folder / LISTENERS).stat().st_mode & 0o777 == 0o700
    shutil.rmtree(folder / LISTENERS)
    FeedIn(folder).close()
    assert (folder / LISTENERS).stat().st_mode & 0o777 == 0o700


def test_a_flood_is_cut_into_datagrams_that_fit(folder: Path) -> None:
    flight, listener = Flight(folder), FeedIn(folder)
    flight.settle()
    count = 3 * LONGEST // (EVENT.packing.size + 2)
    for k in range(count):
        flight.out.offer(EVENT, packed(EVENT, float(k)))
        assert flight.out._held_bytes <= LONGEST
    flight.settle()
    assert times(listener.rows(), EVENT) == list(range(count))


def test_who_has_gone_is_forgotten(folder: Path) -> None:
    flight = Flight(folder)
    gone = FeedIn(folder)
    flight.settle()
    assert flight.out.listeners == 1
    gone._socket.close()  # as a process that was killed leaves it
    flight.fly(FAST, 0.1, 250.0)
    assert flight.out.listeners == 0
    assert list((folder / LISTENERS).iterdir()) == []
    polite = FeedIn(folder)
    flight.settle()
    polite.close()
    flight.settle()
    assert flight.out.listeners == 0


def test_strangers_in_the_folder_do_no_harm(folder: Path) -> None:
    flight = Flight(folder)
    (folder / LISTENERS / "file.sock").write_text("no socket")
    (folder / LISTENERS / "folder.sock").mkdir()
    for n in range(20):
        FeedIn(folder)._path.rename(folder / LISTENERS / f"many-{n}.sock")
    flight.settle()
    assert flight.out.listeners <= feed.MOST_LISTENERS
    assert (folder / LISTENERS / "file.sock").exists(), "only sockets are removed"
    shutil.rmtree(folder / LISTENERS)
    flight.fly(FAST, 0.1, 250.0)
    assert flight.out.listeners == 0


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"x",
        HASH,
        HASH + bytes(8) + b"\xff\xff" + bytes(50),
        HASH + bytes(8) + b"\0\0" + bytes(7),
    ],
)
def test_what_makes_no_sense_is_refused_and_counted(folder: Path, datagram: bytes) -> None:
    FeedOut(folder, STREAMS)
    listener = FeedIn(folder)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(datagram, str(listener._path))
    assert listener.rows() == []
    assert listener.refused == 1


def test_another_version_is_refused_with_a_sentence(folder: Path) -> None:
    flight, listener = Flight(folder), FeedIn(folder)
    (folder / TABLE).write_text('[{"name": "truth", "colour": "red"}]')
    flight.settle()
    with pytest.raises(LinkError, match="use the version of Aeroloop that flies it"):
        listener.rows()


def test_a_listener_learns_the_streams_of_any_flight(folder: Path) -> None:
    """Those of a family that the one who watches has never heard of too."""
    stream = Stream("glide", "plant", 10.0, True, True, "of a glider", fields(("z_m", "m", "height")), remembered=3)
    out, listener = FeedOut(folder, (MULTIROTOR["truth"], stream)), FeedIn(folder)
    out.offer(stream, stream.packing.pack(0.1, 0.0, 5.0))
    out.step(NS)
    assert listener.rows() == [(stream, (0.1, 0.0, 5.0))]
    out.close()
    listener.close()


def test_there_must_be_a_flight(folder: Path) -> None:
    with pytest.raises(LinkError, match="no flight to listen to"):
        FeedIn(folder / "nowhere")
