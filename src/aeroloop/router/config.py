"""The router's configuration: endpoints, forwarding rules, and set rates.

    config = load(Path("bench.toml"))

Endpoints are numbered in the order of the file: these are the numbers in the streams `router_link` and
`router_message`.
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

Role = Literal["vehicle", "command", "observe", "simulator"]
ROLES: tuple[Role, ...] = ("vehicle", "command", "observe", "simulator")
"""An index in this tuple is the number in the stream `router_link`."""
COMMANDS = 10
"""Added to the role number of the link that holds command."""

Protocol = Literal["mavlink", "board", "pose"]
EVERY = "*"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


class EndpointConfig(Config, frozen=True):
    """One connection of the router."""

    name: Annotated[str, note("short and unique: up to 32 letters, digits, `_`, `.` and `-`")]
    url: Annotated[str, note("`serial://`, `udp://`, `tcp://`, `pty://` or `loopback://`; `?listen` for a server")]
    protocol: Annotated[Protocol, note("frames are exchanged only between endpoints of the same protocol")] = "mavlink"
    role: Annotated[
        Role,
        note(
            "`vehicle`: is commanded; `command`: may command, one at a time; `observe`: read only; "
            "`simulator`: exchanges HIL messages with its vehicle"
        ),
    ] = "vehicle"
    simulates: Annotated[
        str, note("name of the vehicle's endpoint, for role `simulator`; empty: the only vehicle there is")
    ] = ""
    companion: Annotated[
        bool,
        note(
            "a companion computer: may send measurements to the vehicle (GPS_INPUT, ODOMETRY, VISION_*, HIL_*, ...) "
            "without holding the command; for role `command`"
        ),
    ] = False
    signing_key_file: Annotated[
        str, note("file with the secret of MAVLink 2 signing, relative to this one; empty: no signing")
    ] = ""
    baud: Annotated[
        int,
        meta(
            "bit/s",
            "to compute the load of the link; 0: that of a serial port, none for other links",
            ge=0,
            le=20_000_000,
        ),
    ] = 0
    max_peers: Annotated[int, meta("-", "maximum number of clients of a server", ge=1, le=256)] = 32
    queue_frames: Annotated[
        int, meta("-", "queue length for one peer; 0: 2048, or half a second of a serial link", ge=0, le=65536)
    ] = 0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name: {self.name!r}: expected 1 to 32 letters, digits, '_', '.' or '-', no space")
        try:
            links.parse(self.url)
        except ConfigError as error:
            raise ValueError(f"url: {error}") from None
        if self.companion and (self.role, self.protocol) != ("command", "mavlink"):
            raise ValueError("companion: expected with role 'command' and protocol 'mavlink'")
        if self.simulates and self.role != "simulator":
            raise ValueError("simulates: expected with role 'simulator'")
        if self.role == "simulator" and self.protocol != "mavlink":
            raise ValueError(f"role: a simulator exchanges MAVLink HIL messages, not protocol {self.protocol!r}")
        if self.signing_key_file and self.protocol != "mavlink":
            raise ValueError(f"signing_key_file: only MAVLink 2 is signed, not protocol {self.protocol!r}")

    @property
    def link(self) -> links.LinkUrl:
        return links.parse(self.url)

    def looked_up(self) -> links.LinkUrl:
        """The URL with the host name replaced by its address; ConfigError if the name is unknown."""
        link = self.link
        if not link.host:
            return link
        try:
            return replace(link, host=socket.gethostbyname(link.host))
        except OSError as error:
            raise ConfigError(f"{self.url}: no such host: {error.strerror}") from None

    @property
    def link_baud(self) -> int:
        """Capacity of the link; 0 where nothing limits it."""
        link = self.link
        return self.baud or (link.baud if link.scheme == "serial" and link.path.startswith("/dev/") else 0)


class Forward(Config, frozen=True, rename={"source": "from", "target": "to"}):
    """Forwarding rule from one endpoint to another; the first rule that matches a message applies.

    Two endpoints without a rule for the pair exchange all messages.
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
            "for each sender and message; 0 blocks all; commands, missions and parameters are limited only "
            "where `messages` names them",
        ),
    ] = None


