"""A family's own law (`Family.law`) on a board that takes measured values and gives commands: row, launch, both ends.

Rungs mil (CasADi) and sil (its C on this host), over any link or inline.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.control.board_law import BoardLaw
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import cache_dir
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.core.tables import Role, offered
from aeroloop.exchanges.board_values import BoardValues, Settings
from aeroloop.flight.seat import Inlined, Seat
from aeroloop.links.base import Link
from aeroloop.links.memory import memory_pair
from aeroloop.links.open import open_link
from aeroloop.links.url import ends
from aeroloop.protocols import values

BOARD = Role("board", "aeroloop.controllers.law.values_process")


def roles(scenario: Scenario) -> tuple[Role, ...]:
    return (BOARD,)


def launch(scenario: Scenario, folder: Path) -> dict[str, Any]:
    if scenario.link.to_plant.active or scenario.link.to_board.active:
        raise ConfigError("link: this board's link takes no impairments")
    law_of(scenario)  # whether there is one
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None:
        raise ConfigError(f"link.url: {server} is a link to an external board; expected one between processes")
    return {"link_server": server, "link_client": client}


def law_of(scenario: Scenario) -> BoardLaw:
    law: BoardLaw = offered(scenario.kind, "law", scenario)
    return law


class LawBoard:
    """The law behind a link."""

    def __init__(self, scenario: Scenario, link: Link) -> None:
        law = law_of(scenario)
        function = compiled(law.function, cache_dir()) if scenario.loop == "sil" else law.function
        self._run, self._law, self._link = Evaluator(function), law, link
        self._end = values.ValuesEnd(values.VALUES, law.measured)

    @property
    def addressed(self) -> bool:
        """The plant has spoken."""
        return self._end.counters.frames_in > 0

    def greet(self) -> None:
        self._link.send(values.start(self._law.measured, self._law.commands))

    def serve(self) -> None:
        """Answer what has come."""
        run = self._run
        for message in self._end.receive(self._link.poll()):
            if isinstance(message, values.Numbered):
                run.inputs[0][:] = message.values
                run()
                run.inputs[1][:] = run.outputs[1]
                command = tuple(run.outputs[0].tolist())
                self._link.send(values.numbered(values.COMMAND, message.cycle, command))


def exchange(seat: Seat) -> BoardValues:
    return behind(seat, open_link(seat.orders.link_server))


def behind(seat: Seat, link: Link) -> BoardValues:
    """The board behind this link."""
    scenario, law = seat.scenario, law_of(seat.scenario)
    settings = Settings(
        measured=law.measured,
        commands=law.commands,
        period_ns=round(law.period_s * NS),
        end_ns=scenario.end_ns,
        lockstep=scenario.lockstep,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
    )
    return BoardValues(seat.vehicle, link, settings, seat.publish)


def inline(seat: Seat) -> Inlined:
    plant_end, board_end = memory_pair()
    board = LawBoard(seat.scenario, board_end)
    board.greet()
    board_end.on_data = board.serve
    return Inlined(behind(seat, plant_end), lambda: None)
