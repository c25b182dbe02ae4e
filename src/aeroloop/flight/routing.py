"""`aeroloop route`: a router that stands alone, in a folder of its own where others find it.

The one who watches is another process: a table that is drawn ten times a second would hold up frames.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.core.paths import runtime_dir
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.flight import running
from aeroloop.flight.processes.common import stop
from aeroloop.protocols.mavlink_signing import read_key
from aeroloop.realtime.feed import FeedIn, FeedOut
from aeroloop.realtime.setup import die_with_parent, end
from aeroloop.realtime.topics import Topics, sweep
from aeroloop.router import control
from aeroloop.router.config import RouterConfig, load
from aeroloop.router.statistics import LINES, LineInfo, LineMessage, LineState

NOTE = "router.json"
PREFIX = "route-"
PATIENCE_S = 10.0
KEPT_WORDS = 5

Say = Callable[[str], None]


class RouterNote(msgspec.Struct, frozen=True):
    """How others find a router that stands alone."""

    name: str
    pid: int


@dataclass(frozen=True)
class Place:
    """A running router: its own, or that of a flight."""

    id: str
    name: str
    folder: Path


def check(path: Path) -> RouterConfig:
    """The file as the router would take it, its keys and hosts included."""
    config = load(path)
    for index, endpoint in enumerate(config.endpoints):
        key = "url"
        try:
            endpoint.looked_up()
            key = "signing_key_file"
            if endpoint.signing_key_file:
                read_key(Path(endpoint.signing_key_file))
        except ConfigError as error:
            raise ConfigError(f"{path}: endpoints[{index}].{key}: {error}") from None
    return config


def places() -> list[Place]:
    """Routers that stand alone, then those of flights."""
    alone = [place for path in sorted(runtime_dir().glob(f"{PREFIX}*/{NOTE}")) if (place := _alone(path)) is not None]
    flying = [
        Place(running.flight_id(orders), orders.scenario.name, orders.folder_path)
        for orders in running.flights()
        if (orders.folder_path / control.SOCKET).exists()
    ]
    return alone + flying


def find(wanted: str = "") -> Place:
    running_now = places()
    found = [place for place in running_now if not wanted or wanted in (place.id, place.name)]
    names = ", ".join(f"{place.id} ({place.name})" for place in found or running_now)
    if not running_now:
        raise ConfigError("no router is running; start one: aeroloop route FILE")
    if not found:
        raise ConfigError(f"no router {wanted!r} is running, expected one of: {names}")
    if len(found) > 1:
        raise ConfigError(f"several routers are running; choose one with --router: {names}")
    return found[0]


def take_over(name: str, wanted: str = "") -> Place:
    place = find(wanted)
    control.take_over(place.folder, name)
    return place


@contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """For sockets and topics; what routers that were killed have left goes with it."""
    _tidy()
    folder = runtime_dir() / f"{PREFIX}{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        sweep(folder)
        shutil.rmtree(folder, ignore_errors=True)


def route(config: RouterConfig, folder: Path, duration_s: float | None, say: Say) -> None:
    """Route until somebody stops us, or for so long."""
    began_s = time.monotonic()

    def clock_s() -> float:
        return time.monotonic() - began_s

    def over() -> bool:
        return stop.requested or (duration_s is not None and clock_s() >= duration_s)

    def ready() -> None:
        # In one move: who tidies up takes half a note for a dead router's.
        (folder / "note").write_bytes(msgspec.json.encode(RouterNote(config.name, os.getpid())))
        (folder / "note").rename(folder / NOTE)
        say(f"router {folder.name.removeprefix(PREFIX)} ({config.name}) has {len(config.endpoints)} endpoints")

    from aeroloop.router.serving import serve_router  # costs every dialect; the command line has other commands too

    feed = FeedOut(folder, ROUTER_STREAMS)
    try:
        serve_router(config, folder, Topics(folder, wait=False), clock_s, over, say, feed=feed, ready=ready)
    finally:
        feed.close()


class Watched:
    """What is known of a router's lines, learnt from its feed."""

    def __init__(self, folder: Path) -> None:
        self.infos: list[LineInfo] = []
        self.lines: dict[int, LineState] = {}
        self.messages: dict[tuple[int, int, int, int, int], LineMessage] = {}
        self._folder = folder
        self._feed = FeedIn(folder)

    def look(self) -> bool:
        """Take in what has come; False once the router has gone."""
        if not self.infos:
            self.infos = _line_infos(self._folder)
        for stream, row in self._feed.rows():
            if stream.name == "line":
                line = LineState(*map(_whole, row[1:]))  # type: ignore[arg-type]
                self.lines[int(line.line)] = line
            elif stream.name == "line_message":
                message = LineMessage(*map(_whole, row[1:]))  # type: ignore[arg-type]
                key = (message.line, message.outbound, message.system, message.component, message.message)
                self.messages[key] = message
        return (self._folder / control.SOCKET).exists()

    def close(self) -> None:
        self._feed.close()


