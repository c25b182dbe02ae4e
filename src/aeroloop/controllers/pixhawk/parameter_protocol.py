"""MAVLink's parameter protocol as in PX4: integers are encoded in the bytes of the float field."""

from __future__ import annotations

import struct

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.parameters import NAME_LENGTH, Parameters
from aeroloop.controllers.pixhawk.statustext import StatusTexts
from aeroloop.controllers.pixhawk.types import Severity
from aeroloop.protocols.mavlink import Message

PACE_NS = 2_000_000
"""Time between two parameters of a list."""

_REAL = dialect.MAV_PARAM_TYPE_REAL32
_WHOLE = dialect.MAV_PARAM_TYPE_INT32


class ParameterProtocol:
    """The parameter protocol on one link. A new list request restarts the list, so there is at most one in progress."""

    def __init__(self, parameters: Parameters, texts: StatusTexts) -> None:
        self._parameters = parameters
        self._texts = texts
        self._listed = len(parameters.names)  # the next parameter of the list in progress
        self._next_ns = 0

    def handle(self, message: Message, sender: tuple[int, int], t_ns: int) -> list[Message] | None:
        """Returns the answers; None if the message belongs to another protocol."""
        kind = message.get_type()
        if kind == "PARAM_REQUEST_LIST":
            self._listed = 0
            self._next_ns = t_ns
            return []
        if kind == "PARAM_REQUEST_READ":
            return self._read(message, sender)
        if kind == "PARAM_SET":
            return self._set(message, sender)
        return None

    def step(self, t_ns: int) -> list[Message]:
        """The next parameters of a requested list."""
        names = self._parameters.names
        told: list[Message] = []
        while self._listed < len(names) and self._next_ns <= t_ns and len(told) < 20:
            told.append(self.value(names[self._listed]))
            self._listed += 1
            self._next_ns += PACE_NS
        return told

    def value(self, name: str) -> Message:
        value: float = self._parameters.get(name)
        whole = self._parameters.row(name).kind == "int"
        if whole:
            (value,) = struct.unpack("<f", struct.pack("<i", int(value)))
        return dialect.MAVLink_param_value_message(
            name.encode("ascii"),
            value,
            _WHOLE if whole else _REAL,
            len(self._parameters),
            self._parameters.index(name),
        )

    def _read(self, message: Message, sender: tuple[int, int]) -> list[Message]:
        names, index = self._parameters.names, message.param_index
        name = names[index] if 0 <= index < len(names) else _text(message.param_id)
        if index >= len(names) or name not in self._parameters:
            return [self._error(message, sender, dialect.MAV_PARAM_ERROR_DOES_NOT_EXIST)]
        return [self.value(name)]

    def _set(self, message: Message, sender: tuple[int, int]) -> list[Message]:
        name = _text(message.param_id)
        if name not in self._parameters:
            told = self._texts.messages(Severity.WARNING, f"No parameter {name}")
            return [self._error(message, sender, dialect.MAV_PARAM_ERROR_DOES_NOT_EXIST), *told]
        whole = self._parameters.row(name).kind == "int"
        value: float = message.param_value
        if message.param_type != (_WHOLE if whole else _REAL):
            reason: str | None = f"{name} is {'INT32' if whole else 'REAL32'}"
        else:
            if whole:
                (value,) = struct.unpack("<i", struct.pack("<f", value))
            refusal = self._parameters.set(name, value)
            reason = None if refusal is None else refusal.reason
        if reason is None:
            return [self.value(name)]
        # The current value shows stations without PARAM_ERROR that nothing was changed.
        error = self._error(message, sender, dialect.MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE)
        return [self.value(name), error, *self._texts.messages(Severity.WARNING, reason)]

    def _error(self, message: Message, sender: tuple[int, int], error: int) -> Message:
        name = _text(message.param_id).encode("ascii", "replace")[:NAME_LENGTH]
        index = message.param_index if message.get_type() == "PARAM_REQUEST_READ" else -1
        return dialect.MAVLink_param_error_message(*sender, name, index, error)


def _text(param_id: str | bytes) -> str:
    text = param_id if isinstance(param_id, str) else param_id.decode("ascii", "replace")
    return text.split("\0")[0]
