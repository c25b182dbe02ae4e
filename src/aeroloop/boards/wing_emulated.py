"""The fixed wing's board, emulated: each step grants its processor one control period.

What it does not finish goes on in the next one, below what the new bytes wake; what it does not need is skipped. So a
slow processor costs simulated time and no more wall time than its instructions take.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aeroloop.boards.emulated import StepPipe
from aeroloop.boards.steps import Boot
from aeroloop.boards.wing_steps import LONGEST_REPLY, MOST_IN, WingReply, WingStep, unpack
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, ResetCause

PERIOD_NS = NS // 20


@dataclass(frozen=True, slots=True)
class Replied:
    """What the board did in one control period."""

    hils: bytes  # to the simulator: servos
    comm: bytes  # to the ground: telemetry
    busy_ns: int = 0
    spent_ns: int = 0
    unfinished: bool = False
    refused: int = 0
    restarted: ResetCause | None = None

    @property
    def bytes(self) -> bytes:
        """Both lines, the simulator's first."""
        return self.hils + self.comm


class WingBoard:
    """The image in the emulator, whose files lie in `folder`. An instruction takes 2^shift ns."""

    def __init__(self, image: Path, shift: int, folder: Path, period_ns: int = PERIOD_NS) -> None:
        self._period_ns = period_ns
        self._cycle = 0
        self.overflow = 0
        """Bytes that were more than a line carries in a period."""
        self._pipe = StepPipe(image, shift, folder)
        try:
            boot = self._read()
            if not isinstance(boot, Boot):
                raise LinkError("the emulated board did not say that it started", root_cause=True)
            self.boot = boot
        except BaseException:
            self.close()
            raise

    def step(self, hils: bytes, comm: bytes = b"", *, fault: str = "") -> Replied:
        """One control period: what has come on its lines until now; a `fault` is one of `boards.steps`."""
        self.overflow += sum(max(len(line) - MOST_IN, 0) for line in (hils, comm))
        self._pipe.write(WingStep(self._cycle * self._period_ns, hils[:MOST_IN], comm[:MOST_IN], fault).pack())
        self._cycle += 1
        record = self._read()
        if isinstance(record, Boot):
            return Replied(record.sent, b"", restarted=record.cause)
        return Replied(record.hils, record.comm, record.busy_ns, record.spent_ns, record.unfinished, record.refused)

    def _read(self) -> WingReply | Boot:
        return unpack(self._pipe.record(LONGEST_REPLY))

    def close(self) -> None:
        self._pipe.close()
