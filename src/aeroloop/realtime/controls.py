"""Commands to a plant in flight: faults switched on and off, user commands to its board, its end, and the end of one of
its processes, as datagrams in the flight's own folder.

Only users with access to that folder can send them. A command is one of the structs below as JSON; the plant polls for
them, handles a few at a time, and never waits. What is switched or changed is applied at the start of a step, logged,
and written to the run's scenario.toml, so that the flight can be repeated.
"""

from __future__ import annotations

import operator
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from aeroloop.core.changes import Change
from aeroloop.core.config import Config
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch
from aeroloop.core.operator import OperatorCommand
from aeroloop.core.signals import NS

SOCKET = "controls.sock"
LONGEST = 1024
"""Maximum bytes of a command."""
MOST_AT_ONCE = 4
"""Maximum commands per poll: switching takes time and the plant has a deadline."""
POLL_PERIOD_NS = NS // 100

Ender = Literal["ctrl-c", "sigterm", "command", "page", "restart"]
MOST_STEPS = 1_000_000
SPEEDS = (0.01, 100.0)
"""Simulated seconds a second, from and to."""
UNLIMITED = 0.0
"""A speed: as fast as lockstep can."""


class End(Config, frozen=True):
    """Ends the flight now; `end` names the source. `restart`: the same plan is then flown again."""

    end: Ender


class Kill(Config, frozen=True):
    """Kills a process that the flight can do without, to see how the flight goes on."""

    kill: Annotated[str, Meta(max_length=64)]  # its name in the process table, such as `camera`


class Pause(Config, frozen=True):
    """Stops simulated time between two steps, or lets it go on."""

    pause: bool


class Step(Config, frozen=True):
    """Advances by so many steps of the simulation, then pauses."""

    step: Annotated[int, Meta(ge=1, le=MOST_STEPS)]


class Speed(Config, frozen=True):
    """Simulated seconds a second from now on."""

    speed: float

    def __post_init__(self) -> None:
        low, high = SPEEDS
        if self.speed != UNLIMITED and not low <= self.speed <= high:
            raise ValueError(f"speed: expected {low:g} to {high:g} times real time, or max; not {self.speed:g}")


class Operate(Config, frozen=True):
    """Sends a user command to the board of an aircraft."""

    order: OperatorCommand
    vehicle: Annotated[int, Meta(ge=0, le=255)] = 0


Command = Switch | Change | End | Kill | Pause | Step | Speed | Operate

_switches = msgspec.json.Decoder(Switch)
_others: tuple[msgspec.json.Decoder[Command], ...] = tuple(
    msgspec.json.Decoder(kind) for kind in (Change, End, Kill, Pause, Step, Speed, Operate)
)


class Controls:
    """The sender's end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SOCKET

    def switch(self, switch: Switch) -> None:
        self._send(switch)

    def operate(self, order: OperatorCommand, vehicle: int = 0) -> None:
        """A user command to the board; its answer is in the streams of the flight."""
        self._send(Operate(order=order, vehicle=vehicle))

    def end(self, by: Ender) -> None:
        """End the whole flight; its log is evaluated and reported."""
        self._send(End(end=by))

    def change(self, change: Change) -> None:
        self._send(change)

    def pause(self) -> None:
        self._send(Pause(pause=True))

    def resume(self) -> None:
        self._send(Pause(pause=False))

    def step(self, count: int = 1) -> None:
        try:
            steps = operator.index(count)
        except TypeError:
            steps = 0
        if not 1 <= steps <= MOST_STEPS:
            raise ConfigError(f"step: expected a whole number of steps from 1 to {MOST_STEPS}, not {count!r}")
        self._send(Step(step=steps))

    def set_speed(self, speed: float) -> None:
        """Simulated seconds a second; UNLIMITED: as fast as lockstep can. ConfigError if it is not possible."""
        try:
            self._send(Speed(speed=speed))
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def kill(self, process: str) -> None:
        """The supervisor kills it, if it is a process of this flight that is not vital."""
        self._send(Kill(kill=process))

    def _send(self, command: Command) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            try:
                sender.connect(str(self._path))
                sender.send(msgspec.json.encode(command))
            except BlockingIOError:
                raise LinkError(f"{self._path}: the plant has not processed the previous command yet") from None
            except OSError as error:
                raise LinkError(f"{self._path}: the flight has ended; command not sent: {error.strerror}") from None


class ControlPort:
    """The plant's end."""

    def __init__(self, folder: Path, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.refused = 0
        self._path = folder / SOCKET
        self._now_ns = now_ns
        self._due_ns = 0
        self._socket = bound(self._path, "commands")

    def poll(self) -> list[Command]:
        """The commands that have arrived, if a poll is due; normally none."""
        now_ns = self._now_ns()
        if now_ns < self._due_ns:
            return []
        self._due_ns = now_ns + POLL_PERIOD_NS
        taken: list[Command] = []
        for _ in range(MOST_AT_ONCE):
            try:
                datagram = self._socket.recv(LONGEST + 1)
            except OSError:
                break
            try:
                taken.append(decoded(datagram))
            except msgspec.MsgspecError:
                self.refused += 1
        return taken

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


def decoded(datagram: bytes) -> Command:
    """The command, or msgspec's error."""
    if len(datagram) > LONGEST:
        raise msgspec.ValidationError(f"a command has {LONGEST} bytes at most")
    try:
        try:
            return _switches.decode(datagram)
        except msgspec.ValidationError as error:
            for other in _others:
                with suppress(msgspec.ValidationError):
                    return other.decode(datagram)
            raise error from None
    except (UnicodeDecodeError, RecursionError):
        raise msgspec.ValidationError("no JSON") from None


def bound(path: Path, purpose: str) -> socket.socket:
    """A datagram socket in a folder that only its user can access, for messages between programs of one user.

    Non-blocking; replaces the socket of a dead program. LinkError names `purpose` if it cannot listen.
    """
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mailbox.setblocking(False)
    try:
        path.unlink(missing_ok=True)
        mailbox.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        mailbox.close()
        raise LinkError(f"{path}: cannot listen for {purpose}: {error.strerror or error}") from None
    return mailbox
