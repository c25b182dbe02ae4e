"""The contract of every link, bare and wearing an impairment that does nothing; then each one's own ways."""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import termios
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import serial

from aeroloop.core.errors import LinkError
from aeroloop.core.impairment import Impairment
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.loopback import open_loopback
from aeroloop.links.open import open_link
from aeroloop.links.serial import SerialLink
from aeroloop.links.tcp import open_tcp
from aeroloop.links.udp import UdpServer
from aeroloop.links.url import ends, parse

PATIENCE_S = 10.0
"""How long a test waits for bytes that must come; it never asserts how long they took."""

TEMPLATES = {
    "loopback": "loopback://",
    "pty": "pty://",
    "udp": "udp://127.0.0.1:0",
    "tcp": "tcp://127.0.0.1:0",
}
OPENERS = {"loopback": open_loopback, "tcp": open_tcp}


@dataclass(frozen=True)
class Pair:
    server: Link
    client: Link
    stream: bool  # bytes arrive or the link says that it failed


def wear(link: Link) -> Link:
    return Impaired(link, inbound=Impairment(), outbound=Impairment(), clock_ns=time.monotonic_ns, seed=1)


@pytest.fixture(params=[f"{scheme}{worn}" for scheme in TEMPLATES for worn in ("", "+impaired")])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    scheme, _, worn = request.param.partition("+")
    server_url, client_url = ends(TEMPLATES[scheme], folder=tmp_path, name="board")
    assert client_url is not None
    server, client = open_link(server_url), open_link(client_url)
    if worn:
        server, client = wear(server), wear(client)
    yield Pair(server, client, stream=scheme != "udp")
    client.close()
    server.close()


def receive(link: Link, count: int) -> bytes:
    """The next `count` bytes, waiting with select() as a loop would."""
    got = b""
    deadline = time.monotonic() + PATIENCE_S
    while len(got) < count:
        assert time.monotonic() < deadline, f"{link.url}: {len(got)} of {count} bytes came"
        select.select([link], [], [], 0.05)
        got += link.poll()
    return got


def meet(pair: Pair) -> None:
    """The client speaks first, as a board does with its start message."""
    pair.client.send(b"!")
    assert receive(pair.server, 1) == b"!"


def poll_until_error(link: Link) -> str:
    deadline = time.monotonic() + PATIENCE_S
    with pytest.raises(LinkError) as caught:
        while time.monotonic() < deadline:
            select.select([link], [], [], 0.05)
            link.poll()
    return str(caught.value)


def drain(sender: Link, receiver: Link, count: int) -> bytes:
    """The next `count` bytes, while both ends poll."""
    got = bytearray()
    deadline = time.monotonic() + PATIENCE_S
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} bytes came"
        sender.poll()
        got += receiver.poll()
    return bytes(got)


ALL_BYTES = bytes(range(256))


def test_every_byte_value_crosses_both_ways_in_order(pair: Pair) -> None:
    meet(pair)
    pair.client.send(ALL_BYTES)
    assert receive(pair.server, 256) == ALL_BYTES
    pair.server.send(ALL_BYTES[::-1])
    assert receive(pair.client, 256) == ALL_BYTES[::-1]
    for value in ALL_BYTES:
        pair.server.send(bytes([value]))
    assert receive(pair.client, 256) == ALL_BYTES


def test_a_large_transfer_arrives_whole_each_way(pair: Pair) -> None:
    meet(pair)
    data = os.urandom(100_000)
    for sender, receiver in ((pair.client, pair.server), (pair.server, pair.client)):
        got = b""
        for start in range(0, len(data), 1000):
            sender.send(data[start : start + 1000])
            sender.poll()
            got += receiver.poll()
        assert got + drain(sender, receiver, len(data) - len(got)) == data


def test_nothing_there_is_no_bytes(pair: Pair) -> None:
    assert pair.server.poll() == b""
    assert pair.client.poll() == b""
    meet(pair)
    assert pair.server.poll() == b""
    assert pair.client.poll() == b""
    assert pair.server.next_due_ns() is None


def test_select_wakes_for_bytes_and_only_for_bytes(pair: Pair) -> None:
    pair.server.poll()  # a listener learns here of a peer that has connected
    assert select.select([pair.server, pair.client], [], [], 0)[0] == []
    meet(pair)
    assert select.select([pair.server, pair.client], [], [], 0)[0] == []
    pair.server.send(b"?")
    assert select.select([pair.server, pair.client], [], [], PATIENCE_S)[0] == [pair.client]
    assert receive(pair.client, 1) == b"?"


