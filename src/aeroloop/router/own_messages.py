"""MAVLink messages of the router itself: notices, answers to refused messages, and round-trip probes."""

from __future__ import annotations

from pymavlink.dialects.v20 import common as dialect

from aeroloop.protocols.mavlink import Message
from aeroloop.router.messages import MAVLINK
from aeroloop.router.targets import offset

TIMESYNC, PING = MAVLINK["TIMESYNC"], MAVLINK["PING"]
OPERATOR = MAVLINK["CHANGE_OPERATOR_CONTROL"]
_TEXT_SIZE = 50
_THEIRS_AT, _OURS_AT = offset("TIMESYNC", "tc1"), offset("TIMESYNC", "ts1")
_PING_AT = offset("PING", "seq")
_RELEASE_AT = offset("CHANGE_OPERATOR_CONTROL", "control_request")

GRANTED, DENIED, TAKEN = 0, 1, 3
"""Answers to CHANGE_OPERATOR_CONTROL: granted; denied; another station has control."""


class RouterMessages:
    """Encodes the router's messages with its own system and component."""

    def __init__(self, system: int, component: int) -> None:
        self.system = system
        self.component = component
        self._sender = dialect.MAVLink(None, srcSystem=system, srcComponent=component)

    def text(self, words: str, severity: int = dialect.MAV_SEVERITY_WARNING, sender: tuple[int, int] = (0, 0)) -> bytes:
        """Ground stations show texts of vehicles only, so answers to a command are sent with the vehicle's ID."""
        said = words.encode("ascii", "replace")[:_TEXT_SIZE]
        return self._pack(dialect.MAVLink_statustext_message(severity, said), *sender)

    def timesync(self, token: int) -> bytes:
        return self._pack(dialect.MAVLink_timesync_message(0, token))

    def ping(self, token: int) -> bytes:
        return self._pack(dialect.MAVLink_ping_message(0, token & 0xFFFFFFFF, 0, 0))

    def command_answer(self, command: int, result: int, sender: tuple[int, int], target: tuple[int, int]) -> bytes:
        """Sent with the ID of the command's target: the sender accepts an answer from no other."""
        message = dialect.MAVLink_command_ack_message(command, result, 0, 0, *sender)
        return self._pack(message, *target)

    def mission_answer(self, sender: tuple[int, int], target: tuple[int, int]) -> bytes:
        return self._pack(dialect.MAVLink_mission_ack_message(*sender, dialect.MAV_MISSION_DENIED), *target)

    def operator_answer(self, ground_system: int, request: int, answer: int) -> bytes:
        return self._pack(dialect.MAVLink_change_operator_control_ack_message(ground_system, request, answer))

    def _pack(self, message: Message, system: int = 0, component: int = 0) -> bytes:
        sender = self._sender
        sender.srcSystem, sender.srcComponent = system or self.system, component or self.component
        wire: bytes = message.pack(sender)
        sender.seq = (sender.seq + 1) & 0xFF
        return wire


def timesync_token(payload: bytes) -> int | None:
    """The token in a TIMESYNC answer; None for a request."""
    if not any(payload[_THEIRS_AT : _THEIRS_AT + 8]):
        return None
    return int.from_bytes(payload[_OURS_AT : _OURS_AT + 8].ljust(8, b"\0"), "little")


def ping_token(payload: bytes) -> int:
    return int.from_bytes(payload[_PING_AT : _PING_AT + 4].ljust(4, b"\0"), "little")


def releases_control(payload: bytes) -> bool:
    return any(payload[_RELEASE_AT : _RELEASE_AT + 1])
