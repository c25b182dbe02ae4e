"""How ArduPilot 4.6 reads a simulator's answer: its buffer, and its search for keys by their first text match.

It is written from what ArduPilot does (docs/ardupilot-sitl.md), shares no code with what it judges, and does not parse
JSON: that it seems to be JSON is the sender's affair.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

BUFFER_B = 65000
_NUMBER = r"\s*([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf|NaN|Infinity))"
_FLOAT = re.compile(_NUMBER)
_VECTOR = re.compile(rf"\[{_NUMBER}\s*,{_NUMBER}\s*,{_NUMBER}")
_QUATERNION = re.compile(rf"\[{_NUMBER}\s*,{_NUMBER}\s*,{_NUMBER}\s*,{_NUMBER}")
KEYS: tuple[tuple[str, str, re.Pattern[str], bool], ...] = (
    ("", "timestamp", _FLOAT, True),
    ("imu", "gyro", _VECTOR, True),
    ("imu", "accel_body", _VECTOR, True),
    ("", "position", _VECTOR, True),
    ("", "attitude", _VECTOR, False),
    ("", "quaternion", _QUATERNION, False),
    ("", "velocity", _VECTOR, True),
    *(("", f"rng_{number}", _FLOAT, False) for number in range(1, 7)),
    ("", "velocity_wind", _VECTOR, False),
    ("", "airspeed", _FLOAT, False),
    *(("rc", f"rc_{number}", _FLOAT, False) for number in range(1, 13)),
)
"""Section, key, format, and whether it must be there."""

Values = tuple[float, ...]


class SigFpeError(Exception):
    """SIGFPE: a NaN or infinity ends ArduPilot."""


@dataclass
class Reader:
    """Datagrams in; the newest state, or None where an answer was refused."""

    state: dict[str, Values] = field(default_factory=dict)  # by key; stays as it was where a key is not read
    refused: list[str] = field(default_factory=list)  # why, of each answer
    _buffer: bytearray = field(default_factory=bytearray)

    @property
    def deaf(self) -> bool:
        return len(self._buffer) >= BUFFER_B

    def receive(self, datagram: bytes) -> bool:
        """Whether an answer was accepted."""
        room = BUFFER_B - len(self._buffer)
        if room <= 0:
            self.refused.append("the buffer is full")
            return False
        self._buffer += datagram[:room]
        last = self._buffer.rfind(b"\n")
        first = self._buffer.rfind(b"\n", 0, last) if last > 0 else -1
        if first < 0:
            self.refused.append("no line between two newlines")
            return False
        line = self._buffer[first + 1 : last].decode("latin-1")
        if not self._parsed(line):
            return False
        del self._buffer[:last]
        return True

    def _parsed(self, line: str) -> bool:
        there = set()
        for section, key, form, required in KEYS:
            at = 0
            if section:
                at = line.find(section)
                if at < 0:
                    if required:
                        return self._refuse(f"no {section}")
                    continue
                at += len(section) + 1
            at = line.find(key, at)
            if at < 0:
                if required:
                    return self._refuse(f"no {key}")
                continue
            at += len(key) + 2
            if form is not _FLOAT and line[at : at + 1] == " ":
                return self._refuse(f"a blank after the colon of {key}")
            there.add(key)
            found = form.match(line, at)
            if found is None:
                continue  # not an error to ArduPilot: the value silently stays as it was
            values = tuple(map(float, found.groups()))
            if not all(map(math.isfinite, values)):
                raise SigFpeError(f"{key}: {values}")
            self.state[key] = values
        if not there & {"attitude", "quaternion"}:
            return self._refuse("neither attitude nor quaternion")
        return True

    def _refuse(self, why: str) -> bool:
        self.refused.append(why)
        return False