def test_closing_twice_is_harmless_and_a_closed_link_refuses(pair: Pair) -> None:
    meet(pair)
    for link in (pair.server, pair.client):
        link.close()
        link.close()
        assert link.fileno() == -1
        with pytest.raises(LinkError):
            link.poll()


def test_a_vanished_client(pair: Pair) -> None:
    meet(pair)
    pair.client.send(b"last words")
    pair.client.close()
    assert receive(pair.server, 10) == b"last words"
    if pair.stream:
        assert pair.server.url in poll_until_error(pair.server)
        with pytest.raises(LinkError):
            pair.server.poll()
    else:
        pair.server.send(b"?")
        assert pair.server.poll() == b""
        pair.server.send(b"?")


def test_a_vanished_server(pair: Pair) -> None:
    meet(pair)
    pair.server.close()
    if pair.stream:
        assert pair.client.url in poll_until_error(pair.client)
    else:
        for _ in range(3):
            pair.client.send(b"?")
            assert pair.client.poll() == b""


def test_a_peer_that_does_not_read_is_noticed_and_loses_nothing_until_then(pair: Pair) -> None:
    meet(pair)
    for sender, receiver in ((pair.client, pair.server), (pair.server, pair.client)):
        if not pair.stream:  # the network drops what nobody takes
            for _ in range(200):
                sender.send(bytes(16_384))
            continue
        sent = bytearray()
        with pytest.raises(LinkError, match="peer stopped reading"):
            for _ in range(2000):
                sent += (chunk := os.urandom(9_000))
                sender.send(chunk)
        assert drain(sender, receiver, len(sent)) == sent


@pytest.mark.parametrize("scheme", ["loopback", "tcp"])
class TestListening:
    """What TCP and loopback share."""

    def urls(self, scheme: str, folder: Path) -> tuple[str, str]:
        server, client = ends(TEMPLATES[scheme], folder=folder, name="board")
        assert client is not None
        return server, client

    def test_what_is_sent_early_waits_for_the_peer(self, scheme: str, tmp_path: Path) -> None:
        server_url, client_url = self.urls(scheme, tmp_path)
        server = open_link(server_url)
        server.send(b"welcome")
        with pytest.raises(LinkError, match="peer stopped reading"):
            server.send(bytes(70_000))
        server.close()

        server = open_link(server_url)
        server.send(b"welcome")
        client = open_link(client_url)
        assert server.poll() == b""
        assert receive(client, 7) == b"welcome"
        client.close()
        server.close()

    def test_select_wakes_for_a_peer(self, scheme: str, tmp_path: Path) -> None:
        server_url, client_url = self.urls(scheme, tmp_path)
        server = open_link(server_url)
        listener_fd = server.fileno()
        client = open_link(client_url)
        assert select.select([server], [], [], PATIENCE_S)[0] == [server]
        assert server.poll() == b""
        assert server.fileno() != listener_fd
        client.close()
        server.close()

    def test_a_second_peer_is_turned_away(self, scheme: str, tmp_path: Path) -> None:
        server_url, client_url = self.urls(scheme, tmp_path)
        server, first, second = open_link(server_url), open_link(client_url), open_link(client_url)
        first.send(b"1")
        assert receive(server, 1) == b"1"
        poll_until_error(second)
        with pytest.raises(LinkError, match="already has its only peer"):
            OPENERS[scheme](parse(client_url), connect_timeout_s=0.05)
        first.send(b"2")
        assert receive(server, 1) == b"2"
        for link in (first, second, server):
            link.close()

    def test_an_address_in_use(self, scheme: str, tmp_path: Path) -> None:
        server_url, client_url = self.urls(scheme, tmp_path)
        server = open_link(server_url)
        with pytest.raises(LinkError, match="in use") as caught:
            open_link(server_url)
        assert server_url in str(caught.value)
        open_link(client_url).close()  # the refused one took nothing away
        server.close()

    def test_a_client_waits_for_its_server(self, scheme: str, tmp_path: Path) -> None:
        server_url, client_url = self.urls(scheme, tmp_path)
        clients: list[Link] = []
        waiting = threading.Thread(target=lambda: clients.append(open_link(client_url)))
        waiting.start()
        server = open_link(server_url)
        waiting.join(PATIENCE_S)
        clients[0].send(b"!")
        assert receive(server, 1) == b"!"
        clients[0].close()
        server.close()

    def test_a_client_does_not_wait_for_ever(self, scheme: str, tmp_path: Path) -> None:
        _, client_url = self.urls(scheme, tmp_path)
        with pytest.raises(LinkError, match="no server is listening") as caught:
            OPENERS[scheme](parse(client_url), connect_timeout_s=0.05)
        assert client_url in str(caught.value)


