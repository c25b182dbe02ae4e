"""`aeroloop route`: files it refuses, what it says of its lines, take-over through its socket, and how it ends."""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from stream_tables import MULTIROTOR

from aeroloop.cli.route_commands import colour, main, view
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.paths import runtime_dir
from aeroloop.flight import routing
from aeroloop.realtime.topics import Topics
from aeroloop.router import control
from aeroloop.router.config import load
from aeroloop.router.statistics import LinkInfo, LinkMessage, LinkState
from peers.traffic import frame, free_port, heartbeat

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 240.0
PROGRAM = "from aeroloop.cli.route_commands import main; main()"


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *map(str, words)]


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Typed = Callable[..., Ended]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """The command in this process: for what ends at once."""

    def type_in(*words: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["aeroloop route", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return Ended(int(end.value.code or 0), said.out, said.err)

    return type_in


def until(happens: Callable[[], object], what: str) -> None:
    deadline_s = time.monotonic() + HANG_S
    while not happens():
        assert time.monotonic() < deadline_s, f"{what}: not within {HANG_S:g} s"
        time.sleep(0.02)


class Bench:
    """A router's file with a vehicle that sends and a ground station that receives."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.ground = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ground.bind(("127.0.0.1", 0))
        self.vehicle = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.name = f"test-{os.getpid()}-{folder.name}"
        self.file = folder / "router.toml"
        self.file.write_text(
            f'name = "{self.name}"\n'
            f'[[endpoints]]\nname = "plane"\nurl = "udp://127.0.0.1:{self.port}?listen"\n'
            f'[[endpoints]]\nname = "ground"\nurl = "udp://127.0.0.1:{self.ground.getsockname()[1]}"\n'
            'role = "command"\n'
            '[[rates]]\nendpoint = "plane"\nmessage = "ATTITUDE"\nhz = 50.0\n'
        )

    def fly(self, count: int = 20) -> None:
        self.vehicle.sendto(heartbeat(), ("127.0.0.1", self.port))
        for number in range(count):
            self.vehicle.sendto(frame(number), ("127.0.0.1", self.port))

    def arrived(self) -> bool:
        self.ground.settimeout(0.0)
        try:
            return frame(0)[:4] in self.ground.recv(65536) or True
        except BlockingIOError:
            return False

    def place(self) -> routing.RunningRouter:
        return routing.find(self.name)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.ground.close()
    made.vehicle.close()


@contextmanager
def running(bench: Bench, *options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command(bench.file, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: any(place.name == bench.name for place in routing.places()), "the router is there")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_example_is_a_router_that_could_run_and_stays_on_loopback(typed: Typed) -> None:
    done = typed("check", ROOT / "examples" / "router.toml")
    assert (done.code, done.err) == (0, "")
    assert "router.toml is valid" in " ".join(done.out.split())
    config = load(ROOT / "examples" / "router.toml")
    assert {endpoint.link.host for endpoint in config.endpoints} == {"127.0.0.1"}
    assert {endpoint.role for endpoint in config.endpoints} == {"vehicle", "command", "observe"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("endpoints = []", r"endpoints: expected .*length >= 1"),
        ('[[endpoints]]\nname = "a"\nurl = "udp://127.0.0.1"', r"url: link URL .*missing port"),
        ('[[endpoints]]\nname = "a"\nurl = "udp://127.0.0.1:1"\nspeed = 3', r"speed: unknown key"),
        ("name = ", "not valid TOML"),
        (
            '[[endpoints]]\nname = "a"\nurl = "udp://127.0.0.1:1"\nsigning_key_file = "none.txt"',
            r"none\.txt: cannot read the signing key",
        ),
    ],
)
@pytest.mark.parametrize("verb", [("check",), (), ("run", "--watch"), ("--duration", "1")])
def test_a_bad_file_is_one_sentence_and_exit_code_2(
    verb: tuple[str, ...], text: str, words: str, tmp_path: Path, typed: Typed
) -> None:
    path = tmp_path / "router.toml"
    path.write_text(text)
    done = typed(*verb, path)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith("aeroloop: ")
    assert re.search(words, line), line
    assert done.out == ""


def test_a_duration_must_be_a_time(typed: Typed) -> None:
    done = typed(ROOT / "examples" / "router.toml", "--duration", "-1")
    assert (done.code, done.err) == (2, "aeroloop: --duration -1: expected a number of seconds above 0\n")


def test_it_routes_tells_and_ends_with_the_code_of_its_signal(bench: Bench) -> None:
    with running(bench) as process:
        place = bench.place()
        infos = json.loads((place.folder / "links.json").read_text())
        assert [(info["name"], info["role"], info["protocol"]) for info in infos] == [
            ("plane", "vehicle", "mavlink"),
            ("ground", "command", "mavlink"),
        ]
        topics = Topics(place.folder, wait=False).subscriber(MULTIROTOR["router_link"])
        watched = routing.RouterStatus(place.folder)
        bench.fly()
        until(bench.arrived, "frames pass")
        until(lambda: watched.look() and 1 in watched.links and watched.links[1].frames_out >= 20, "the feed tells")
        assert watched.links[0].frames_in >= 21
        message = watched.messages[(0, 0, 1, 1, 30)]
        assert (message.count, message.set_hz) == (20, 50.0)
        assert topics.latest() is not None
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == 143
        until(lambda: not watched.look(), "the watcher notices the end")
        watched.close()
        assert not place.folder.exists()
    with pytest.raises(ConfigError, match=r"no router .*is running"):
        routing.find(bench.name)


def test_the_table_is_drawn_by_another_process_and_ends_with_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal: the table is drawn again and again
    with running(bench, "--watch") as process:
        bench.fly()
        assert process.stdout is not None
        drawn = ""
        while "ATTITUDE" not in drawn:
            line = process.stdout.readline()
            assert line, drawn
            drawn += line
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_S)
        assert (process.returncode, err) == (130, "")
        assert "plane" in drawn
        assert "endpoints" in drawn + out  # what the router said
    assert not list(runtime_dir().glob(f"route-*/{bench.name}"))


def test_it_ends_by_itself_after_its_duration(bench: Bench) -> None:
    process = subprocess.run(command(bench.file, "--duration", "0.1"), capture_output=True, text=True, timeout=HANG_S)
    assert process.returncode == 0
    assert "2 endpoints" in process.stderr
    assert not list(runtime_dir().glob(f"route-*/{bench.name}"))


def test_command_is_taken_over_through_the_socket_and_ctrl_c_ends_it(bench: Bench, typed: Typed) -> None:
    with running(bench) as process:
        bench.fly()
        assert typed("take-over", "ground", "--router", bench.name).out.startswith("ground has control at router ")
        refused = typed("take-over", "plane", "--router", bench.name)
        assert refused.code == 2
        assert "plane" in refused.err
        watched = routing.RouterStatus(bench.place().folder)
        until(lambda: watched.look() and 1 in watched.links and watched.links[1].role == 11, "the table shows it")
        watched.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_S) == 130


def test_a_router_that_is_not_there_is_a_sentence(typed: Typed) -> None:
    done = typed("take-over", "ground", "--router", "nobody")
    assert (done.code, done.out) == (2, "")
    assert re.search("no router .*is running", done.err)


def test_a_router_of_another_name_is_not_there_and_those_that_are_get_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(routing, "places", lambda: [routing.RunningRouter("4711", "bench", tmp_path)])
    assert routing.find("4711") == routing.find("bench") == routing.find()
    with pytest.raises(ConfigError, match=r"^no router 'benhc' is running, expected one of: 4711 \(bench\)$"):
        routing.find("benhc")
    monkeypatch.setattr(routing, "places", list)
    with pytest.raises(ConfigError, match=r"^no router is running; start one: aeroloop route FILE$"):
        routing.find("bench")


@pytest.fixture
def short() -> Iterator[Path]:
    """Socket paths must be short."""
    with routing.folder_of_its_own() as folder:
        yield folder


def test_garbage_at_the_control_socket_is_refused_and_counted(short: Path) -> None:
    port = control.ControlPort(short)
    done: list[str] = []
    garbage = (
        b"",
        b"\xff" * 900,
        b"{}",
        b'{"word": "shell", "name": "x"}',
        b"[" * 1000,
        b'{"word": "take-over"}',
        b"1",
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for datagram in garbage:
            stranger.sendto(datagram, str(short / control.SOCKET))
            port.serve({"take-over": done.append})
        stranger.sendto(b'{"word": "take-over", "name": "qgc"}', str(short / control.SOCKET))
        port.serve({"take-over": done.append})  # from one without a name of its own: nobody to answer to
    port.close()
    assert (port.refused, done) == (len(garbage), ["qgc"])
    assert not (short / control.SOCKET).exists()


def test_the_reason_of_a_refusal_comes_back(short: Path) -> None:
    port = control.ControlPort(short)

    def refuse(name: str) -> None:
        raise ConfigError(f"{name} only observes" + "!" * 5000)

    ending = threading.Event()

    def serve() -> None:
        while not ending.is_set():
            port.serve({"take-over": refuse})
            time.sleep(0.005)

    server = threading.Thread(target=serve)
    server.start()
    try:
        with pytest.raises(ConfigError, match=r"wall only observes!+$"):
            control.take_over(short, "wall")
    finally:
        ending.set()
        server.join()
        port.close()
    with pytest.raises(LinkError, match="no router is listening: No such file"):
        control.take_over(short, "wall")


def test_what_a_killed_router_left_is_tidied_away(bench: Bench) -> None:
    with running(bench) as process:
        folder = bench.place().folder
        process.kill()
        process.wait()
        assert folder.exists()
        with routing.folder_of_its_own():
            assert not folder.exists()


@pytest.mark.parametrize(
    ("rate_hz", "wanted"), [(50.0, "green"), (47.5, "green"), (47.4, "yellow"), (40.0, "yellow"), (39.9, "red")]
)
def test_colours_against_the_set_rate(rate_hz: float, wanted: str) -> None:
    assert colour(rate_hz, 50.0) == wanted
    assert colour(rate_hz, 0.0) == ""


def test_the_table_shows_every_line_and_its_busiest_messages() -> None:
    infos = [
        LinkInfo("plane", "serial:///dev/ttyACM0", "vehicle", "mavlink", 57600),
        LinkInfo("[qgc]", "udp://127.0.0.1:14550", "command", "mavlink", 0),
        LinkInfo("late", "udp://127.0.0.1:1", "observe", "mavlink", 0),
    ]
    state = LinkState(0, 1, 0, 900, 3, 1, 1, 44.0, 1.0, 93.4, math.nan, 7, 8, 9, 10, 11, 12, 0.0123, 0.5)
    quiet = LinkState(1, 0, 11, 0, 0, 0, 0, 0.0, 0.0, math.nan, math.nan, 0, 0, 0, 0, 0, 0, math.nan, math.nan)
    messages = {
        (0, 0, 1, 1, number): LinkMessage(0, 0, 1, 1, number, 10.0 * number, 50.0 if number == 5 else 0.0, 1, 1, 0.1)
        for number in (0, 1, 2, 4, 5, 30)
    }
    screen = io.StringIO()
    console = Console(file=screen, width=220, force_terminal=True, color_system="standard")
    console.print(view([], {}, {}))  # a router that has not yet said what it has
    console.print(view(infos, {0: state, 1: quiet}, messages, ["link plane restored"]))
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    plane = next(line for line in text.splitlines() if line.startswith(" plane"))
    assert plane.split() == [
        *("plane", "serial:///dev/ttyACM0", "vehicle", "yes", "44", "1", "93", "%"),
        *("7", "8", "9", "10", "11", "12", "12.3", "ms", "0.5", "s"),
    ]
    assert "[qgc]" in text
    assert "command, commands" in text
    assert re.search(r"late +udp://127\.0\.0\.1:1 +observe +…", text)
    assert "ATTITUDE" in text
    assert "HEARTBEAT" not in text  # the sixth
    assert "link plane restored" in text
    assert "\x1b[31m93 %" in screen.getvalue()


def test_in_a_narrow_terminal_nothing_is_cut_off() -> None:
    infos = [
        LinkInfo("pixhawk", "serial:///dev/ttyACM0?baud=57600", "vehicle", "mavlink", 57600),
        LinkInfo("wall-display", "tcp://127.0.0.1:14601?listen", "command", "mavlink", 0),
    ]
    counted = LinkState(0, 1, 0, 900, 3, 1, 1, 44.0, 1.0, 93.4, math.nan, 7, 0, 0, 0, 11, 0, 0.0123, 0.5)
    quiet = LinkState(1, 0, 11, 0, 0, 0, 0, 0.0, 0.0, math.nan, math.nan, 0, 0, 0, 0, 0, 0, math.nan, math.nan)
    screen = io.StringIO()
    Console(file=screen, width=100).print(view(infos, {0: counted, 1: quiet}, {}))
    text = screen.getvalue()
    assert "…" not in text
    assert re.search(r"pixhawk +vehicle +yes +44 +1 +93 % +12\.3 ms +0\.5 s +7 lost, 11 dropped", text)
    assert re.search(r"wall-display +command, commands +no +0 +0 *\n", text)
