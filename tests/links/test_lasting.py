"""A server's end that outlives its peers: they leave while it reads and while it writes, and others come."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from aeroloop.core.errors import LinkError
from aeroloop.links.lasting import LastingServer
from aeroloop.links.url import ends, parse

HANG_S = 60.0
RESET = struct.pack("ii", 1, 0)


@pytest.fixture
def server() -> Iterator[LastingServer]:
    url, _ = ends("tcp://127.0.0.1:0", folder=Path(), name="lasting")
    link = LastingServer(url)
    yield link
    link.close()


def client(server: LastingServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", parse(server.url).port), timeout=HANG_S)


def heard(server: LastingServer) -> bytes:
    assert select.select([server.fileno()], [], [], HANG_S)[0]
    return server.poll() or server.poll()


def test_a_broken_pipe_on_sending_is_survived_and_counted(server: LastingServer) -> None:
    first = client(server)
    first.sendall(b"hello")
    assert heard(server) == b"hello"
    first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    first.close()
    for _ in range(3):
        server.send(b"to nobody")
    assert server.departures == 1
    with client(server) as second:
        second.sendall(b"me")
        assert heard(server) == b"me"
        server.send(b"you")
        assert second.recv(100) == b"you", "and nothing of what was meant for the first"
    assert server.departures == 1


def test_last_words_are_heard_though_the_pipe_broke_on_sending(server: LastingServer) -> None:
    with client(server) as first:
        first.sendall(b"hello")
        assert heard(server) == b"hello"
        first.sendall(b"farewell")
    deadline_s = time.monotonic() + HANG_S
    while not server.departures and time.monotonic() < deadline_s:
        server.send(b"still there?")
    assert server.departures == 1
    assert server.poll() == b"farewell"


def test_what_is_sent_to_nobody_does_not_wait_for_the_first_to_come(server: LastingServer) -> None:
    for _ in range(10_000):
        server.send(bytes(100))
    with client(server) as first:
        select.select([server.fileno()], [], [], HANG_S)
        server.send(b"now")
        assert first.recv(100) == b"now"
    assert server.departures == 0


def test_a_second_client_is_refused_while_the_first_is_there(server: LastingServer) -> None:
    with client(server) as first:
        first.sendall(b"hello")
        assert heard(server) == b"hello"
        with pytest.raises(ConnectionRefusedError):
            client(server)
        server.send(b"undisturbed")
        assert first.recv(100) == b"undisturbed"


def test_who_is_let_in_by_sending_is_still_seen_by_who_waits_to_read(server: LastingServer) -> None:
    with client(server) as first:
        first.sendall(b"hello")
        server.send(b"anybody?")
        assert select.select([server.fileno()], [], [], HANG_S)[0], "its words must not hide from select"
        assert server.poll() == b"hello"
        assert first.recv(100) == b"anybody?"


class Cable:
    """A serial line at a path of its own, as udev gives a board."""

    def __init__(self, path: Path) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        path.unlink(missing_ok=True)
        path.symlink_to(os.ttyname(self._slave))

    def unplug(self) -> None:
        os.close(self.master)
        os.close(self._slave)


def test_a_serial_line_that_is_there_again_goes_on(tmp_path: Path) -> None:
    first = Cable(tmp_path / "board")
    link = LastingServer(f"serial://{tmp_path}/board")
    os.write(first.master, b"hello")
    assert heard(link) == b"hello"
    second = Cable(tmp_path / "board")
    first.unplug()
    assert link.poll() == b""
    assert link.departures == 1
    os.write(second.master, b"me")
    assert heard(link) == b"me"
    link.send(b"you")
    assert os.read(second.master, 100) == b"you"
    second.unplug()
    link.close()


def test_a_serial_line_that_is_gone_says_so() -> None:
    master, slave = os.openpty()
    path = os.ttyname(slave)
    link = LastingServer(f"serial://{path}")
    os.close(slave)
    os.close(master)
    with pytest.raises(LinkError, match=f"{path}: lost, and it cannot be reopened: {path}: no such device"):
        link.poll()
    link.close()