def test_tcp_does_not_gather_small_messages(tmp_path: Path) -> None:
    server_url, client_url = ends("tcp://127.0.0.1:0", folder=tmp_path, name="board")
    assert client_url is not None
    server, client = open_link(server_url), open_link(client_url)
    server.poll()
    for link in (server, client):
        with socket.socket(fileno=os.dup(link.fileno())) as same:
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.close()
    server.close()


def test_tcp_to_an_address_without_a_route_fails_at_once() -> None:
    with pytest.raises(LinkError, match=r"^tcp://255\.255\.255\.255:1: cannot connect"):
        open_link("tcp://255.255.255.255:1")


def test_loopback_leaves_no_file(tmp_path: Path) -> None:
    server = open_link(f"loopback://{tmp_path}/a.sock?listen")
    assert stat.S_ISSOCK((tmp_path / "a.sock").stat().st_mode)
    server.close()
    assert list(tmp_path.iterdir()) == []


def test_loopback_in_a_folder_with_too_long_a_name() -> None:
    with pytest.raises(LinkError, match="too long"):
        open_link(f"loopback:///{'x' * 200}?listen")


def test_pty_leaves_no_file_and_takes_none(tmp_path: Path) -> None:
    path = tmp_path / "board"
    server = open_link(f"pty://{path}")
    assert str(path.readlink()).startswith("/dev/pts/")
    with pytest.raises(LinkError, match="File exists"):
        open_link(f"pty://{path}")
    assert path.exists()
    server.close()
    assert list(tmp_path.iterdir()) == []

    path.write_text("precious")
    with pytest.raises(LinkError, match=f"{path}: File exists"):
        open_link(f"pty://{path}")
    assert path.read_text() == "precious"


def test_pty_does_not_remove_what_has_replaced_its_link(tmp_path: Path) -> None:
    path = tmp_path / "board"
    server = open_link(f"pty://{path}")
    path.unlink()
    path.write_text("precious")
    server.close()
    assert path.read_text() == "precious"


@pytest.mark.parametrize(("target", "replaced"), [("/dev/pts/999999", True), ("/nowhere/else", False)])
def test_pty_replaces_only_its_own_dangling_link(target: str, replaced: bool, tmp_path: Path) -> None:
    path = tmp_path / "board"
    path.symlink_to(target)
    if replaced:
        open_link(f"pty://{path}").close()
    else:
        with pytest.raises(LinkError, match="File exists"):
            open_link(f"pty://{path}")
        assert str(path.readlink()) == target


def test_pty_in_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match="No such file"):
        open_link(f"pty://{tmp_path}/missing/board")


def test_pty_waits_quietly_for_a_peer_that_opens_closes_and_comes_back(tmp_path: Path) -> None:
    server = open_link(f"pty://{tmp_path}/board")
    open_link(f"serial://{tmp_path}/board").close()
    assert select.select([server], [], [], 0)[0] == []
    assert server.poll() == b""
    client = open_link(f"serial://{tmp_path}/board")
    client.send(b"!")
    assert receive(server, 1) == b"!"
    client.close()
    server.close()


