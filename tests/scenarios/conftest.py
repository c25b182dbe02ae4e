"""Aeroloop as a user has it: the command in a folder of its own, and what it leaves behind in plain view."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stream_tables import TILTROTOR

from aeroloop.flight.results import LOG
from aeroloop.realtime.topics import Topics
from aeroloop.recording.log import Log, read

COMMAND = str(Path(sys.executable).with_name("aeroloop"))
HANG_S = 240.0
POLL_S = 0.03
GONE_S = 10.0
"""A guard, not the promise: what has not gone by then never goes."""

PROGRESS = re.compile(r"^[\w-]+: [\d.]+ s flown, .*\n", re.MULTILINE)
_PROCESS = re.compile(r"aeroloop\.(?:flight\.processes|controllers\.\w+)\.(\w+)")
_ROLES = {"ground_process": "ground", "emulator_process": "emulator"} | dict.fromkeys(
    ("request_process", "period_process", "values_process", "process"), "board"
)
"""Modules of processes that are not called as their role is."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def sentence(self) -> str:
        """The one line on standard error."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("aeroloop: "), self.err
        return lines[0].removeprefix("aeroloop: ")


def until(happens: Callable[[], Any], within_s: float, what: str) -> Any:
    """Poll until `happens()` is truthy, and hand that on."""
    deadline_s = time.monotonic() + within_s
    while not (result := happens()):
        assert time.monotonic() < deadline_s, f"{what}: not within {within_s:g} s"
        time.sleep(POLL_S)
    return result


def _read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""  # the process has ended meanwhile


def _commands() -> dict[int, str]:
    return {int(name): _read(f"/proc/{name}/cmdline") for name in os.listdir("/proc") if name.isdecimal()}  # noqa: PTH208


def _gone(pid: int) -> bool:
    """Ended, whether or not somebody has asked for its status."""
    state = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return not state or state[0] in "ZX"


class Running:
    """An `aeroloop` command in the background."""

    def __init__(self, bench: Bench, args: tuple[str, ...], name: str, **options: Any) -> None:
        self._bench = bench
        self.seen: set[int] = set()
        self._out, self._err = bench.folder.with_name(f"{name}.out"), bench.folder.with_name(f"{name}.err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [COMMAND, *args], cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **options
            )

    @property
    def err(self) -> str:
        """Without the progress of a flight that took longer than a few seconds."""
        return PROGRESS.sub("", self._err.read_text())

    def children(self) -> dict[str, int]:
        """Name and process id of each process of the flight."""
        found = {}
        for pid, command in _commands().items():
            stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            role = _PROCESS.search(command)
            if role and stat and int(stat[1]) == self.process.pid:
                found[_ROLES.get(role[1], role[1])] = pid
        self.seen |= set(found.values())
        return found

    def says(self, text: str) -> None:
        until(lambda: text in self.err or self.process.poll() is not None, HANG_S, f"{text!r} on standard error")
        assert text in self.err, self.err

    def wait(self, within_s: float = HANG_S) -> Ended:
        until(lambda: self._bench.note_flights() or self.process.poll() is not None, within_s, "end of the command")
        return Ended(self.process.returncode, self._out.read_text(), self.err)


class Bench:
    """A user's folder, runtime folder and environment."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.runtime = runtime / "aeroloop"
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        self._flights: set[str] = set()
        self._started: list[Running] = []

    def run(self, *args: str, env: Mapping[str, str] | None = None, before: Callable[[], None] | None = None) -> Ended:
        return self._start(args, env=env or self.env, preexec_fn=before).wait()

    def start(self, *args: str) -> Running:
        return self._start(args, env=self.env)

    def _start(self, args: tuple[str, ...], **options: Any) -> Running:
        running = Running(self, args, f"command-{len(self._started)}", **options)
        self._started.append(running)
        return running

    def note_flights(self) -> None:
        """Remember the flights that are there: the names of their shared memory begin like their folders."""
        self._flights |= {path.name for path in self.runtime.glob("flight-*")}

    def flight(self) -> Path:
        """The runtime folder of the one running flight, once it has its orders."""
        orders: list[Path] = until(lambda: list(self.runtime.glob("flight-*/launch.json")), HANG_S, "a flight")
        self.note_flights()
        return orders[0].parent

    def clock_s(self) -> float:
        """Simulated time that the running flight has reached; only at a paced flight, which waits for nobody."""
        clock = Topics(self.flight(), wait=False).subscriber(TILTROTOR["clock"])
        newest: tuple[float, ...] = until(clock.latest, HANG_S, "the flight's clock")
        return newest[0]

    def await_clock(self, flown_s: float) -> None:
        self.await_log(0.1)  # the topics are there
        until(lambda: self.clock_s() >= flown_s, HANG_S, f"{flown_s:g} s of flight")

    def await_log(self, flown_s: float) -> float:
        """How much the log holds, once it is so much: a log that grows in lockstep is best read but once."""
        held_s = -1.0

        def enough() -> bool:
            nonlocal held_s
            held_s = self.logged_s()
            return held_s >= flown_s

        until(enough, HANG_S, f"{flown_s:g} s of flight in the log")
        return held_s

    def logged_s(self) -> float:
        """Simulated time up to which the log of the run holds the truth."""
        times = self.log().column("truth", "t_s")
        return float(times[-1]) if len(times) else -1.0

    def log(self, run: str = "run") -> Log:
        path = self.folder / run / LOG
        streams = tuple(TILTROTOR.values())  # of any family: what the log says of itself counts
        return read(path, streams) if path.exists() and path.stat().st_size else Log.empty(streams)

    def tree(self) -> dict[str, bytes | None]:
        """Every file and folder of the user's, with what is in it."""
        return {str(p): p.read_bytes() if p.is_file() else None for p in sorted(self.folder.rglob("*"))}

    def leftovers(self) -> list[str]:
        """What flights have left in the runtime folder and in shared memory."""
        segments = [path for flight in self._flights for path in Path("/dev/shm").glob(f"{flight}_*")]
        return list(map(str, [*self.runtime.rglob("*"), *segments]))

    def await_gone(self, pids: Iterable[int]) -> float:
        """Until all of these processes have ended; how long that took, in s."""
        began_s = time.monotonic()
        pids = list(pids)
        until(lambda: all(map(_gone, pids)), GONE_S, f"end of processes {pids}")
        return time.monotonic() - began_s

    def assert_clean(self) -> None:
        until(lambda: not self.leftovers(), GONE_S, f"removal of {self.leftovers()}")

    def end(self) -> None:
        """Also after a test that failed, nothing may stay behind."""
        for running in self._started:
            if running.process.poll() is None:
                running.children()
                running.process.terminate()
                running.wait()
            for pid in running.seen:
                if not _gone(pid):
                    os.kill(pid, signal.SIGKILL)
        for flight in self._flights:
            for segment in Path("/dev/shm").glob(f"{flight}_*"):
                segment.unlink()


def _bench(folder: Path) -> Iterator[Bench]:
    folder.mkdir()
    # The path of a Unix socket has room for about 100 characters: pytest's own folders are too long.
    runtime = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))
    bench = Bench(folder, runtime)
    try:
        yield bench
    finally:
        bench.end()
        shutil.rmtree(runtime)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from _bench(tmp_path / "home")


@pytest.fixture(scope="module")
def shared_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for all tests of a module, for flights that several of them look at."""
    yield from _bench(tmp_path_factory.mktemp("shared") / "home")
