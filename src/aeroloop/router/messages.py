"""Names and numbers of the messages of every protocol that the router supports."""

from __future__ import annotations

from aeroloop.protocols import interface, pose
from aeroloop.router.dialect import KINDS

MAVLINK: dict[str, int] = {kind.msgname: number for number, kind in KINDS.items()}

UNNUMBERED = 256
"""Board messages without a number are identified by their size; their numbers start here."""
BOARD: dict[str, int] = {
    message.name: UNNUMBERED + index if message.number is None else message.number
    for index, message in enumerate(interface.TILTROTOR.messages)
}
POSE: dict[str, int] = {
    "attitude": pose.ATTITUDE,
    "position": pose.POSITION,
    "rates": pose.RATES,
    "motors": pose.MOTORS,
}

_BY_PROTOCOL = {"mavlink": MAVLINK, "board": BOARD, "pose": POSE}
_NAMES = {protocol: {number: name for name, number in names.items()} for protocol, names in _BY_PROTOCOL.items()}


def number_of(protocol: str, message: str | int) -> int:
    """Number of a message by name or number; ValueError names what was expected."""
    names = _BY_PROTOCOL[protocol]
    if isinstance(message, str):
        if message not in names:
            example = "ATTITUDE" if protocol == "mavlink" else " or ".join(names)
            raise ValueError(f"{protocol} has no message {message!r}, expected a name like {example}, or a number")
        return names[message]
    return message


def name_of(protocol: str, number: int) -> str:
    """Name of a message; its number if it has no name."""
    return _NAMES[protocol].get(number, str(number))
