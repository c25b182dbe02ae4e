"""Switches of faults, as tests give them."""

from __future__ import annotations

from typing import Any

import msgspec

from aeroloop.core.faults import Switch

MS = 1_000_000


def order(target: str, kind: str, on: bool = True, **more: Any) -> Switch:
    return msgspec.convert({"target": target, "kind": kind, "on": on, **more}, Switch)


class Wire:
    """A link that keeps what is sent, and hands over what it is given."""

    url = "wire://"

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.comes = b""

    def fileno(self) -> int:
        return -1

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def poll(self) -> bytes:
        data, self.comes = self.comes, b""
        return data

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None:
        pass
