"""The tables of a board that works by the plant's clock, and what must fit for it to fly."""

from __future__ import annotations

from typing import Annotated, Protocol

from aeroloop.boards.config import Computer, Processor
from aeroloop.core.config import note
from aeroloop.core.scenario import Aircraft, Common, ControllerTables, Scenario
from aeroloop.core.signals import NS
from aeroloop.sensors.suite import SensorSet


class PeriodTables(ControllerTables, frozen=True):
    """What a flight with a board adds that the plant drives, period by period."""

    board: Annotated[Computer, note("the computer aboard")] = Computer()
    emulator: Annotated[Processor, note("the emulated board, rung `pil`")] = Processor()

    def __post_init__(self) -> None:
        if self.period_ns % 1_000_000:
            raise ValueError(f"board.period_s: expected whole milliseconds, not {self.board.period_s:g}")
        if self.board.slice_s + self.board.routine_s > self.board.period_s:
            raise ValueError(
                f"board.slice_s: expected a slice that fits into the control period ({self.board.period_s:g} s) beside "
                f"the other tasks ({self.board.routine_s:g} s), not {self.board.slice_s:g}"
            )

    @property
    def period_ns(self) -> int:
        return round(self.board.period_s * NS)

    def end_ns(self, flight: Scenario) -> int:
        """Where a control period ends."""
        return -(-round(flight.duration_s * NS) // self.period_ns) * self.period_ns

    def flown_at_least_s(self, flight: Scenario) -> float:
        """The flight is over when it has loitered at the goal; whether it got there is a check of its own."""
        return 0.0


class Measured(Aircraft, Protocol):
    """An aircraft with a set of sensors."""

    @property
    def aboard(self) -> SensorSet: ...


PeriodScenario = Scenario[Measured, PeriodTables]


def waits(flight: Common) -> bool:
    """Whether the plant waits for the board's work of each period. At any pace it waits for the emulated one, whose
    time is what it is granted: a host that is late must not cost it a period."""
    return flight.lockstep or flight.loop == "pil"


def needs(scenario: PeriodScenario) -> str:
    """What does not fit; empty if all does."""
    if waits(scenario) and (scenario.link.to_plant.active or scenario.link.to_board.active):
        return "link: in lockstep and on pil time waits for every message, so none may be lost or late"
    imu, step_s = scenario.aircraft.aboard.imu, scenario.aircraft.step_s
    if imu is None:
        return ""
    sample_ns = round(imu.period_s * NS)
    if sample_ns % round(step_s * NS) or scenario.controller.period_ns < sample_ns:
        return (
            f"world.step_s: expected a part of the IMU's period ({imu.period_s:g} s), not {step_s:g}, "
            "and at least one sample in each control period"
        )
    return ""
