"""`aeroloop route`: a standalone router, in its own folder, where other programs find it.

`--watch` is a separate process: drawing a table ten times a second would delay frames.
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
from aeroloop.realtime.setup import die_with_parent, end, without_long_collections
from aeroloop.realtime.topics import Topics, sweep
from aeroloop.router import control
from aeroloop.router.config import RouterConfig, load
from aeroloop.router.statistics import LINKS, LinkInfo, LinkMessage, LinkState

NOTE = "router.json"
PREFIX = "route-"
PATIENCE_S = 10.0
KEPT_WORDS = 5

Notify = Callable[[str], None]


class RouterNote(msgspec.Struct, frozen=True):
    """The file by which other programs find a standalone router."""

    name: str
    pid: int


@dataclass(frozen=True)
class RunningRouter:
    """A running router: standalone, or that of a flight."""

    id: str
    name: str
    folder: Path


def check(path: Path) -> RouterConfig:
    """The configuration as the router uses it, with keys and hosts resolved."""
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


def places() -> list[RunningRouter]:
    """Standalone routers, then those of flights."""
    alone = [router for path in sorted(runtime_dir().glob(f"{PREFIX}*/{NOTE}")) if (router := _alone(path)) is not None]
    flying = [
        RunningRouter(running.flight_id(launch), launch.scenario.name, launch.folder_path)
        for launch in running.flights()
        if (launch.folder_path / control.SOCKET).exists()
    ]
    return alone + flying


def find(wanted: str = "") -> RunningRouter:
    running_now = places()
    found = [router for router in running_now if not wanted or wanted in (router.id, router.name)]
    names = ", ".join(f"{router.id} ({router.name})" for router in found or running_now)
    if not running_now:
        raise ConfigError("no router is running; start one: aeroloop route FILE")
    if not found:
        raise ConfigError(f"no router {wanted!r} is running, expected one of: {names}")
    if len(found) > 1:
        raise ConfigError(f"several routers are running; choose one with --router: {names}")
    return found[0]


def take_over(name: str, wanted: str = "") -> RunningRouter:
    router = find(wanted)
    control.take_over(router.folder, name)
    return router


@contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """A folder for sockets and topics; folders of killed routers are removed."""
    _tidy()
    folder = runtime_dir() / f"{PREFIX}{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        sweep(folder)
        shutil.rmtree(folder, ignore_errors=True)


def route(config: RouterConfig, folder: Path, duration_s: float | None, notify: Notify) -> None:
    """Route until stopped, or for the given duration."""
    began_s = time.monotonic()

    def clock_s() -> float:
        return time.monotonic() - began_s

    def over() -> bool:
        return stop.requested or (duration_s is not None and clock_s() >= duration_s)

    def ready() -> None:
        # Renamed into place: a partly written note would be taken for that of a dead router.
        (folder / "note").write_bytes(msgspec.json.encode(RouterNote(config.name, os.getpid())))
        (folder / "note").rename(folder / NOTE)
        notify(f"router {folder.name.removeprefix(PREFIX)} ({config.name}) has {len(config.endpoints)} endpoints")
        without_long_collections()

    # Imported here: it loads every dialect, which other commands do not need.
    from aeroloop.router.serving import serve_router

    feed = FeedOut(folder, ROUTER_STREAMS)
    try:
        serve_router(config, folder, Topics(folder, wait=False), clock_s, over, notify, feed=feed, ready=ready)
    finally:
        feed.close()


class RouterStatus:
    """The state of a router's links, read from its feed."""

    def __init__(self, folder: Path) -> None:
        self.infos: list[LinkInfo] = []
        self.links: dict[int, LinkState] = {}
        self.messages: dict[tuple[int, int, int, int, int], LinkMessage] = {}
        self._folder = folder
        self._feed = FeedIn(folder)

    def look(self) -> bool:
        """Read what has arrived; False once the router has ended."""
        if not self.infos:
            self.infos = _link_infos(self._folder)
        for stream, row in self._feed.rows():
            if stream.name == "router_link":
                line = LinkState(*map(_whole, row[1:]))  # type: ignore[arg-type]
                self.links[int(line.link)] = line
            elif stream.name == "router_message":
                message = LinkMessage(*map(_whole, row[1:]))  # type: ignore[arg-type]
                key = (message.link, message.outbound, message.system, message.component, message.message)
                self.messages[key] = message
        return (self._folder / control.SOCKET).exists()

    def close(self) -> None:
        self._feed.close()


@contextmanager
def in_background(path: Path, duration_s: float | None) -> Iterator[tuple[Path, deque[str]]]:
    """Run the router of this file in its own process; returns its folder and its last output lines. Ends with the
    context."""
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
    """Read the pipe: a full pipe would block the router."""
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


def _alone(path: Path) -> RunningRouter | None:
    note = _note(path)
    if note is None:
        return None
    return RunningRouter(path.parent.name.removeprefix(PREFIX), note.name, path.parent)


def _note(path: Path) -> RouterNote | None:
    """None if the router has ended, or has not started yet."""
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


def _link_infos(folder: Path) -> list[LinkInfo]:
    try:
        return msgspec.json.decode((folder / LINKS).read_bytes(), type=list[LinkInfo])
    except (OSError, msgspec.MsgspecError):
        return []  # not yet written


def _whole(value: float) -> float:
    """Counters are sent as doubles."""
    return int(value) if value.is_integer() else value


def _print(words: str) -> None:
    print(words, flush=True)


def main() -> None:
    """The router's own process, started by the watching one: FILE FOLDER [SECONDS]."""
    die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, which ends this process
    signal.signal(signal.SIGTERM, stop.request)
    path, folder, *seconds = sys.argv[1:]
    try:
        route(check(Path(path)), Path(folder), float(seconds[0]) if seconds else None, _print)
    except AeroloopError as error:
        _print(str(error))
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