class SetRate(Config, frozen=True):
    """Expected rate of a message received at an endpoint."""

    endpoint: Annotated[str, note("its name")]
    message: Annotated[str | int, note("name or number")]
    hz: Annotated[float, meta("Hz", "set rate", gt=0, le=1e6)]


class RouterConfig(Config, frozen=True):
    """A router: its endpoints and forwarding rules."""

    endpoints: Annotated[tuple[EndpointConfig, ...], msgspec.Meta(min_length=1, max_length=256), note("at least one")]
    name: Annotated[str, note("for people")] = "router"
    forward: Annotated[tuple[Forward, ...], note("none: all messages to all endpoints except the sender's")] = ()
    rates: Annotated[tuple[SetRate, ...], note("expected rates, for the amber and red levels")] = ()
    system: Annotated[int, meta("-", "MAVLink system of the router itself", ge=1, le=255)] = 254
    component: Annotated[int, meta("-", "MAVLink component of the router itself", ge=1, le=255)] = 191
    timesync_hz: Annotated[
        float, meta("Hz", "how often the round-trip time of a MAVLink link is measured; 0: never", ge=0, le=100)
    ] = 1.0
    commander_timeout_s: Annotated[
        float, meta("s", "a commander without traffic for this long loses command", gt=0, le=3600)
    ] = 5.0
    peer_timeout_s: Annotated[
        float, meta("s", "a UDP peer without traffic for this long counts as disconnected", gt=0, le=3600)
    ] = 10.0
    duplicate_window_s: Annotated[
        float, meta("s", "a frame received on a second link within this time is a duplicate", gt=0, le=10)
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
                    words = f"endpoints[{index}].url: {endpoint.url} is {taken[place]}'s, expected a different URL"
                    raise ValueError(words)
                taken[place] = endpoint.name
        flown: dict[str, str] = {}
        for index, endpoint in enumerate(self.endpoints):
            if endpoint.role == "simulator":
                vehicle = self._simulated(f"endpoints[{index}].simulates", endpoint)
                if vehicle in flown:
                    raise ValueError(
                        f"endpoints[{index}].simulates: {vehicle} is simulated by {flown[vehicle]} already"
                    )
                flown[vehicle] = endpoint.name
        for index, rule in enumerate(self.forward):
            self._check_rule(f"forward[{index}]", rule)
        for index, rate in enumerate(self.rates):
            where = f"rates[{index}]"
            endpoint = self._endpoint(f"{where}.endpoint", rate.endpoint)
            _number(f"{where}.message", endpoint.protocol, rate.message)

    def simulated_by(self, simulator: EndpointConfig) -> str:
        """Name of the vehicle's endpoint."""
        return self._simulated("simulates", simulator)

    def _simulated(self, where: str, simulator: EndpointConfig) -> str:
        vehicles = [end.name for end in self.endpoints if end.role == "vehicle" and end.protocol == "mavlink"]
        if not simulator.simulates and len(vehicles) == 1:
            return vehicles[0]
        if simulator.simulates not in vehicles:
            known = ", ".join(vehicles) or "none has this role"
            raise ValueError(f"{where}: expected an endpoint with role 'vehicle', one of: {known}")
        return simulator.simulates

    def _check_rule(self, where: str, rule: Forward) -> None:
        ends = []
        for key, name in (("from", rule.source), ("to", rule.target)):
            if name != EVERY:
                ends.append(self._endpoint(f"{where}.{key}", name))
        if len({end.protocol for end in ends}) > 1:
            raise ValueError(f"{where}: {rule.source} and {rule.target} have different protocols")
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
    """What only one endpoint can use: a device, a path or a port to listen on."""
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
    # Imported here: pymavlink is slow to import, and every process of a flight reads scenarios.
    from aeroloop.router.messages import number_of

    try:
        return number_of(protocol, message)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def load(path: Path) -> RouterConfig:
    """Read and validate a router's file; ConfigError names file, key and what was expected."""
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
