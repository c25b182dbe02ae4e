"""The emulator process: command line, start, supervision and end.

QEMU's `netduinoplus2` is an STM32F405, the family of the STM32F4-Discovery. In lockstep `-icount` makes time a count of
instructions; in real time its timers follow the host's clock.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path

from aeroloop.core.errors import LinkError
from aeroloop.core.waiting import readable
from aeroloop.realtime.setup import die_with_parent

PROGRAM = "qemu-system-arm"
PACKAGE = "qemu-system-arm"
MACHINE = "netduinoplus2"
STOP_S = 0.3


def lockstep_command(image: Path, shift: int) -> list[str]:
    """Bytes and time arrive through semihosting, from two FIFOs in the working folder."""
    return [
        *_base(image),
        *("-icount", f"shift={shift},align=off,sleep=off"),
        *("-semihosting-config", "enable=on,target=native"),
    ]


def realtime_command(image: Path, board_line: str, reference_line: str, monitor: Path) -> list[str]:
    """The two links are QEMU character devices, e.g. `serial,path=/dev/pts/3`."""
    return [
        *_base(image),
        *("-chardev", f"{board_line},id=board", "-chardev", f"{reference_line},id=reference"),
        *("-serial", "null", "-serial", "chardev:board", "-serial", "chardev:reference"),
        *("-qmp", f"unix:{escaped(str(monitor))},server=on,wait=off"),
    ]


def escaped(path: str) -> str:
    return path.replace(",", ",,")  # a comma ends a value on QEMU's command line


def _base(image: Path) -> list[str]:
    program = shutil.which(PROGRAM)
    if program is None:
        raise LinkError(f"the rung pil needs {PROGRAM}, which is not installed; install it: apt install {PACKAGE}")
    # Without -nodefaults and a display option QEMU would open windows and read from the terminal.
    return [program, "-M", MACHINE, "-nodefaults", "-display", "none", "-monitor", "none", "-kernel", str(image)]


class Emulator:
    """A running QEMU; it ends with its parent."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._words = folder / "emulator.log"
        try:
            with self._words.open("wb") as words:
                self._process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=words,
                    preexec_fn=partial(die_with_parent, signal.SIGKILL),
                    process_group=0,  # as a session leader it would receive SIGHUP from the first pty it opens
                )
        except OSError as error:
            raise LinkError(f"{command[0]} could not be started: {error.strerror}") from None
        self._ended_fd = os.pidfd_open(self._process.pid)

    @property
    def ended_fd(self) -> int:
        """Readable when the process has ended."""
        return self._ended_fd

    @property
    def pid(self) -> int:
        return self._process.pid

    def failure(self) -> LinkError | None:
        """Reason why it ended; None while it runs."""
        if not readable([self._ended_fd], 0):
            return None
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        last = self.last_words()
        return LinkError(f"the emulator {how}{f': {last}' if last else ''}", root_cause=True)

    def last_words(self) -> str:
        try:
            lines = self._words.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return ""
        # The error begins with the program's name; advice may follow it.
        named = [line for line in lines if line.startswith(f"{PROGRAM}: ")]
        return (named or lines or [""])[-1]

    def stop(self) -> None:
        """Send SIGTERM, then SIGKILL: an emulated processor that waits for bytes ignores SIGTERM."""
        if self._ended_fd < 0:
            return
        with suppress(ProcessLookupError):
            self._process.terminate()
        if not readable([self._ended_fd], STOP_S):
            self._process.kill()
        self._process.wait()
        os.close(self._ended_fd)
        self._ended_fd = -1
