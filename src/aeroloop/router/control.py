"""Control datagrams to a running router, in its own folder: transfer of command.

Only users with access to that folder can send to it. The router accepts one request, reads a few datagrams at a time,
answers each and never blocks.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from aeroloop.core.config import Config
from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.realtime.controls import bound

SOCKET = "route.sock"
LONGEST = 1024
"""Bytes of a datagram."""
MOST_AT_ONCE = 16
ANSWER_S = 2.0

PilotAction = Callable[[str], None]
"""Action on a named endpoint; an AeroloopError gives the reason why it failed."""


class Request(Config, frozen=True):
    word: Literal["take-over"]
    name: str


class Answer(Config, frozen=True):
    done: bool
    reason: str = ""


_requests = msgspec.json.Decoder(Request)
_answers = msgspec.json.Decoder(Answer)


def take_over(folder: Path, name: str) -> None:
    """Request the router of this folder to give command to an endpoint; ConfigError with the reason of a refusal."""
    path = folder / SOCKET
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.settimeout(ANSWER_S)
        try:
            ours.bind("")  # the kernel assigns a return address
            ours.connect(str(path))
            ours.send(msgspec.json.encode(Request(word="take-over", name=name)))
            answer = _answers.decode(ours.recv(LONGEST))
        except TimeoutError:
            raise LinkError(f"{path}: the router did not answer within {ANSWER_S:g} s") from None
        except OSError as error:
            raise LinkError(f"{path}: no router is listening: {error.strerror}") from None
        except msgspec.MsgspecError:
            raise LinkError(f"{path}: the answer is not from a router") from None
    if not answer.done:
        raise ConfigError(answer.reason)


class ControlPort:
    """The router's end of the socket."""

    def __init__(self, folder: Path) -> None:
        self.refused = 0  # datagrams that are not requests
        self._path = folder / SOCKET
        self._socket = bound(self._path, "requests")

    def serve(self, actions: Mapping[str, PilotAction]) -> None:
        """Execute the requests received and answer each."""
        for _ in range(MOST_AT_ONCE):
            try:
                datagram, sender = self._socket.recvfrom(LONGEST + 1)
            except OSError:
                return
            try:
                request = _requests.decode(datagram)
            except (msgspec.MsgspecError, RecursionError):
                self.refused += 1
                continue
            self._reply(_done(actions[request.word], request.name), sender)

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _reply(self, answer: Answer, sender: str | bytes | None) -> None:
        if not sender:
            return
        try:
            self._socket.sendto(msgspec.json.encode(answer)[:LONGEST], sender)
        except OSError:
            return  # the client has closed its socket


def _done(action: PilotAction, name: str) -> Answer:
    try:
        action(name)
    except AeroloopError as error:
        return Answer(done=False, reason=str(error)[: LONGEST // 2])
    return Answer(done=True)
