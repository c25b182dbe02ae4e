"""The firmware's application compiled for this machine with sanitizers, and a pipe to it that takes step packets."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from aeroloop.boards.steps import LONGEST_REPLY, REPLY_HEADER, Boot, Reply, Step, reply_size, unpack
from aeroloop.codegen.images import Generated
from aeroloop.core.signals import ResetCause

ROOT = Path(__file__).resolve().parents[2]
FIRMWARE = ROOT / "firmware"
PATIENCE_S = 30.0


def kept(name: str, sources: Iterable[bytes], make: Callable[[Path], None]) -> Path:
    """A folder with what `make` builds, once for all tests and processes: its name says what went into it."""
    digest = hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]
    folder = ROOT / "build" / "tests" / f"{name}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            built = Path(aside) / "built"
            built.mkdir()
            make(built)
            try:
                built.rename(folder)
            except OSError:
                assert folder.exists()  # another process was first
    return folder


def run(command: list[str], **options: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def firmware_sources() -> list[bytes]:
    folders = ("app", "hal", "host", "kernel", "port")
    return [path.read_bytes() for name in folders for path in sorted((FIRMWARE / name).iterdir())]


def build(generated: Generated) -> Path:
    """The executable that speaks step packets on its standard streams."""

    def make(folder: Path) -> None:
        generated.write(folder / "generated")
        places = [f"BUILD={folder}", f"GENERATED={folder / 'generated'}"]
        run(["make", "-f", str(FIRMWARE / "host" / "host.mk"), *places])

    texts = [text.encode() for text in generated.files.values()]
    return kept("board", [*firmware_sources(), *texts], make) / "board"


class FirmwareProcess:
    """A program of this build that speaks on its standard input and output, and must end well when that closes."""

    def __init__(self, executable: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        try:
            ended = self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
        assert ended == 0, self._process.stderr.read().decode()


class HostProcess(FirmwareProcess):
    """A board of this build. It is restarted rather than started anew between tests: that is quicker."""

    def __init__(self, executable: Path, *arguments: str) -> None:
        super().__init__(executable, *arguments)
        self._heard = b""
        self.boot = self.read()

    def exchange(self, step: Step) -> Reply | Boot:
        self.write(step.pack())
        return self.read()

    def step(self, step: Step) -> Reply:
        record = self.exchange(step)
        assert isinstance(record, Reply), record
        return record

    def restart(self) -> None:
        assert self.exchange(Step(0, None, fault="reset")) == Boot(ResetCause.COMMANDED)

    def write(self, packet: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(packet)

    def read(self) -> Reply | Boot:
        self._await(REPLY_HEADER)
        size = reply_size(self._heard[:REPLY_HEADER])
        self._await(size)
        record, self._heard = self._heard[:size], self._heard[size:]
        return unpack(record)

    def _await(self, count: int) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        out = self._process.stdout.fileno()
        while len(self._heard) < count:
            ready, _, _ = select.select([out], [], [], PATIENCE_S)
            chunk = os.read(out, LONGEST_REPLY) if ready else b""
            if not chunk:
                self._process.kill()
                said = self._process.stderr.read().decode()
                raise AssertionError(f"the board {'ended' if ready else 'is silent'}: {said}")
            self._heard += chunk
