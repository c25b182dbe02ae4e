"""Duration of planning on the fixed wing's board, and its effect on the other tasks: the two schedulers compared.

An aircraft that follows its path exactly circles its start; the ground sends a goal, and the board plans. Closed forms
for W seconds of planning work, a routine load U and periods of Ts:

    preemptive T = W / (1 - U)        cooperative T = ceil(W / slice) Ts
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from aeroloop.boards.emulated import GrantedBoard, StepPipe
from aeroloop.codegen.images import build_image
from aeroloop.core import geodesy
from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import GRAVITY_M_S2, Vec3
from aeroloop.core.paths import runtime_dir
from aeroloop.core.scenario import with_value
from aeroloop.core.signals import Origin
from aeroloop.core.wing_signals import WING_TASKS
from aeroloop.families.fixedwing import images as wing_images
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import StartAndGoal, places
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.interface import DEGREES, GOAL, SENSORS, WING

Rows = dict[str, list[tuple[float, ...]]]
"""By message, the values of each; without sequence numbers."""

_BY_NUMBER = {message.number: message for message in WING.messages}
_LONGEST = max(message.size for message in WING.messages)
_TELLING, _QUIET = 25, 40  # periods until the first circle is told, and then of routine work alone
_MOST_PERIODS = 6000
_MISSED, _PLANNING_S, _PLANNING_USE = 4, 6, 7  # of the message `cpu`
_WORK_S = 10  # of the message `plan`


class Reply(Protocol):
    """What a board did in a period, in the emulator or on this machine."""

    @property
    def hils(self) -> bytes: ...

    @property
    def comm(self) -> bytes: ...

    @property
    def busy_ns(self) -> int: ...


def sensors(origin: Origin, cycle: int, pos_W: Vec3, *, vel_W: Vec3, gyro_z: float = 0.0, fix: bool = True) -> bytes:
    """A frame of level flight in the standard atmosphere at 20 m/s."""
    lat_deg, lon_deg, alt_m = geodesy.geodetic(origin, pos_W)
    kelvin = 288.15 - 0.0065 * pos_W[2]
    static_Pa = 101325.0 * (kelvin / 288.15) ** 5.25588
    dynamic_Pa = 0.5 * static_Pa / (287.05287 * kelvin) * 400.0
    data = SENSORS.pack(
        cycle % 65536,
        cycle * 50,
        *(0.0, 0.0, gyro_z),
        *(0.0, 0.0, GRAVITY_M_S2),
        *(-2e-6, 2.2e-5, -4.5e-5),
        *(static_Pa, dynamic_Pa),
        int(fix),
        *(round(lat_deg * DEGREES), round(lon_deg * DEGREES), round(alt_m * 1000)),
        *vel_W,
    )
    return encode(data)


def messages(stream: bytes) -> list[tuple[str, tuple[float, ...]]]:
    """The messages in complete frames of the board."""
    told = [(_BY_NUMBER[data[0]], data) for data in Deframer(_LONGEST, Counters()).feed(stream)]
    return [(m.name, m.unpack(data)[m.fields[0][0] == "sequence" :]) for m, data in told]


class IdealFlight:
    """An aircraft that follows its path exactly."""

    def __init__(self, scenario: FixedWingScenario, step: Callable[[bytes, bytes], Reply]) -> None:
        home, mission = scenario.aircraft.world.home, scenario.aircraft.mission
        self._origin = Origin(home.lat_deg, home.lon_deg, home.alt_m)
        self._step = step
        self.places: StartAndGoal = places(scenario)
        self._height_m = mission.height_m
        self._x_m, self._y_m = self.places.start_m[0] + mission.loiter_radius_m, self.places.start_m[1]
        self._psi_rad = math.pi / 2
        self.cycle = 0
        self.told: Rows = {}

    def fly(self, periods: int, *, goal: bool = False) -> None:
        """With `goal` the ground sends it in the first of them."""
        for period in range(periods):
            self.period(encode(GOAL.pack(1, *self.places.goal_m)) if goal and period == 0 else b"")

    def period(self, comm: bytes = b"") -> Reply:
        vel_W = 20.0 * math.cos(self._psi_rad), 20.0 * math.sin(self._psi_rad), 0.0
        reply = self._step(sensors(self._origin, self.cycle, (self._x_m, self._y_m, self._height_m), vel_W=vel_W), comm)
        self.cycle += 1
        for name, values in messages(reply.hils + reply.comm):
            self.told.setdefault(name, []).append(values)
            if name == "guidance":
                x_m, y_m, psi_rad, kappa_1_m = values[3:7]
                self._x_m, self._y_m = x_m + math.cos(psi_rad), y_m + math.sin(psi_rad)
                self._psi_rad = psi_rad + kappa_1_m
        return reply


@dataclass(frozen=True, slots=True)
class Timing:
    """One plan under one scheduler; all times are instruction-count time."""

    scheduler: str
    slice_s: float  # 0: there are none
    shift: int
    routine_pct: float  # execution time of all other tasks
    work_s: float  # of planner and path generation, with the interrupts that they were charged for
    completion_s: float  # from the request to its result
    expected_s: float  # by the closed form
    planning_use_pct: float
    quiet_latency_s: float  # worst from sensors to servos with nothing to plan,
    planning_latency_s: float  # while it plans,
    worst_latency_s: float  # and in all, the period that brings the goal among it
    missed_cycles: int
    routine_s: dict[str, float]  # execution time of each task in a period with nothing to plan

    @property
    def mips(self) -> float:
        return 1000.0 / (1 << self.shift)


def measure(scenario: FixedWingScenario, shift: int) -> Timing:
    """The first plan of a flight, with the scheduler and the slice that the scenario names."""
    computer = scenario.controller.board
    image = build_image(wing_images.generate(scenario), wing_images.IMAGE[computer.scheduler])
    with tempfile.TemporaryDirectory(dir=runtime_dir()) as folder:
        board = GrantedBoard(StepPipe(image, shift, Path(folder)), round(computer.period_s * 1e9))
        try:
            return _timing(scenario, shift, board)
        finally:
            board.close()


def _timing(scenario: FixedWingScenario, shift: int, board: GrantedBoard) -> Timing:
    computer = scenario.controller.board
    flight = IdealFlight(scenario, board.step)
    flight.fly(_TELLING)
    busy_ns = [flight.period().busy_ns for _ in range(_QUIET)]
    routine_s = {WING_TASKS[int(task)].name: exec_s for task, exec_s, *_ in flight.told["task"][-len(WING_TASKS) :]}
    flight.fly(1, goal=True)
    asked = flight.cycle
    while "plan" not in flight.told and flight.cycle < _MOST_PERIODS:
        flight.period()
    planned = flight.cycle
    flight.fly(round(1.0 / computer.period_s) + 1)  # until the statistics have told of it
    if "plan" not in flight.told:
        raise AeroloopError(f"no plan within {_MOST_PERIODS} control periods at 2^{shift} ns an instruction")
    latencies_s = [values[-1] for values in flight.told["servos"]]
    cpu = [values for values in flight.told["cpu"] if values[_PLANNING_S] > 0]
    completion_s = sum(values[_PLANNING_S] for values in cpu)
    work_s = flight.told["plan"][0][_WORK_S]
    routine = sum(busy_ns) / len(busy_ns) / (computer.period_s * 1e9)
    preemptive = computer.scheduler == "preemptive"
    return Timing(
        computer.scheduler,
        0.0 if preemptive else computer.slice_s,
        shift,
        100.0 * routine,
        work_s,
        completion_s,
        work_s / (1.0 - routine) if preemptive else math.ceil(work_s / computer.slice_s) * computer.period_s,
        sum(values[_PLANNING_S] * values[_PLANNING_USE] for values in cpu) / completion_s,
        max(latencies_s[_TELLING : asked - 1]),
        max(latencies_s[asked:planned]),
        max(latencies_s),
        int(flight.told["cpu"][-1][_MISSED]),
        routine_s,
    )


def compare(
    scenario: FixedWingScenario, slices_s: Iterable[float] = (0.010, 0.015, 0.020, 0.025), shift: int = 5
) -> list[Timing]:
    """The preemptive build, then the cooperative one with each slice, on the same plan."""

    def under(scheduler: str, slice_s: float) -> FixedWingScenario:
        board = msgspec.structs.replace(scenario.controller.board, scheduler=scheduler, slice_s=slice_s)
        return with_value(scenario, "board", board)

    preemptive = measure(under("preemptive", scenario.controller.board.slice_s), shift)
    return [preemptive, *(measure(under("cooperative", slice_s), shift) for slice_s in slices_s)]


def table(timings: Iterable[Timing]) -> str:
    """For people."""
    head = (
        "scheduler",
        "MIPS",
        "slice",
        "U %",
        "W s",
        "T s",
        "closed form",
        "CPU %",
        "latency ms",
        "planning",
        "worst",
        "missed",
    )
    rows = [
        (
            one.scheduler,
            f"{one.mips:.3g}",
            f"{one.slice_s * 1e3:.0f} ms" if one.slice_s else "-",
            f"{one.routine_pct:.1f}",
            f"{one.work_s:.3f}",
            f"{one.completion_s:.3f}",
            f"{one.expected_s:.3f}",
            f"{one.planning_use_pct:.1f}",
            f"{one.quiet_latency_s * 1e3:.3f}",
            f"{one.planning_latency_s * 1e3:.3f}",
            f"{one.worst_latency_s * 1e3:.3f}",
            str(one.missed_cycles),
        )
        for one in timings
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows))
    return "\n".join(lines) + "\n"
