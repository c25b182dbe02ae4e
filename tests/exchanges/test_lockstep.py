"""Lockstep: batons, stamped bytes, and a pace that goes from event to event."""

from __future__ import annotations

import socket
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import LinkError
from aeroloop.exchanges.barriers import BatonBarrier
from aeroloop.realtime import lockstep
from aeroloop.realtime.lockstep import Baton, PeerGoneError, Reply, StampedLink


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
    with pytest.raises(PeerGoneError, match="board process has ended"):
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
    with pytest.raises(LinkError, match="3 bytes were sent but not received"):
        StampedLink(wire, lambda: 0).take(3, 0)


def test_the_barrier_goes_from_event_to_event_and_grants_the_ground_a_window() -> None:
    plant, board = batons()
    plant_g, ground = batons()
    now = 0
    stamped = StampedLink(Wire([b"abc", b"defg"]), lambda: now)
    barrier = BatonBarrier(stamped, stamped, plant, plant_g, period_ns=12, end_ns=100)
    assert barrier.next_ns(0) == 0
    board.pass_on(*Reply(3, 0, 3, 12))  # three bytes now, wake at 12
    barrier.settle(0)
    assert barrier.next_ns(0) == 0
    assert board.take()[:2] == (0, 0)
    assert ground.take()[0] == 100  # a window of 64 cycles, cut at the end of the flight
    assert stamped.poll() == b"abc"
    stamped.send(b"answer")
    board.pass_on(*Reply(5, 12, 7, 24))  # two bytes now, two at the next timer
    barrier.settle(0)
    assert barrier.next_ns(0) == 0
    assert board.take()[:2] == (0, 6)
    assert stamped.poll() == b"de"
    barrier.settle(0)  # nothing was sent: nobody is asked
    assert barrier.next_ns(0) == 12
    now = 12
    assert stamped.poll() == b"fg"
    barrier.settle(12)
    assert barrier.next_ns(12) == 24  # nothing sent, nothing due: on to the wake-up