def test_pty_is_raw_for_a_peer_that_sets_nothing_up(tmp_path: Path) -> None:
    server = open_link(f"pty://{tmp_path}/board")
    bare = os.open(tmp_path / "board", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    server.send(ALL_BYTES)
    got = b""
    while len(got) < 256 and select.select([bare], [], [], PATIENCE_S)[0]:
        got += os.read(bare, 256)
    assert got == ALL_BYTES
    assert server.poll() == b""  # no echo
    os.write(bare, ALL_BYTES)
    assert receive(server, 256) == ALL_BYTES
    os.close(bare)
    server.close()


def test_serial_waits_for_a_pty_that_comes_a_moment_later(tmp_path: Path) -> None:
    clients: list[Link] = []
    waiting = threading.Thread(target=lambda: clients.append(open_link(f"serial://{tmp_path}/board")))
    waiting.start()
    server = open_link(f"pty://{tmp_path}/board")
    waiting.join(PATIENCE_S)
    clients[0].send(b"!")
    assert receive(server, 1) == b"!"
    clients[0].close()
    server.close()


def test_serial_sets_the_baud_rate(tmp_path: Path) -> None:
    server = open_link(f"pty://{tmp_path}/board")
    client = open_link(f"serial://{tmp_path}/board?baud=57600")
    assert termios.tcgetattr(client.fileno())[5] == termios.B57600
    client.close()
    client = open_link(f"serial://{tmp_path}/board")
    assert termios.tcgetattr(client.fileno())[5] == termios.B921600
    client.close()
    server.close()


def test_serial_port_missing_busy_or_no_serial_port(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"^/dev/no-such-port: no such device"):
        open_link("serial:///dev/no-such-port")
    with pytest.raises(LinkError, match="no such device"):
        SerialLink(parse(f"serial://{tmp_path}/missing"), connect_timeout_s=0.05)

    server = open_link(f"pty://{tmp_path}/board")
    client = open_link(f"serial://{tmp_path}/board")
    with pytest.raises(LinkError, match=f"{tmp_path}/board: busy"):
        open_link(f"serial://{tmp_path}/board")
    client.close()
    server.close()

    (tmp_path / "file").write_text("")
    with pytest.raises(LinkError, match=f"{tmp_path}/file: not usable as a serial port"):
        open_link(f"serial://{tmp_path}/file")


def test_serial_port_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise serial.SerialException(errno.EACCES, "could not open port")

    monkeypatch.setattr(serial, "Serial", refuse)  # root, who may run this, is never refused
    with pytest.raises(LinkError, match=r"^/dev/ttyUSB0: no permission; join the group dialout"):
        open_link("serial:///dev/ttyUSB0")


def test_udp_server_keeps_to_its_first_peer(tmp_path: Path) -> None:
    server_url, client_url = ends("udp://127.0.0.1:0", folder=tmp_path, name="board")
    assert client_url is not None
    server, first, stranger = open_link(server_url), open_link(client_url), open_link(client_url)
    assert isinstance(server, UdpServer)
    server.send(b"to nobody")
    first.send(b"1")
    assert receive(server, 1) == b"1"
    stranger.send(b"x")
    first.send(b"2")
    assert receive(server, 1) == b"2"
    assert server.strangers == 1
    server.send(b"3")
    assert receive(first, 1) == b"3"
    assert stranger.poll() == b""
    for link in (first, stranger, server):
        link.close()


def test_udp_server_takes_the_next_peer_when_the_first_has_fallen_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr("aeroloop.links.udp.time.monotonic", lambda: now_s)
    server_url, client_url = ends("udp://127.0.0.1:0", folder=tmp_path, name="board")
    assert client_url is not None
    server, first, second = open_link(server_url), open_link(client_url), open_link(client_url)
    first.send(b"1")
    assert receive(server, 1) == b"1"
    now_s += 1.5
    second.send(b"2")
    assert receive(server, 1) == b"2"
    server.send(b"3")
    assert receive(second, 1) == b"3"
    for link in (first, second, server):
        link.close()


def test_udp_client_reaches_a_server_that_comes_later(tmp_path: Path) -> None:
    server_url, client_url = ends("udp://127.0.0.1:0", folder=tmp_path, name="board")
    assert client_url is not None
    client = open_link(client_url)
    client.send(b"to nobody")
    select.select([client], [], [], 0.05)  # the refusal comes back and must not cost the next datagram
    server = open_link(server_url)
    client.send(b"!")
    assert receive(server, 1) == b"!"
    client.close()
    server.close()


def test_udp_one_send_is_one_datagram_and_too_much_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bare:
        bare.bind(("127.0.0.1", 0))
        bare.settimeout(PATIENCE_S)
        client = open_link(f"udp://127.0.0.1:{bare.getsockname()[1]}")
        client.send(b"one")
        client.send(b"two")
        assert [bare.recv(100), bare.recv(100)] == [b"one", b"two"]
        with pytest.raises(LinkError, match="cannot send 70000 bytes"):
            client.send(bytes(70_000))
        client.close()


def test_udp_address_in_use(tmp_path: Path) -> None:
    server_url, _ = ends("udp://127.0.0.1:0", folder=tmp_path, name="board")
    server = open_link(server_url)
    with pytest.raises(LinkError, match="in use"):
        open_link(server_url)
    server.close()
