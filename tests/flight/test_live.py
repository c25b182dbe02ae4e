"""`aeroloop live`: a WebSocket client sees the topics of a running flight and decodes what it is sent."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from typer.testing import CliRunner
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from aeroloop.cli.app import app
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.paths import runtime_dir
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.core.streams import logged, streams_of
from aeroloop.flight import live as flight_live
from aeroloop.flight.live import LiveServer, is_loopback, newest, serve
from aeroloop.flight.processes.common import LAUNCH_FILE, LaunchSettings
from aeroloop.realtime.feed import FeedIn, FeedOut, publish_epoch

EPOCH_NS = 1_780_000_000 * NS
PATIENCE_S = 30.0


class FakeFlight:
    """The folder of a running flight, and its recorder's end of the feed."""

    def __init__(self, scenario: Scenario, name: str, prefix: str = "", parts: tuple[str, ...] = ()) -> None:
        self.folder = runtime_dir() / f"flight-{name}"
        self.folder.mkdir(mode=0o700, parents=True)
        orders = LaunchSettings(
            scenario=scenario,
            folder=str(self.folder),
            log="",
            supervisor_pid=os.getpid(),
            core_draw=0,
            prefix=prefix,
            parts=parts,
        )
        (self.folder / LAUNCH_FILE).write_bytes(orders.encode())
        self.streams = {stream.name: stream for stream in logged(streams_of(scenario))}
        self.feed = FeedOut(self.folder, tuple(self.streams.values()))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._fly)

    def begin(self) -> None:
        publish_epoch(self.folder, EPOCH_NS)
        self._thread.start()

    def _fly(self) -> None:
        truth, event, t_s = self.streams["truth"], self.streams["event"], 0.0
        while not self._stop.is_set():
            t_s += 0.05
            for number in (0.0, 1.0):
                row = (t_s, number, 1.0 + number, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)
                self.feed.offer(truth, truth.packing.pack(*row, *(0.0,) * (len(truth.fields) - len(row))))
            self.feed.offer(event, event.packing.pack(t_s, 0.0, 22.0, 0.0))
            self.feed.step(time.monotonic_ns())
            time.sleep(0.01)

    def end(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.feed.close()
        shutil.rmtree(self.folder, ignore_errors=True)  # a watcher may take its socket away just now


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of our own, with a short name: sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="live-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[tuple[LiveServer, Callable[[str], None]]]:
    """It runs in a thread, for the flight that `follow` names ("": the newest)."""
    live, stopped, said = LiveServer("127.0.0.1", 0), threading.Event(), []
    threads: list[threading.Thread] = []

    def follow(flight: str) -> None:
        threads.append(threading.Thread(target=serve, args=(live, flight, stopped, said.append)))
        threads[-1].start()

    yield live, follow
    stopped.set()
    for thread in threads:
        thread.join()
    live.close()


class Client:
    """Foxglove's protocol, as much as a viewer needs."""

    def __init__(self, port: int) -> None:
        self._connecting = connect(f"ws://127.0.0.1:{port}", subprotocols=[Subprotocol("foxglove.sdk.v1")])
        self.channels: dict[str, dict[str, Any]] = {}
        self._topics: dict[int, str] = {}
        self.sessions: set[str] = set()

    def __enter__(self) -> Client:
        self._socket = self._connecting.__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        self._connecting.__exit__(*why)

    def await_topics(self, *topics: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not set(topics) <= set(self.channels):
            self._take(deadline)

    def await_gone(self, topic: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while topic in self.channels:
            self._take(deadline)

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Subscribes; log time and data of each message that comes."""
        number = len(self._topics) + 1
        self._topics[number] = topic
        wanted = {"id": number, "channelId": self.channels[topic]["id"]}
        self._socket.send(json.dumps({"op": "subscribe", "subscriptions": [wanted]}))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            data = self._take(deadline)
            if isinstance(data, bytes) and data[0] == 1:
                subscription, log_time = struct.unpack_from("<IQ", data, 1)
                if subscription == number:
                    yield log_time, data[13:]

    def decoded(self, topic: str) -> Iterator[tuple[int, Any]]:
        """By the definitions that the server has sent."""
        schema = base64.b64decode(self.channels[topic]["schema"])
        files = descriptor_pb2.FileDescriptorSet.FromString(schema)
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(self.channels[topic]["schemaName"]))
        for log_time, data in self.messages(topic):
            yield log_time, kind.FromString(data)

    def _take(self, deadline: float) -> str | bytes:
        data = self._socket.recv(timeout=max(0.1, deadline - time.monotonic()))
        if isinstance(data, str):
            told = json.loads(data)
            if told["op"] == "advertise":
                self.channels |= {channel["topic"]: channel for channel in told["channels"]}
            elif told["op"] == "unadvertise":
                gone = set(told["channelIds"])
                self.channels = {name: each for name, each in self.channels.items() if each["id"] not in gone}
            elif told["op"] == "serverInfo":
                self.sessions.add(told["sessionId"])
                self.capabilities = told["capabilities"]
        return data


Server = tuple[LiveServer, Callable[[str], None]]


@pytest.mark.usefixtures("runtime")
def test_a_client_sees_the_topics_and_decodes_them(server: Server) -> None:
    live, follow = server
    flight = FakeFlight(load(find("quad-hover"), ("vehicle.count=2",)), "a")
    try:
        follow("")
        flight.begin()
        with Client(live.port) as client:
            client.await_topics("/aircraft/0/pose", "/aircraft/1/tf", "/log", "truth")
            assert client.channels["/aircraft/0/pose"]["schemaName"] == "foxglove.PoseInFrame"
            assert "clientPublish" not in client.capabilities  # nobody flies through it
            log_time, pose = next(client.decoded("/aircraft/1/pose"))
            assert log_time > EPOCH_NS
            assert (pose.pose.position.x, pose.pose.position.z) == (2.0, 3.0)
            assert next(client.decoded("/log"))[1].message == "armed (0)"
            row = json.loads(next(client.messages("truth"))[1])
            assert row["z_m"] == 3.0 and row["t_s"] > 0.0
    finally:
        flight.end()


@pytest.mark.usefixtures("runtime")
def test_who_comes_late_is_told_the_shape_and_the_path_again(server: Server) -> None:
    live, follow = server
    flight = FakeFlight(load(find("quad-terrain")), "a")
    try:
        flight.begin()
        follow("a")
        for _ in range(2):  # the second client comes after the first was told
            with Client(live.port) as client:
                client.await_topics("/aircraft/0/shape", "/aircraft/0/path", "/terrain")
                assert next(client.decoded("/aircraft/0/shape"))[1].entities[0].cylinders
                assert next(client.decoded("/terrain"))[1].entities[0].triangles
                assert next(client.decoded("/aircraft/0/path"))[1].entities[0].lines
    finally:
        flight.end()


@pytest.mark.usefixtures("runtime")
def test_a_flight_whose_recorder_is_not_there_yet_is_shown_once_it_is(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, follow = server
    tries: list[Path] = []

    def late(folder: Path) -> FeedIn:
        tries.append(folder)
        if len(tries) < 3:
            raise LinkError("no feed yet")
        return FeedIn(folder)

    monkeypatch.setattr(flight_live, "FeedIn", late)
    flight = FakeFlight(load(find("quad-hover")), "a")
    try:
        flight.begin()
        follow("")
        with Client(live.port) as client:
            client.await_topics("/aircraft/0/pose")
            assert next(client.decoded("/aircraft/0/pose"))[1].pose.position.z == 3.0
        assert len(tries) == 3
    finally:
        flight.end()


@pytest.mark.usefixtures("runtime")
def test_the_next_flight_takes_the_place_of_the_last(server: Server) -> None:
    live, follow = server
    first = FakeFlight(load(find("quad-hover")), "a")
    follow("")
    first.begin()
    with Client(live.port) as client:
        client.await_topics("/aircraft/0/pose", "autopilot_state")
        first.end()
        second = FakeFlight(load(find("tiltrotor-spiral")), "b")
        try:
            second.begin()
            client.await_gone("autopilot_state")
            client.await_topics("/aircraft/0/pose", "board_cycle")
            assert next(client.decoded("/aircraft/0/pose"))[1].pose.position.z == 3.0
            assert len(client.sessions) > 1  # so that a viewer forgets what it has
        finally:
            second.end()


@pytest.mark.usefixtures("runtime")
def test_which_flight_is_watched() -> None:
    assert newest() == []
    quad = load(find("quad-hover"))
    one = FakeFlight(quad, "a")
    folders = tuple(str(runtime_dir() / f"flight-f-{n}") for n in range(2))
    parts = [FakeFlight(quad, f"f-{n}", f"part{n}/", folders) for n in range(2)]
    try:
        assert [orders.prefix for orders in newest("f-0")] == ["part0/", "part1/"]
        assert [orders.folder_path for orders in newest("a")] == [one.folder]
        assert newest("", parts[0].folder)[0].folder_path == one.folder
        assert newest("nobody") == []
    finally:
        for flight in (one, *parts):
            flight.end()


def test_a_port_that_is_taken_is_a_sentence() -> None:
    live = LiveServer("127.0.0.1", 0)
    try:
        failed = CliRunner().invoke(app, ["live", "--port", str(live.port)])
        assert isinstance(failed.exception, ConfigError)
        assert f"cannot listen on 127.0.0.1, port {live.port}: Address already in use" in str(failed.exception)
    finally:
        live.close()


@pytest.mark.parametrize(
    ("host", "safe"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.0.0.1", False), ("host", False)],
)
def test_loopback(host: str, safe: bool) -> None:
    assert is_loopback(host) is safe
