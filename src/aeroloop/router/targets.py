"""The offsets of target system and component in MAVLink messages.

MAVLink 2 leaves out zeros at a payload's end: an address beyond the bytes sent is 0, broadcast.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from aeroloop.router.dialect import KINDS


class Address(NamedTuple):
    """Offsets in the payload; None if the message has no target component."""

    system_at: int
    component_at: int | None


def _offsets(kind: Any) -> dict[str, int]:
    """Offset of each field in the payload."""
    places, at = {}, 0
    for name, form, count in zip(
        kind.ordered_fieldnames, kind.native_format[1:].decode(), kind.array_lengths, strict=True
    ):
        places[name] = at
        at += struct.calcsize(f"<{form}") * max(1, count)
    assert at == kind.unpacker.size
    return places


def _address(kind: Any) -> Address | None:
    places = _offsets(kind)
    system_at = places.get("target_system", places.get("target"))
    return None if system_at is None else Address(system_at, places.get("target_component"))


ADDRESSES: dict[int, Address] = {
    number: address for number, kind in KINDS.items() if (address := _address(kind)) is not None
}


def offset(message: str, field: str) -> int:
    """Offset of a field of a message in its payload."""
    kind = next(kind for kind in KINDS.values() if kind.msgname == message)
    return _offsets(kind)[field]
