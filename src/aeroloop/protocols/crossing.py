"""What several boards of one aircraft tell each other, through the plant: heartbeats and integrators.

    board -> plant   heartbeat     before the actuators: cycle, health, hash of the integrators it computed with
    board -> plant   integrators   after the actuators: those of its law after this cycle
    plant -> board   align         before the sensors of the next cycle: whether it flies, and integrators to take

A board has one link, so the plant forwards what would travel on a cross link between boards. Integrators are single
precision on the link; a board takes them as they are there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

from aeroloop.core.signals import Command
from aeroloop.protocols.board import BoardEnd, FromBoard, Heartbeat, Integrators, PlantEnd, Suspect
from aeroloop.protocols.framing import encode
from aeroloop.protocols.interface import HEARTBEAT, align_message, integrators_message, redundant
from aeroloop.protocols.plausible import Bounds

_FNV_BASIS, _FNV_PRIME = 0x811C9DC5, 0x01000193


def memory_hash(values: Sequence[float]) -> int:
    """FNV-1a of the values in single precision."""
    found = _FNV_BASIS
    for byte in struct.pack(f"<{len(values)}f", *values):
        found = (found ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return found


class CrossingPlantEnd(PlantEnd):
    """The plant's end of the link to one of several boards."""

    def __init__(self, bounds: Bounds, suspect: Suspect, first_command: Command, count: int) -> None:
        super().__init__(bounds, suspect, first_command, redundant(count))
        self._integrators, self._align = integrators_message(count), align_message(count)

    def align(self, cycle: int, values: Sequence[float], *, active: bool, take: bool) -> bytes:
        return self._sent(encode(self._align.pack(cycle, active, take, *values)))

    def _others(self, data: bytes) -> list[FromBoard]:
        if data[0] == HEARTBEAT.number and len(data) == HEARTBEAT.size:
            cycle, health, memory, active = map(int, HEARTBEAT.unpack(data))
            return [Heartbeat(cycle, health, memory, bool(active))]
        if data[0] == self._integrators.number and len(data) == self._integrators.size:
            of_cycle, *values = self._integrators.unpack(data)
            if all(map(math.isfinite, values)):
                return [Integrators(int(of_cycle), tuple(values))]
        return super()._others(data)


class CrossingBoardEnd(BoardEnd):
    """The board's end. `active` and `taken` are what the plant sent last."""

    def __init__(self, bounds: Bounds, suspect: Suspect, refer: Callable[[bytes], None], count: int) -> None:
        super().__init__(bounds, suspect, refer, redundant(count))
        self._integrators, self._align = integrators_message(count), align_message(count)
        self.active = False
        self.taken: tuple[float, ...] | None = None  # to compute with in the next cycle; None: the board's own

    def heartbeat(self, cycle: int, health: int, values: Sequence[float]) -> bytes:
        packed = HEARTBEAT.pack(cycle & 0xFFFFFFFF, health, memory_hash(values), self.active)
        return self._sent(encode(packed))

    def integrators(self, cycle: int, values: Sequence[float]) -> bytes:
        return self._sent(encode(self._integrators.pack(cycle & 0xFFFFFFFF, *values)))

    def _others(self, data: bytes) -> None:
        if data[0] != self._align.number or len(data) != self._align.size or self.refused:
            super()._others(data)
            return
        _, active, take, *values = self._align.unpack(data)
        if all(map(math.isfinite, values)):
            self.active, self.taken = bool(active), tuple(values) if take else None
