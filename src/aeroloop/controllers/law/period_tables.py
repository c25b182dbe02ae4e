"""The tables of a board that runs on the plant's clock, and the checks before a flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol

from aeroloop.boards.config import Computer, InnerLoops, Processor
from aeroloop.controllers.routing import RoutedTables
from aeroloop.core.config import note
from aeroloop.core.operator import PlannedOperatorCommand
from aeroloop.core.scenario import Aircraft, Common, LinkEnds, Scenario
from aeroloop.core.signals import NS
from aeroloop.sensors.suite import SensorSet


class PeriodTables(RoutedTables, frozen=True):
    """Tables of a flight whose board is driven by the plant, one period at a time."""

    FILES: ClassVar[Mapping[str, str]] = {"control.law_file": "law.py"}

    control: Annotated[InnerLoops, note("the inner loops")] = InnerLoops()
    board: Annotated[Computer, note("the onboard computer")] = Computer()
    emulator: Annotated[Processor, note("the emulated board, rung `pil`")] = Processor()
    operator: Annotated[
        tuple[PlannedOperatorCommand, ...], note("user commands to the board, and when (docs/wing-operator.md)")
    ] = ()

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

    @property
    def control_period_s(self) -> float:
        return self.board.period_s

    def end_ns(self, flight: Scenario) -> int:
        """End of a control period."""
        return -(-round(flight.duration_s * NS) // self.period_ns) * self.period_ns

    def flown_at_least_s(self, flight: Scenario) -> float:
        """The flight ends after loitering at the goal; whether it arrived is a separate check."""
        return 0.0

    def board_faults(self, flight: Common) -> tuple[str, ...]:
        return ("hang", "reset", "slow") if flight.lockstep and flight.loop != "hil" else ()

    def board_faults_by_hand(self, flight: Common) -> tuple[str, ...]:
        return self.board_faults(flight) if flight.alternates else ()

    def notices(self, flight: Scenario, ends: LinkEnds, flight_id: str) -> list[str]:
        return [f"flight {flight_id} waits for the board on {ends.link_server}"] if flight.loop == "hil" else []


class Measured(Aircraft, Protocol):
    """An aircraft with a set of sensors."""

    @property
    def aboard(self) -> SensorSet: ...


PeriodScenario = Scenario[Measured, PeriodTables]


def waits(flight: Common) -> bool:
    """Whether the plant waits for the board's work of each period. It always waits for the emulated board, which has
    only the time it is granted: a late host must not cost it a period."""
    return flight.lockstep or flight.loop == "pil"


def by_baton(flight: Common) -> bool:
    """Whether the board alternates with the plant by a baton, since sensors and servos may be lost or late."""
    return waits(flight) and flight.alternates


def needs(scenario: PeriodScenario) -> str:
    """What does not match; empty: nothing."""
    if scenario.loop == "hil" and scenario.pace != "real":
        return "pace: a physical board has its own clock; fly hil with --pace real"
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
