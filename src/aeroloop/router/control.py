"""Words to a running router, as datagrams in its own folder: who shall command.

Only who may enter that folder can speak to it. The router knows one word, takes a few datagrams at a time, answers each
and never waits.
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

Deed = Callable[[str], None]
"""What is done about a name; an AeroloopError says why not."""


class Request(Config, frozen=True):
    word: Literal["take-over"]
    name: str


class Answer(Config, frozen=True):
    done: bool
    reason: str = ""


_requests = msgspec.json.Decoder(Request)
_answers = msgspec.json.Decoder(Answer)


def take_over(folder: Path, name: str) -> None:
    """Ask the router of this folder to let an endpoint command; ConfigError with its reason if it will not."""
    path = folder / SOCKET
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.settimeout(ANSWER_S)
        try:
            ours.bind("")  # the kernel gives it a name to answer to
            ours.connect(str(path))
            ours.send(msgspec.json.encode(Request(word="take-over", name=name)))
            answer = _answers.decode(ours.recv(LONGEST))
        except TimeoutError:
            raise LinkError(f"{path}: the router gave no answer within {ANSWER_S:g} s") from None
        except OSError as error:
            raise LinkError(f"{path}: no router is listening: {error.strerror}") from None
        except msgspec.MsgspecError:
            raise LinkError(f"{path}: that answer came from no router") from None
    if not answer.done:
        raise ConfigError(answer.reason)


class ControlPort:
    """The router's end."""

    def __init__(self, folder: Path) -> None:
        self.refused = 0  # datagrams that are no request
        self._path = folder / SOCKET
        self._socket = bound(self._path, "requests")

    def serve(self, deeds: Mapping[str, Deed]) -> None:
        """Do what has been asked, and say how it went."""
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
            self._reply(_done(deeds[request.word], request.name), sender)

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _reply(self, answer: Answer, sender: str | bytes | None) -> None:
        if not sender:
            return
        try:
            self._socket.sendto(msgspec.json.encode(answer)[:LONGEST], sender)
        except OSError:
            return  # whoever asked has left


def _done(deed: Deed, name: str) -> Answer:
    try:
        deed(name)
    except AeroloopError as error:
        return Answer(done=False, reason=str(error)[: LONGEST // 2])
    return Answer(done=True)
