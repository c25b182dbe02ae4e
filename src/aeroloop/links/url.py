"""Link URLs: a strict parser, and how one URL of a scenario becomes the two ends of a link."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote_from_bytes, unquote_to_bytes, urlsplit

from aeroloop.core.errors import ConfigError

DEFAULT_BAUD = 921_600
LOCALHOST = "127.0.0.1"

_EXAMPLES = {
    "serial": "serial:///dev/ttyUSB0?baud=921600",
    "pty": "pty:///tmp/board0",
    "loopback": "loopback:///tmp/board0.sock?listen",
    "udp": "udp://127.0.0.1:14560?listen",
    "tcp": "tcp://127.0.0.1:4560?listen",
}
_OPTIONS = {"serial": ("baud",), "pty": (), "loopback": ("listen",), "udp": ("listen",), "tcp": ("listen",)}

_HOST = re.compile(r"[\w-]{1,63}(\.[\w-]{1,63})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class LinkUrl:
    """A parsed link URL; `str()` formats it again."""

    scheme: str
    path: str = ""  # serial, pty, loopback
    host: str = ""  # udp, tcp
    port: int = 0  # udp, tcp
    baud: int = DEFAULT_BAUD  # serial
    listen: bool = False  # loopback, udp, tcp

    def __str__(self) -> str:
        place = f"{self.host}:{self.port}" if self.host else quote_from_bytes(os.fsencode(self.path))
        baud = f"?baud={self.baud}" if self.baud != DEFAULT_BAUD else ""
        return f"{self.scheme}://{place}{baud}{'?listen' if self.listen else ''}"


def parse(url: str, *, template: bool = False) -> LinkUrl:
    """Parse `url`; a template may leave out path or port (0) for `ends` to fill in."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in _EXAMPLES:
        raise ConfigError(f"link URL {url!r}: expected one of {', '.join(f'{s}://' for s in _EXAMPLES)}")
    try:
        if not url.isprintable():
            raise ValueError("control character")
        parts = urlsplit(url)
        if parts.fragment:
            raise ValueError(f"unexpected #{parts.fragment}")
        place = _address(parts, template) if scheme in ("udp", "tcp") else _file(parts, template)
        return _with_options(place, parts.query)
    except ValueError as reason:
        raise ConfigError(f"link URL {url!r}: {reason}; expected e.g. {_EXAMPLES[scheme]}") from None


def ends(url: str, *, folder: Path, name: str) -> tuple[str, str | None]:
    """The server's and the client's URL of a scenario's link; no client where the peer is external.

    Missing parts are filled in: the path with a file in `folder`, port 0 with a free port.
    """
    link = parse(url, template=True)
    if link.scheme == "serial":
        return url, None
    if link.scheme == "pty":
        path = link.path or str(folder.absolute() / f"{name}.pty")
        return str(replace(link, path=path)), str(LinkUrl("serial", path=path))
    if link.scheme == "loopback":
        link = replace(link, path=link.path or str(folder.absolute() / f"{name}.sock"))
    elif not link.port:
        link = replace(link, port=_free_port(link))
    return str(replace(link, listen=True)), str(replace(link, listen=False))


def _address(parts: SplitResult, template: bool) -> LinkUrl:
    if parts.path:
        raise ValueError(f"unexpected path {parts.path}")
    host = parts.netloc.partition(":")[0]
    if host and not _HOST.fullmatch(host):
        raise ValueError("host is neither a name nor an IPv4 address")
    if parts.port is None:
        raise ValueError("missing port")
    if not parts.port and not template:
        raise ValueError("port 0 is not an address")
    # Only an explicit host opens the link to other machines.
    return LinkUrl(parts.scheme, host=host or LOCALHOST, port=parts.port)


def _file(parts: SplitResult, template: bool) -> LinkUrl:
    if parts.netloc:
        raise ValueError("the path must begin with a third slash")
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if "\0" in path:
        raise ValueError("path with a null byte")
    fillable = template and not path and parts.scheme != "serial"
    if path in ("", "/") and not fillable:
        raise ValueError("missing path")
    return LinkUrl(parts.scheme, path=path)


def _with_options(link: LinkUrl, query: str) -> LinkUrl:
    seen: set[str] = set()
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in _OPTIONS[link.scheme]:
            raise ValueError(f"unknown option {key!r}")
        if key in seen:
            raise ValueError(f"option {key!r} given twice")
        seen.add(key)
        if key == "baud":
            if not (value.isascii() and value.isdecimal() and 50 <= int(value) <= 20_000_000):
                raise ValueError(f"bad baud {value!r}")
            link = replace(link, baud=int(value))
        elif value:
            raise ValueError("listen takes no value")
        else:
            link = replace(link, listen=True)
    return link


def _free_port(link: LinkUrl) -> int:
    kind = socket.SOCK_DGRAM if link.scheme == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as probe:
        try:
            probe.bind((link.host, 0))
        except OSError as error:
            raise ConfigError(f"link URL '{link}': no free port at {link.host}: {error.strerror}") from None
        return int(probe.getsockname()[1])
