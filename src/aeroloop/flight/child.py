"""A process of a flight as the supervisor sees it: its messages, and how it ended."""

from __future__ import annotations

import json
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from aeroloop.core.errors import EXIT_LINK, AeroloopError
from aeroloop.core.tables import Role
from aeroloop.flight.forked import StartedProcess
from aeroloop.flight.process_table import Process
from aeroloop.realtime.limits import lacking_words

RECORDER_GRACE_S = 5.0
"""Time for the recorder to end, counted from its last progress: rows received are to be written."""


@dataclass
class Child:
    launched: Process
    process: StartedProcess
    line: socket.socket
    messages: list[dict[str, Any]] = field(default_factory=list)
    killed: bool = False  # by the supervisor, since it made no progress when requested to end
    missed: bool = False  # it failed in flight, and the flight continued without it
    left: bool = False  # its part of the flight ended before the others, and it was ended
    restarts: int = 0  # how often it was started again
    ready_by_s: float | None = None  # started again, and not ready yet: the deadline

    @property
    def role(self) -> Role:
        return self.launched.role

    def received(self, kind: str) -> dict[str, Any] | None:
        return next((message for message in self.messages if message["kind"] == kind), None)

    def taken(self, kind: str) -> list[dict[str, Any]]:
        """Messages of this kind since the last call."""
        fresh = [message for message in self.messages if message["kind"] == kind]
        self.messages = [message for message in self.messages if message["kind"] != kind]
        return fresh

    @property
    def failed_at_ns(self) -> int:
        """Time at which it reported its failure; a killed process could not report, and comes first.

        A process that ended normally comes last: usually it ended because another had failed.
        """
        failed = self.received("failed")
        if failed:
            return int(failed["at_ns"])
        return time.monotonic_ns() if self.process.poll() == 0 else 0

    def listen(self) -> None:
        """Read its messages; an ended process may have left messages in the socket."""
        while True:
            try:
                packet = self.line.recv(65536, socket.MSG_DONTWAIT)
            except OSError:
                return
            if not packet:
                return
            message = json.loads(packet)
            if message["kind"] == "progress":
                self.messages = [m for m in self.messages if m["kind"] != "progress"]
            self.messages.append(message)

    def send(self, word: str) -> None:
        try:
            self.line.send(word.encode())
        except OSError:
            return  # it has ended, which the loop detects

    def verdict(self, *, flying: bool = False) -> AeroloopError | None:
        """The error of this process, if any; in flight, ending is an error too."""
        if self.left:
            return None
        failed = self.received("failed")
        if failed:
            error = AeroloopError(failed["message"])
            error.exit_code = failed["exit_code"]
            return error
        if self.killed:  # not its own error
            error = AeroloopError(
                f"the {self.role.name} process made no progress for {RECORDER_GRACE_S:g} s after the flight and was "
                "stopped: the log may be incomplete"
            )
            error.exit_code = EXIT_LINK
            return error
        code = self.process.poll()
        if code is None or (code == 0 and not flying):
            return None
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        if code == -signal.SIGBUS:  # shared memory is exhausted
            how += f": {lacking_words()}"
        if code == 0:
            how = "ended before the flight did"
        error = AeroloopError(f"the {self.role.name} process {how}")
        error.exit_code = EXIT_LINK
        return error