@contextmanager
def in_background(path: Path, duration_s: float | None) -> Iterator[tuple[Path, deque[str]]]:
    """The router of this file in a process of its own: its folder and its last words. Gone when the context is left."""
    with folder_of_its_own() as folder:
        command = [sys.executable, "-m", "aeroloop.flight.routing", str(path.absolute()), str(folder)]
        process = subprocess.Popen(
            [*command, *([] if duration_s is None else [str(duration_s)])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        words: deque[str] = deque(maxlen=KEPT_WORDS)
        listener = threading.Thread(target=_listen, args=(process, words), daemon=True)
        listener.start()
        try:
            _await(process, folder / NOTE, listener, words)
            yield folder, words
        finally:
            end(process, PATIENCE_S)
            listener.join(PATIENCE_S)


def _listen(process: subprocess.Popen[str], words: deque[str]) -> None:
    """A pipe that nobody reads would hold up the router."""
    assert process.stdout is not None
    with process.stdout as pipe:
        for line in pipe:
            words.append(line.rstrip())


def _await(process: subprocess.Popen[str], path: Path, listener: threading.Thread, words: deque[str]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        if process.poll() is not None:
            listener.join(PATIENCE_S)
            raise LinkError(words[-1] if words else f"the router ended with code {process.returncode}")
        if time.monotonic() > deadline_s:
            raise LinkError(f"the router did not start within {PATIENCE_S:g} s")
        time.sleep(0.01)


def _alone(path: Path) -> Place | None:
    note = _note(path)
    if note is None:
        return None
    return Place(path.parent.name.removeprefix(PREFIX), note.name, path.parent)


def _note(path: Path) -> RouterNote | None:
    """None where the router has ended, or has not yet begun."""
    try:
        note = msgspec.json.decode(path.read_bytes(), type=RouterNote)
        os.kill(note.pid, 0)
    except (OSError, msgspec.MsgspecError):
        return None
    return note


def _tidy() -> None:
    for path in runtime_dir().glob(f"{PREFIX}*/{NOTE}"):
        if _note(path) is None:
            sweep(path.parent)
            shutil.rmtree(path.parent, ignore_errors=True)


def _line_infos(folder: Path) -> list[LineInfo]:
    try:
        return msgspec.json.decode((folder / LINES).read_bytes(), type=list[LineInfo])
    except (OSError, msgspec.MsgspecError):
        return []  # not yet written


def _whole(value: float) -> float:
    """Counters travel as doubles."""
    return int(value) if value.is_integer() else value


def _print(words: str) -> None:
    print(words, flush=True)


def main() -> None:
    """The router's own process, for the one who watches: FILE FOLDER [SECONDS]."""
    die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the watcher, who ends us
    signal.signal(signal.SIGTERM, stop.request)
    path, folder, *seconds = sys.argv[1:]
    try:
        route(check(Path(path)), Path(folder), float(seconds[0]) if seconds else None, _print)
    except AeroloopError as error:
        _print(str(error))
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
