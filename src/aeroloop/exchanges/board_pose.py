"""Exchange with a board on two lines: ordinary values on the first (`board_values.py`), pose packets on the second.

Poses are sampled from the truth at the line's rate. The second line has the speed of a UART: a byte is readable at the
board ten bits after the one before it, and what has arrived is delivered before the values of a control period.
Motors come back on it as type 4, once per control period, and are the command that flies the aircraft.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS
from aeroloop.exchanges.board_values import BoardValues
from aeroloop.exchanges.numbered_periods import Flown
from aeroloop.links.base import Link
from aeroloop.protocols.pose import Motors, PoseCounters, PoseFormat, PoseIn, RotorSpeeds, decode
from aeroloop.protocols.pose_sets import BITS_PER_BYTE
from aeroloop.sim.exchange import Row, Stopped


class UartQueue:
    """Bytes on their way over a line of a given speed; pure."""

    def __init__(self, baud: int) -> None:
        self._byte_ns = BITS_PER_BYTE * NS / baud
        self._waiting: deque[tuple[float, bytes]] = deque()  # when its first byte began, and the bytes
        self._free_ns = 0.0

    def put(self, t_ns: int, data: bytes) -> None:
        begin_ns = max(float(t_ns), self._free_ns)
        self._free_ns = begin_ns + len(data) * self._byte_ns
        self._waiting.append((begin_ns, data))

    def arrived(self, t_ns: int) -> bytes:
        """What has come by now and was not taken yet."""
        out = b""
        while self._waiting:
            begin_ns, data = self._waiting[0]
            count = int((t_ns - begin_ns) / self._byte_ns + 1e-9) if t_ns > begin_ns else 0
            if count < len(data):
                if count > 0:
                    out += data[:count]
                    self._waiting[0] = begin_ns + count * self._byte_ns, data[count:]
                break
            out += data
            self._waiting.popleft()
        return out


@dataclass(frozen=True, slots=True)
class PoseSettings:
    layout: PoseFormat
    baud: int
    period_ns: int  # of the sets, as near as whole ns come
    silent_ns: tuple[tuple[int, int], ...] = ()  # intervals in which nothing is sent


class BoardPose:
    """One board on two links. Rows of the second are counters of what came back on it."""

    cuts = True
    locked = True

    def __init__(
        self,
        vehicle: Flown,
        values: BoardValues,
        link: Link,
        settings: PoseSettings,
        sample: Callable[[], bytes],
        command: Callable[[Sequence[int]], Row],
    ) -> None:
        """`sample`: the packets of a set, of the vehicle as it is now; `command`: of the values of type 4."""
        self._vehicle, self._values, self._link, self._settings = vehicle, values, link, settings
        self._sample, self._to_command = sample, command
        self._queue = UartQueue(settings.baud)
        self._counters = PoseCounters()
        self._reader = PoseIn(self._counters, settings.layout)
        self._sets = 0
        self.command: Row | None = None

    @property
    def over(self) -> bool:
        return self._values.over

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        self._values.await_ready(timeout_s, stopped)

    @property
    def _due_ns(self) -> int:
        return self._sets * self._settings.period_ns

    def next_ns(self) -> int:
        return min(self._values.next_ns(), self._due_ns)

    def fileno(self) -> int:
        return self._values.fileno()

    def wake(self, t_ns: int) -> None: ...
    def receive(self, t_ns: int) -> None:
        self._values.receive(t_ns)
        self._read()

    def serve(self) -> None:
        t_ns = self._vehicle.t_ns
        while self._due_ns <= t_ns:
            self._sets += 1
            if not any(start <= t_ns < end for start, end in self._settings.silent_ns):
                self._queue.put(t_ns, self._sample())
        arrived = self._queue.arrived(t_ns)
        if arrived:
            self._link.send(arrived)
        self._values.serve()

    def settle(self, stopped: Stopped) -> None:
        self._values.settle(stopped)
        self._read()

    def switch(self, switch: Switch) -> Switched:
        return self._values.switch(switch)

    def finish(self) -> None:
        self._values.finish()

    def close(self) -> None:
        self._values.close()
        self._link.close()

    def _read(self) -> None:
        for frame in self._reader.feed(self._link.poll()):
            match decode(frame, self._settings.layout):
                case Motors(values) | RotorSpeeds(values):
                    self.command = self._to_command(values)
