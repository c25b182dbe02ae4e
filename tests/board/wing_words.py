"""For tests of the fixed wing's board: sensors as bytes, what its frames say, and its host build."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from functools import cache
from pathlib import Path

from host_build import FIRMWARE, PATIENCE_S, FirmwareProcess, firmware_sources, kept, run

from aeroloop.boards.emulated import Granted
from aeroloop.boards.steps import REPLY_HEADER, Boot, Reply, Step, reply_size, unpack
from aeroloop.codegen.images import Generated
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Origin
from aeroloop.core.wing_signals import WingSensors
from aeroloop.families.fixedwing import images as wing_images
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.interface import DEGREES, GOAL, SENSORS, WING
from tools import wing_timing

PERIOD_NS = 50_000_000
BY_NUMBER = {message.number: message for message in WING.messages}
LONGEST = max(message.size for message in WING.messages)
HOME = Origin(36.366, -84.346117, 0.0)
HEIGHT_M = 660.0

Message = tuple[str, tuple[float, ...]]


@cache
def generated() -> Generated:
    return wing_images.generate(wing_images.scenario_of())


def sensors(
    cycle: int, pos_W: Vec3 | None = None, *, vel_W: Vec3 = (20.0, 0.0, 0.0), gyro_z: float = 0.0, fix: bool = True
) -> bytes:
    """Of straight level flight eastwards, from the middle of the map on."""
    pos_W = (cycle * 1.0, 0.0, HEIGHT_M) if pos_W is None else pos_W
    return wing_timing.sensors(HOME, cycle, pos_W, vel_W=vel_W, gyro_z=gyro_z, fix=fix)


def goal(x_m: float, y_m: float, number: int = 1) -> bytes:
    return encode(GOAL.pack(number, x_m, y_m))


def messages(stream: bytes) -> list[Message]:
    """What whole, undamaged frames of the board say; the running number of telemetry is left out."""
    counters = Counters()
    datas = Deframer(LONGEST, counters).feed(stream)
    assert (counters.malformed, counters.bad_checksums) == (0, 0)
    told = [(BY_NUMBER[data[0]], BY_NUMBER[data[0]].unpack(data)) for data in datas]
    return [(m.name, values[1:] if m.fields[0][0] == "sequence" else values) for m, values in told]


def named(stream: bytes, name: str) -> list[tuple[float, ...]]:
    return [values for found, values in messages(stream) if found == name]


def board_file(scheduler: str = "preemptive") -> Path:
    """The application built for this machine, with sanitizers."""
    made = generated()

    def make(folder: Path) -> None:
        made.write(folder / "generated")
        places = [f"BUILD={folder}", f"GENERATED={folder / 'generated'}", f"SCHEDULER={scheduler}"]
        run(["make", "-f", str(FIRMWARE / "host" / "wing.mk"), *places])

    texts = [text.encode() for text in made.files.values()]
    wing = [path.read_bytes() for path in sorted((FIRMWARE / "wing").iterdir())]
    return kept(f"wing-{scheduler}", [*firmware_sources(), *wing, *texts], make) / "board"


class WingProcess(FirmwareProcess):
    """A board of this build; one step is one control period. `ns_a_look` is how slow it is."""

    def __init__(self, executable: Path, ns_a_look: int = 1000) -> None:
        super().__init__(executable, str(ns_a_look))
        self._cycle = 0
        self.boot = self._read()

    def step(self, hils: bytes = b"", comm: bytes = b"") -> Granted:
        record = self.exchange(Step(self._cycle * PERIOD_NS, None, comm, hils, grant=True).pack())
        self._cycle += 1
        assert isinstance(record, Reply), record
        return Granted.of(record)

    def exchange(self, packet: bytes) -> Reply | Boot:
        assert self._process.stdin is not None
        self._process.stdin.write(packet)
        return self._read()

    def _read(self) -> Reply | Boot:
        header = self._take(REPLY_HEADER)
        return unpack(header + self._take(reply_size(header) - REPLY_HEADER))

    def _take(self, count: int) -> bytes:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        heard = b""
        while len(heard) < count:
            ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
            chunk = os.read(self._process.stdout.fileno(), count - len(heard)) if ready else b""
            if not chunk:
                self._process.kill()
                said = self._process.stderr.read().decode()
                raise AssertionError(f"the board {'ended' if ready else 'is silent'}: {said}")
            heard += chunk
        return heard


def sensed(frame: bytes) -> WingSensors:
    """The same sensors, for the host's board."""
    (data,) = Deframer(LONGEST, Counters()).feed(frame)
    cycle, t_ms, *values = SENSORS.unpack(data)
    fix, lat_1e7, lon_1e7, alt_mm = values[11:15]
    return WingSensors(
        int(cycle),
        int(t_ms),
        *(tuple(values[begin : begin + 3]) for begin in (0, 3, 6)),
        *values[9:11],
        bool(fix),
        *(lat_1e7 / DEGREES, lon_1e7 / DEGREES, alt_mm / 1000),
        tuple(values[15:18]),
    )


def flight(step: Callable[[bytes, bytes], wing_timing.Reply]) -> wing_timing.IdealFlight:
    return wing_timing.IdealFlight(wing_images.scenario_of(), step)
