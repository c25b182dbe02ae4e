"""Opens a link from its URL."""

from __future__ import annotations

from collections.abc import Callable

from aeroloop.links.base import Link
from aeroloop.links.loopback import open_loopback
from aeroloop.links.pty import PtyLink
from aeroloop.links.serial import SerialLink
from aeroloop.links.tcp import open_tcp
from aeroloop.links.udp import open_udp
from aeroloop.links.url import LinkUrl, parse

_OPENERS: dict[str, Callable[[LinkUrl], Link]] = {
    "serial": SerialLink,
    "pty": PtyLink,
    "loopback": open_loopback,
    "udp": open_udp,
    "tcp": open_tcp,
}


def open_link(url: str) -> Link:
    parts = parse(url)
    return _OPENERS[parts.scheme](parts)
