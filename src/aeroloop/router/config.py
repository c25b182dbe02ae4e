"""The router's configuration: endpoints, what goes from where to where, and the rates that lines should have.

    config = load(Path("bench.toml"))

Endpoints are numbered in the order of the file: these are the numbers of the streams `line` and `line_message`.
"""

from __future__ import annotations

import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aeroloop.core.config import Config, convert, meta, note, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.links import url as links

Role = Literal["vehicle", "command", "observe"]
ROLES: tuple[Role, ...] = ("vehicle", "command", "observe")
"""Their places are the numbers in the stream `line`."""
COMMANDS = 10
"""Added to the role's number of the line that commands just now."""

Protocol = Literal["mavlink", "board", "pose"]
EVERY = "*"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


class EndpointConfig(Config, frozen=True):
    """One place where frames come from and go to."""

    name: Annotated[str, note("short and unique: up to 32 letters, digits, `_`, `.` and `-`")]
    url: Annotated[str, note("`serial://`, `udp://`, `tcp://`, `pty://` or `loopback://`; `?listen` for a server")]
    protocol: Annotated[Protocol, note("what it speaks; only endpoints of one protocol exchange frames")] = "mavlink"
    role: Annotated[
        Role, note("`vehicle`: is commanded; `command`: may command, one at a time; `observe`: may look only")
    ] = "vehicle"
    signing_key_file: Annotated[
        str, note("file with the secret of MAVLink 2 signing, relative to this one; empty: no signing")
    ] = ""
    baud: Annotated[
        int, meta("bit/s", "for the load of the line; 0: a serial port's own, none elsewhere", ge=0, le=20_000_000)
    ] = 0
    max_peers: Annotated[int, meta("-", "of a server: so many at a time", ge=1, le=256)] = 32
    queue_frames: Annotated[
        int, meta("-", "frames that may wait for one peer; 0: 2048, or half a second of a serial line", ge=0, le=65536)
    ] = 0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name: {self.name!r}: expected 1 to 32 letters, digits, '_', '.' or '-', no space")
        try:
            links.parse(self.url)
        except ConfigError as error:
            raise ValueError(f"url: {error}") from None
        if self.signing_key_file and self.protocol != "mavlink":
            raise ValueError(f"signing_key_file: only MAVLink 2 is signed, not protocol {self.protocol!r}")

    @property
    def link(self) -> links.LinkUrl:
        return links.parse(self.url)

    def looked_up(self) -> links.LinkUrl:
        """With the host's number in place of its name; ConfigError if nobody knows it."""
        link = self.link
        if not link.host:
            return link
        try:
            return replace(link, host=socket.gethostbyname(link.host))
        except OSError as error:
            raise ConfigError(f"{self.url}: no such host: {error.strerror}") from None

    @property
    def line_baud(self) -> int:
        """What the line carries, 0 where nothing limits it."""
        link = self.link
        return self.baud or (link.baud if link.scheme == "serial" and link.path.startswith("/dev/") else 0)


class Forward(Config, frozen=True, rename={"source": "from", "target": "to"}):
    """Lets messages pass from one endpoint to another; the first rule that fits a message decides.

    Two endpoints that no rule names together exchange everything.
    """

    source: Annotated[str, note("name of an endpoint, or `*`")]
    target: Annotated[str, note("name of an endpoint, or `*`")]
    messages: Annotated[tuple[str | int, ...], note("names or numbers; empty for all")] = ()
    systems: Annotated[tuple[int, ...], note("of the sender; empty for all")] = ()
    components: Annotated[tuple[int, ...], note("of the sender; empty for all")] = ()
    max_rate_hz: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None,
        meta(
            "Hz",
            "for each sender and message; 0 lets none pass; commands, missions and parameters are thinned only "
            "where `messages` names them",
        ),
    ] = None


class SetRate(Config, frozen=True):
    """How often a message should come in at an endpoint."""

    endpoint: Annotated[str, note("its name")]
    message: Annotated[str | int, note("name or number")]
    hz: Annotated[float, meta("Hz", "set rate", gt=0, le=1e6)]


