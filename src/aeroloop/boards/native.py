"""The board's firmware compiled for this host: a program that takes step packets on its standard streams.

It has no processor time of its own: routine tasks take none, and each piece of planning takes a configured time, so
that a plan takes simulated time and repeats to the bit.
"""

from __future__ import annotations

import signal
import subprocess
from functools import partial
from pathlib import Path

from aeroloop.boards.steps import LONGEST_REPLY, Boot, Reply, Step, unpack
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import ResetCause
from aeroloop.core.waiting import readable
from aeroloop.realtime.setup import die_with_parent

PATIENCE_S = 5.0
"""Wall time without an answer after which the program counts as hung; less than its peers' timeout for us."""
STOP_S = 0.3


class NativePipe:
    """Packets to the program and back; the program ends with its parent."""

    def __init__(self, program: Path, piece_ns: int, folder: Path) -> None:
        self._words = folder / "board.log"
        try:
            with self._words.open("wb") as words:
                self._process = subprocess.Popen(
                    [str(program), "0", str(int(ResetCause.POWER_ON)), str(piece_ns)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=words,
                    bufsize=0,
                    preexec_fn=partial(die_with_parent, signal.SIGKILL),
                    process_group=0,  # Ctrl-C goes only to the processes that end the flight in order
                )
        except OSError as error:
            raise LinkError(f"{program} could not be started: {error.strerror}") from None
        try:
            boot = self._read()
            if not isinstance(boot, Boot):
                raise LinkError("the board's program sent no start message", root_cause=True)
        except BaseException:
            self.close()
            raise
        self.boot = boot

    def exchange(self, step: Step) -> Reply | Boot:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(step.pack())
        except BrokenPipeError:
            raise self._failure() from None
        return self._read()

    def _read(self) -> Reply | Boot:
        """The program writes a record in one piece, shorter than the pipe's atomic size: one read returns all of it."""
        assert self._process.stdout is not None
        if not readable([self._process.stdout.fileno()], PATIENCE_S):
            raise LinkError(f"the board's program did not answer within {PATIENCE_S:g} s", root_cause=True)
        record = self._process.stdout.read(LONGEST_REPLY)
        if not record:
            raise self._failure()
        return unpack(record)

    def _failure(self) -> LinkError:
        code = self._process.wait(PATIENCE_S)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        lines = self._words.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return LinkError(f"the board's program {how}{f': {lines[-1]}' if lines else ''}", root_cause=True)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()  # the program ends at the end of its input
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
