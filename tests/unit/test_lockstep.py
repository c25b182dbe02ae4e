"""Lockstep: batons, stamped bytes, and a pace that goes from event to event."""

from __future__ import annotations

import socket
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import LinkError
from aeroloop.realtime import lockstep
from aeroloop.realtime.lockstep import Baton, PeerGoneError, Reply, StampedLink
from aeroloop.realtime.pace import LockstepPace, WallPace


class Wire:
    """A link that hands out its bytes in the given chunks."""

    url = "test://"

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = deque(chunks)
        self.sent = b""
        self._socket, self._other = socket.socketpair()
        self._other.send(b"x")  # always readable

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        self.sent += data

    def poll(self) -> bytes:
        return self.chunks.popleft() if self.chunks else b""

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None:
        self._socket.close()
        self._other.close()


def batons() -> tuple[Baton, Baton]:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Baton(here.detach(), "board"), Baton(there.detach(), "plant")


def test_baton_carries_numbers_and_tells_of_a_peer_that_has_gone() -> None:
    here, there = batons()
    here.pass_on(1, 2**60)
    assert there.take() == (1, 2**60, 0, 0)
    there.close()
    with pytest.raises(PeerGoneError, match="board process has gone"):
        here.take()
    with pytest.raises(PeerGoneError):
        here.pass_on(1)


def test_baton_that_is_not_returned_is_a_failure_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "PATIENCE_S", 0.05)
    here, _there = batons()
    with pytest.raises(LinkError, match="board did not finish its cycle"):
        here.take()


@given(st.lists(st.binary(min_size=1, max_size=5), max_size=20), st.data())
def test_stamped_bytes_appear_at_their_time_whatever_the_chunks(chunks: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(chunks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    now = 0
    link = StampedLink(Wire(chunks), lambda: now)
    for n, cut in enumerate(cuts):
        link.take(cut, 10 * n)
    seen = {}
    for now in range(0, 10 * len(cuts) + 1, 5):
        seen[now] = link.poll()
    for n, cut in enumerate(cuts):
        before = cuts[n - 1] if n else 0
        assert seen[10 * n] == stream[before:cut]
    assert b"".join(seen.values()) == stream[: cuts[-1] if cuts else 0]


def test_bytes_that_never_arrive_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "PATIENCE_S", 0.01)
    wire = Wire([])
    wire._socket.recv(1)  # nothing readable
    with pytest.raises(LinkError, match="3 bytes were sent and never arrived"):
        StampedLink(wire, lambda: 0).take(3, 0)


def test_pace_goes_from_event_to_event_and_grants_the_ground_a_window() -> None:
    plant, board = batons()
    plant_g, ground = batons()
    now = 0
    stamped = StampedLink(Wire([b"abc", b"defg"]), lambda: now)
    pace = LockstepPace(stamped, stamped, plant, plant_g, period_ns=12, end_ns=100)
    board.pass_on(*Reply(3, 0, 3, 12))  # three bytes now, wake at 12
    assert pace.wait(0) == 0
    assert board.take()[:2] == (0, 0)
    assert ground.take()[0] == 100  # a window of 64 cycles, cut at the end of the flight
    assert stamped.poll() == b"abc"
    stamped.send(b"answer")
    board.pass_on(*Reply(5, 12, 7, 24))  # two bytes now, two at the next timer
    assert pace.wait(0) == 0
    assert board.take()[:2] == (0, 6)
    assert stamped.poll() == b"de"
    assert pace.wait(0) == now + 12
    now = 12
    assert stamped.poll() == b"fg"
    assert pace.wait(12) == 24  # nothing sent, nothing due: on to the wake-up


class Clock:
    def __init__(self) -> None:
        self.ns = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Wall time that moves only when the pace sleeps, or when the test says so."""
    from aeroloop.realtime import pace

    fake = Clock()
    monkeypatch.setattr(pace.time, "monotonic_ns", lambda: fake.ns)

    def sleep(_r: object, _w: object, _x: object, timeout_s: float) -> tuple[list[int], list[int], list[int]]:
        fake.ns += round(timeout_s * 1e9)
        return [], [], []

    monkeypatch.setattr(pace.select, "select", sleep)
    return fake


MS = 1_000_000


def test_wall_pace_keeps_absolute_deadlines(clock: Clock) -> None:
    pace = WallPace(Wire([]), 4 * MS, 1.0)
    pace.start()
    assert pace.wait(0) == 4 * MS
    clock.ns += 1 * MS  # the step took a while: the next deadline does not move
    assert pace.wait(4 * MS) == 8 * MS
    assert clock.ns == 8 * MS
    assert pace.missed_deadlines == 0


def test_wall_time_never_goes_back(clock: Clock) -> None:
    """Impaired links stamp frames with it: one set back would hold every frame until it had caught up."""
    pace = WallPace(Wire([]), 4 * MS, 1.0)
    seen = [pace.now_ns()]
    clock.ns += 4000 * MS  # the board connects late
    seen.append(pace.now_ns())
    pace.start()
    t_ns = 0
    for stall in (0, 0, 50, 0, 7, 0):
        seen.append(pace.now_ns())
        t_ns = pace.wait(t_ns)
        clock.ns += stall * MS
    assert pace.missed_deadlines > 5
    assert seen == sorted(seen)


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_missed_deadlines_are_counted_and_not_made_up_for(clock: Clock, speed: float) -> None:
    pace = WallPace(Wire([]), 4 * MS, speed)
    pace.start()
    pace.wait(0)
    clock.ns += int(11 * MS / speed)  # stalls for almost three steps
    assert pace.wait(4 * MS) == 8 * MS
    assert pace.missed_deadlines == 1  # the step at 8 came 7 ms late: one whole period
    at = clock.ns
    assert pace.wait(8 * MS) == 12 * MS
    assert clock.ns - at == pytest.approx(1 * MS / speed)  # 8 + 4 after the slip, not at once
    assert pace.missed_deadlines == 1