class RouterConfig(Config, frozen=True):
    """A router: its endpoints and what passes between them."""

    endpoints: Annotated[tuple[EndpointConfig, ...], msgspec.Meta(min_length=1, max_length=256), note("at least one")]
    name: Annotated[str, note("for people")] = "router"
    forward: Annotated[tuple[Forward, ...], note("none: everything to everyone, but back to its sender")] = ()
    rates: Annotated[tuple[SetRate, ...], note("set rates, for amber and red")] = ()
    system: Annotated[int, meta("-", "MAVLink system of the router itself", ge=1, le=255)] = 254
    component: Annotated[int, meta("-", "MAVLink component of the router itself", ge=1, le=255)] = 191
    timesync_hz: Annotated[
        float, meta("Hz", "how often the round trip of a MAVLink line is measured; 0: never", ge=0, le=100)
    ] = 1.0
    commander_timeout_s: Annotated[
        float, meta("s", "a commander that is silent for so long commands no longer", gt=0, le=3600)
    ] = 5.0
    peer_timeout_s: Annotated[float, meta("s", "a UDP peer that is silent for so long has left", gt=0, le=3600)] = 10.0
    duplicate_window_s: Annotated[
        float, meta("s", "a frame that comes over a second line within this time is a duplicate", gt=0, le=10)
    ] = 0.5

    def __post_init__(self) -> None:
        names = [endpoint.name for endpoint in self.endpoints]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(f"endpoints[{index}].name: {name!r} is taken, expected another name")
        taken: dict[tuple[str, object], str] = {}
        for index, endpoint in enumerate(self.endpoints):
            if (place := _place(endpoint.link)) is not None:
                if place in taken:
                    words = f"endpoints[{index}].url: {endpoint.url} is {taken[place]}'s, expected a place of its own"
                    raise ValueError(words)
                taken[place] = endpoint.name
        for index, rule in enumerate(self.forward):
            self._check_rule(f"forward[{index}]", rule)
        for index, rate in enumerate(self.rates):
            where = f"rates[{index}]"
            endpoint = self._endpoint(f"{where}.endpoint", rate.endpoint)
            _number(f"{where}.message", endpoint.protocol, rate.message)

    def _check_rule(self, where: str, rule: Forward) -> None:
        ends = []
        for key, name in (("from", rule.source), ("to", rule.target)):
            if name != EVERY:
                ends.append(self._endpoint(f"{where}.{key}", name))
        if len({end.protocol for end in ends}) > 1:
            raise ValueError(f"{where}: {rule.source} and {rule.target} speak different protocols")
        for message in rule.messages:
            _number(f"{where}.messages", ends[0].protocol if ends else "mavlink", message)
        for key, numbers in (("systems", rule.systems), ("components", rule.components)):
            if not all(0 <= number <= 255 for number in numbers):
                raise ValueError(f"{where}.{key}: expected numbers from 0 to 255")

    def _endpoint(self, where: str, name: str) -> EndpointConfig:
        for endpoint in self.endpoints:
            if endpoint.name == name:
                return endpoint
        known = ", ".join(endpoint.name for endpoint in self.endpoints)
        raise ValueError(f"{where}: no endpoint {name!r}, expected one of: {known}")


def _place(link: links.LinkUrl) -> tuple[str, object] | None:
    """What only one endpoint can have: a device, a path or a port to listen at."""
    if link.scheme in ("serial", "pty"):
        return "path", link.path
    if not link.listen:
        return None
    return (link.scheme, link.port) if link.port else ("path", link.path)


def _number(where: str, protocol: Protocol, message: str | int) -> int:
    if isinstance(message, int):
        if 0 <= message < 1 << 24:
            return message
        raise ValueError(f"{where}: no message has the number {message}, expected 0 to {(1 << 24) - 1}")
    from aeroloop.router.messages import number_of  # costs pymavlink, and every process of a flight reads scenarios

    try:
        return number_of(protocol, message)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def load(path: Path) -> RouterConfig:
    """Read and validate a router's file; ConfigError says file, key and what was expected."""
    table = read_toml(path)
    return anchored(convert(table, RouterConfig, str(path)), path.resolve().parent)


def anchored(config: RouterConfig, folder: Path) -> RouterConfig:
    """The same with key files as absolute paths."""
    endpoints = tuple(
        msgspec.structs.replace(end, signing_key_file=str(folder / end.signing_key_file))
        if end.signing_key_file
        else end
        for end in config.endpoints
    )
    return msgspec.structs.replace(config, endpoints=endpoints)
