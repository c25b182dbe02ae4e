"""MAVLink's parameter protocol, from the ground: one parameter read or set, or all of them."""

from __future__ import annotations

from abc import abstractmethod

from pymavlink.dialects.v20 import common as dialect

from aeroloop.ground.commands.parameter_values import Parameter, Value, checked_name, field_from, parameter_from
from aeroloop.ground.commands.texts import Text
from aeroloop.ground.commands.transaction import Partner, Patience, Transaction, enum_words
from aeroloop.protocols import router_texts
from aeroloop.protocols.mavlink import Frame, Message

KEY = "parameters"
AT_A_TIME = 20
"""Missing parameters that are requested together."""

_M = dialect
_VALUE, _ERROR = _M.MAVLINK_MSG_ID_PARAM_VALUE, _M.MAVLINK_MSG_ID_PARAM_ERROR
_READS = frozenset((_VALUE, _ERROR))
_NO_INDEX = 65535


class _OneParameter(Transaction[Parameter]):
    def __init__(self, what: str, name: str, peer: Partner, me: Partner, patience: Patience, *, bytewise: bool) -> None:
        super().__init__(f"{what} {name}", f"{KEY} {name}", peer, me, patience)
        self._name = checked_name(name)
        self._bytewise = bytewise

    def _reads(self) -> frozenset[int]:
        return _READS

    def _take(self, message: Message, frame: Frame, t_ns: int) -> None:
        if frame.msg_id == _ERROR:
            if _name(message) == self._name.decode():
                self._refuse(enum_words("MAV_PARAM_ERROR", message.error), t_ns)
            return
        parameter = parameter_from(frame, bytewise=self._bytewise)
        if parameter is not None and parameter.name == self._name.decode():
            self._take_value(parameter, t_ns)

    @abstractmethod
    def _take_value(self, parameter: Parameter, t_ns: int) -> None:
        """Handle the autopilot's value."""


class ParameterRead(_OneParameter):
    def __init__(self, name: str, peer: Partner, me: Partner, patience: Patience, *, bytewise: bool) -> None:
        super().__init__("parameter", name, peer, me, patience, bytewise=bytewise)

    def _question(self) -> list[Message]:
        return [_M.MAVLink_param_request_read_message(*self.peer, self._name, -1)]

    def _take_value(self, parameter: Parameter, t_ns: int) -> None:
        self._finish(parameter)

    def _silence(self) -> str:
        return f"{super()._silence()}; some autopilots do not answer for a parameter that they do not have"


class ParameterSet(_OneParameter):
    """Ends with the autopilot's value. One that is neither old nor new is the autopilot's choice, and no refusal."""

    def __init__(
        self, before: Parameter, value: Value, peer: Partner, me: Partner, patience: Patience, *, bytewise: bool
    ) -> None:
        super().__init__("set", before.name, peer, me, patience, bytewise=bytewise)
        self._before, self._standing = before, before
        self._field = field_from(before.name, value, before.kind, bytewise=bytewise)
        self._wanted: Value = self._field if before.kind == _M.MAV_PARAM_TYPE_REAL32 else int(value)
        self._told = False

    def _question(self) -> list[Message]:
        self._told = False  # from now on values answer this try
        return [_M.MAVLink_param_set_message(*self.peer, self._name, self._field, self._before.kind)]

    def handle_text(self, text: Text) -> None:
        """A parameter that a router does not forward has no other answer."""
        super().handle_text(text)
        if text.words.startswith(router_texts.PREFIX) and not self.done and not self._refusal:
            self._refuse(text.words, text.t_ns)

    def _take_value(self, parameter: Parameter, t_ns: int) -> None:
        if parameter.value == self._wanted:
            self._finish(parameter)
        else:  # an answer to an older request, or a refusal: the second try decides
            self._standing, self._told = parameter, True

    def _again(self, t_ns: int) -> None:
        if self._told and self._tries > 1:
            self._conclude(t_ns)
        else:
            self._send_request(t_ns)

    def _give_up(self, t_ns: int) -> None:
        if self._told:
            self._conclude(t_ns)
        else:
            super()._give_up(t_ns)

    def _conclude(self, t_ns: int) -> None:
        if self._standing.value == self._before.value:
            self._refuse(f"value remains {self._standing.value:g}", t_ns)
        else:
            self._finish(self._standing)


class ParameterList(Transaction[dict[str, Parameter]]):
    """Requests all, then the missing ones."""

    def __init__(self, peer: Partner, me: Partner, patience: Patience, *, bytewise: bool) -> None:
        super().__init__("parameters", KEY, peer, me, patience)
        self._bytewise = bytewise
        self._found: dict[int, Parameter] = {}
        self._count = 0

    def _reads(self) -> frozenset[int]:
        return frozenset((_VALUE,))

    def _question(self) -> list[Message]:
        if not self._found:
            return [_M.MAVLink_param_request_list_message(*self.peer)]
        return [_M.MAVLink_param_request_read_message(*self.peer, b"", index) for index in self._missing()[:AT_A_TIME]]

    def _missing(self) -> list[int]:
        return [index for index in range(self._count) if index not in self._found]

    def _take(self, message: Message, frame: Frame, t_ns: int) -> None:
        parameter = parameter_from(frame, bytewise=self._bytewise)
        if parameter is None or parameter.index == _NO_INDEX:  # an answer to another station, or PX4's checksum of all
            return
        if parameter.count != self._count:
            self._count = parameter.count
            self._found = {index: found for index, found in self._found.items() if index < self._count}
        if parameter.index >= self._count:
            return
        if parameter.index not in self._found:
            self._tries = 0
            self._wait(t_ns, self.patience.answer_s)
        self._found[parameter.index] = parameter
        if len(self._found) == self._count:
            self._finish({p.name: p for p in sorted(self._found.values(), key=lambda p: p.name)})

    @property
    def progress(self) -> tuple[int, int]:
        """Number received, and total."""
        return len(self._found), self._count

    def _silence(self) -> str:
        if not self._found:
            return super()._silence()
        return f"{len(self._missing())} of {self._count} not received"


def _name(message: Message) -> str:
    text = message.param_id
    return str(text if isinstance(text, str) else text.decode("ascii", "replace")).split("\0")[0]
