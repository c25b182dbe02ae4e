"""QEMU's control socket (QMP): the subset that resets and stops the board."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

from aeroloop.boards.qemu import Emulator
from aeroloop.core.errors import LinkError

OPEN_S = 10.0
ANSWER_S = 5.0
RETRY_S = 0.01
LONGEST_WORD = 64 * 1024


class Monitor:
    """Connects when the emulator is up: its links are open then, too."""

    def __init__(self, path: Path, emulator: Emulator) -> None:
        self._socket = _connect(path, emulator)
        self._socket.settimeout(ANSWER_S)
        self._received = b""
        self._next()  # its greeting
        self._execute("qmp_capabilities")

    def reset(self) -> None:
        self._execute("system_reset")

    def stop(self) -> None:
        """The board's clock and processor stand still until `go_on`."""
        self._execute("stop")

    def go_on(self) -> None:
        self._execute("cont")

    def close(self) -> None:
        self._socket.close()

    def _execute(self, what: str) -> None:
        try:
            self._socket.sendall(json.dumps({"execute": what}).encode() + b"\n")
            while "return" not in (answer := self._next()):  # events come in between
                if "error" in answer:
                    raise LinkError(f"the emulator refused {what}: {answer['error']}")
        except OSError as error:
            raise LinkError(f"the emulator failed to execute {what}: {error}") from None

    def _next(self) -> dict[str, object]:
        while b"\n" not in self._received:
            try:
                chunk = self._socket.recv(4096)
            except TimeoutError:
                raise LinkError(f"no answer on the emulator's control socket for {ANSWER_S:g} s") from None
            if not chunk or len(self._received) > LONGEST_WORD:
                raise LinkError("the emulator closed its control socket")
            self._received += chunk
        word, _, self._received = self._received.partition(b"\n")
        answer: dict[str, object] = json.loads(word)
        return answer


def _connect(path: Path, emulator: Emulator) -> socket.socket:
    deadline_s = time.monotonic() + OPEN_S
    while True:
        monitor = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            monitor.connect(str(path))
            return monitor
        except OSError:
            monitor.close()
        failure = emulator.failure()
        if failure:
            raise failure
        if time.monotonic() > deadline_s:
            raise LinkError(f"the emulator was not ready within {OPEN_S:g} s")
        time.sleep(RETRY_S)
