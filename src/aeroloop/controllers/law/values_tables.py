"""The tables of a board with the law of any family's row, and the checks before a flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from aeroloop.boards.config import Processor
from aeroloop.controllers.routing import RoutedTables
from aeroloop.core.config import note
from aeroloop.core.scenario import Aircraft, Common, LinkEnds, Scenario


class ValuesTables(RoutedTables, frozen=True):
    """Tables of a flight whose board receives values and returns commands."""

    emulator: Annotated[Processor, note("the emulated board, rung `pil`")] = Processor()

    def board_faults(self, flight: Common) -> tuple[str, ...]:
        if flight.lockstep:
            return ("hang", "reset", "slow")
        return ("reset",) if flight.loop == "pil" else ()

    def board_faults_by_hand(self, flight: Common) -> tuple[str, ...]:
        return self.board_faults(flight) if flight.lockstep and flight.alternates else ()

    def notices(self, flight: Scenario, ends: LinkEnds, flight_id: str) -> list[str]:
        return [f"flight {flight_id} waits for the board on {ends.link_server}"] if flight.loop == "hil" else []


class FamilyLawTables(ValuesTables, frozen=True):
    """Tables of a flight whose board has the law of its family's row, or one of a file."""

    FILES: ClassVar[Mapping[str, str]] = {"law_file": "law.py"}

    law_file: Annotated[
        str,
        note(
            "Python file with a law of your own, which is executed, relative to the scenario file; empty: the "
            "aircraft's; `--law` overrides"
        ),
    ] = ""


ValuesScenario = Scenario[Aircraft, ValuesTables]


def needs(scenario: ValuesScenario) -> str:
    """What does not match; empty: nothing."""
    if scenario.lockstep and scenario.loop == "hil":
        return "pace: a physical board has its own clock; fly hil with --pace real"
    if scenario.loop == "pil" and scenario.pace not in ("lockstep", "real"):
        return f"pace: the emulated board flies in lockstep or in real time, not at {scenario.pace}"
    return ""
