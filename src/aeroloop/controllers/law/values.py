"""A family's own law (`Family.law`) on a board that receives values and returns commands: its processes, launch
settings, both ends.

Rungs mil (CasADi), sil (its C on this host), pil (its firmware in the emulator) and hil (a board on a serial link).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.images import Generated, build_image
from aeroloop.control.board_law import BoardLaw, Source
from aeroloop.control.flown_law import law_file
from aeroloop.controllers.law import router_links
from aeroloop.controllers.law.exchange import framed_wire, plant_baton
from aeroloop.controllers.law.host_parts import compile_parts
from aeroloop.controllers.law.launch import EMULATOR
from aeroloop.controllers.law.values_board import ValuesServer, build_board, by_baton, law_of, shape_of, turns
from aeroloop.controllers.law.values_image import LOCKSTEP, UART, check_line, generate
from aeroloop.controllers.law.values_tables import ValuesScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.core.stream import KEYS
from aeroloop.core.streams import named
from aeroloop.core.tables import Role, family
from aeroloop.exchanges.barriers import BoardBaton
from aeroloop.exchanges.board_values import BoardValues, Settings
from aeroloop.exchanges.wire import Turn, Wire
from aeroloop.flight.exchange_context import ExchangeContext, Inlined
from aeroloop.links.base import Link
from aeroloop.links.memory import memory_pair
from aeroloop.links.open import open_link
from aeroloop.links.url import ends
from aeroloop.realtime.lockstep import InlineBaton
from aeroloop.sim.vehicle import Vehicle

BOARD = Role("board", "aeroloop.controllers.law.values_process", ("plant",))


def roles(scenario: ValuesScenario) -> tuple[Role, ...]:
    if scenario.aircraft.count > 1:
        raise ConfigError(
            "vehicle.count: a board's process flies one aircraft; expected 1, several [[aircraft]], or --link memory://"
        )
    boards: tuple[Role, ...] = (BOARD,) if scenario.lockstep or scenario.loop != "pil" else (EMULATOR,)
    return (*(boards if scenario.loop != "hil" else ()), *router_links.roles(scenario))


def launch(scenario: ValuesScenario, folder: Path) -> dict[str, Any]:
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {server} is a link to an external board; fly it with --loop hil")
    found = {"link_server": server, "link_client": client or ""}
    return {**found, **_firmware(scenario), **router_links.settings(scenario, folder)}


def firmware(scenario: ValuesScenario) -> tuple[Generated, str]:
    """The image of the emulated board of a flight."""
    law = law_of(scenario)
    if law.host:
        raise ConfigError("control.law: nmpc needs the host's processor and does not become firmware; expected cascade")
    try:
        generated = generate(law)
    except ConfigError as error:
        own = law_file(scenario)  # a law that the host can fly may not fit the board: the error names its file
        raise ConfigError(f"{own}: {error}" if own and own not in str(error) else str(error)) from None
    return generated, LOCKSTEP if scenario.lockstep else UART


def _firmware(scenario: ValuesScenario) -> dict[str, Any]:
    law = law_of(scenario)  # whether there is one, on every rung
    if law.host and scenario.loop == "sil":
        compile_parts("nmpc", law.parts)
    if scenario.loop not in ("pil", "hil"):
        return {}
    if scenario.loop == "pil" and not scenario.lockstep:
        check_line(law)
    generated, name = firmware(scenario)
    image = str(build_image(generated, name)) if scenario.loop == "pil" else ""
    return {"image": image, "image_id": generated.image_id}


def exchange(context: ExchangeContext) -> BoardValues:
    bare = open_link(context.launch.link_server)
    return behind(context, bare, plant_baton(context) if by_baton(context.scenario) else None)


def behind(context: ExchangeContext, bare: Link, board: BoardBaton | None = None) -> BoardValues:
    """The exchange with the board on this link; in lockstep the plant waits for its baton, or for its messages."""
    scenario, law = context.scenario, law_of(context.scenario)
    in_band = scenario.lockstep and board is None
    wire = Wire.plain(bare) if in_band else framed_wire(context, bare, Turn(board) if board is not None else None)
    columns = named(scenario)["link"].names if "link" in context.publish else ()
    settings = Settings(
        shape=shape_of(law),
        period_ns=round(law.period_s * NS),
        end_ns=scenario.end_ns,
        waits=in_band,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
        expected_image=context.launch.image_id,
        board="emulated board" if scenario.loop == "pil" else "board",
        logs=law.logs,
        unknown={row.stream: row.unknown for row in law.tells},
        counters=tuple(name for name in columns if name not in KEYS),
    )
    _check_sizes(scenario, law, context.vehicle)
    return BoardValues(context.vehicle, wire, settings, _source(law, context.vehicle), context.publish)


def _check_sizes(scenario: ValuesScenario, law: BoardLaw, vehicle: Vehicle[Any, Any]) -> None:
    """Check that the law's inputs and outputs match the vehicle's."""
    row = vehicle.measured() if law.source is None else None
    measured = law.measured if row is None else len(row)
    if (law.measured, law.commands) != (measured, len(vehicle.command)):
        raise ConfigError(
            f"{family(scenario.kind).law}: the law has {law.measured} inputs and {law.commands} commands; "
            f"expected {measured} and {len(vehicle.command)}, those of this aircraft"
        )


def _source(law: BoardLaw, vehicle: Vehicle[Any, Any]) -> Source:
    if law.source is not None:
        return law.source(vehicle)

    def measured(t_ns: int) -> list[Any] | None:
        row = vehicle.measured()
        return None if row is None else [row]

    return measured


def inline(context: ExchangeContext) -> Inlined:
    folder = context.launch.folder_path / f"board-{context.number}"
    folder.mkdir()
    plant_end, board_end = memory_pair()
    board = build_board(context.scenario, context.launch.image, folder)
    if by_baton(context.scenario):
        baton = InlineBaton(turns(context.scenario, board, board_end))
        return Inlined(behind(context, plant_end, baton), board.close)
    server = ValuesServer(board, board_end, shape_of(law_of(context.scenario)))
    server.send_start()
    board_end.on_data = server.serve
    return Inlined(behind(context, plant_end), board.close)
