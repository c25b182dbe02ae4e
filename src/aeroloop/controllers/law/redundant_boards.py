"""Several boards with their own timers: the plant's end, in processes or in the plant's own process."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from aeroloop.boards.host import Behaviour
from aeroloop.controllers.law.board_files import board_folder
from aeroloop.controllers.law.exchange import framed_wire, request_settings
from aeroloop.controllers.law.ground_process import Windows, build_source
from aeroloop.controllers.law.request_lockstep import LockstepTurns
from aeroloop.controllers.law.request_shell import Shell
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.fault_offers import Offer, of_board
from aeroloop.core.faults import BOARDS, KINDS_OF
from aeroloop.core.redundancy import PER_BOARD, Redundancy, process_name, stream_name
from aeroloop.core.signals import NS
from aeroloop.core.streams import named
from aeroloop.core.tables import offered
from aeroloop.exchanges.barriers import BoardBaton, GroundBaton
from aeroloop.exchanges.board_faults import BY_BATON
from aeroloop.exchanges.redundant import BoardGroup, GroupSettings
from aeroloop.exchanges.wire import Turn
from aeroloop.flight.exchange_context import ExchangeContext, Inlined, Selected
from aeroloop.links.base import Link
from aeroloop.links.branched import Branched
from aeroloop.links.memory import memory_pair
from aeroloop.links.open import open_link
from aeroloop.realtime.lockstep import Baton, InlineBaton


def redundancy_of(scenario: RequestScenario) -> Redundancy:
    redundancy = scenario.controller.redundancy
    assert redundancy is not None, "a flight with several boards"
    return redundancy


def fault_offers(scenario: RequestScenario) -> tuple[Offer, ...]:
    """The faults of each of several boards; those that it has itself need a baton."""
    redundancy = scenario.controller.redundancy
    if redundancy is None:
        return ()
    elements = _elements(scenario)
    found: list[Offer] = []
    for number in redundancy.numbers:
        kinds = [kind for kind in KINDS_OF[BOARDS[number]] if scenario.lockstep or kind not in BY_BATON]
        found += of_board(BOARDS[number], kinds, elements)
    return tuple(found)


class SharedGround:
    """The ground serves all boards: it may work as far ahead as the first of them asks."""

    def __init__(self, ground: GroundBaton) -> None:
        self._ground, self._granted_ns = ground, -1

    def pass_on(self, *numbers: int) -> None:
        if numbers[0] > self._granted_ns:
            self._granted_ns = numbers[0]
            self._ground.pass_on(*numbers)

    def close(self) -> None:
        self._ground.close()


class InlineGrounds:
    """The ground in the plant's process, with a queue for each board."""

    def __init__(self, windows: Windows, count: int) -> None:
        self._windows = windows
        self.queues = [InlineQueue() for _ in range(count)]

    def pass_on(self, *numbers: int) -> None:
        for sent in self._windows.grant(numbers[0]):
            for queue in self.queues:
                queue.sent.append(sent)

    def close(self) -> None: ...


class InlineQueue:
    """What one board takes of the ground's batons."""

    def __init__(self) -> None:
        self.sent: deque[tuple[int, int]] = deque()

    def take(self) -> tuple[int, ...]:
        return self.sent.popleft()


def request(context: ExchangeContext) -> Selected:
    """With a process for each board."""
    scenario: RequestScenario = context.scenario
    links = [open_link(context.launch.link_server)]
    links += [open_link(link_server) for link_server, *_ in context.launch.board_links]
    if not scenario.lockstep:
        return _selected(context, links, (), None)
    batons = [Baton(context.batons[process_name(number)], process_name(number)) for number in range(len(links))]
    ground = Baton(context.batons["ground"], "ground") if "ground" in context.batons else None
    return _selected(context, links, batons, SharedGround(ground) if ground is not None else None)


def inline(context: ExchangeContext) -> Inlined:
    """In lockstep, in the plant's process; emulators are processes of their own."""
    scenario: RequestScenario = context.scenario
    redundancy, period_ns = redundancy_of(scenario), round(scenario.controller.control.period_s * NS)
    references = [memory_pair() for _ in redundancy.numbers]
    sender = Branched([ground_end for ground_end, _ in references])
    grounds = InlineGrounds(
        Windows(build_source(scenario), sender, context.publish["setpoint"], period_ns), redundancy.boards
    )
    shells: list[Shell] = []
    links: list[Link] = []
    batons: list[BoardBaton] = []
    for number in redundancy.numbers:
        publish = {name: context.publish[stream_name(name, number)] for name in PER_BOARD}
        folder = board_folder(context.launch.folder_path, number)
        shells.append(Shell(scenario, publish, context.launch.image, folder))
        plant_end, board_end = memory_pair()
        links.append(plant_end)
        board = LockstepTurns(shells[-1], board_end, references[number][1], grounds.queues[number])
        batons.append(InlineBaton(board))

    def finish() -> None:
        for shell in shells:
            shell.close()

    return Inlined(_selected(context, links, batons, SharedGround(grounds)), finish)


def _selected(
    context: ExchangeContext, links: Sequence[Link], batons: Sequence[BoardBaton], ground: GroundBaton | None
) -> Selected:
    scenario: RequestScenario = context.scenario
    own = request_settings(context)
    wires = []
    for number, link in enumerate(links):
        turn = None
        if batons:
            turn = Turn(batons[number], ground=ground, period_ns=own.period_ns, end_ns=own.end_ns)
        wires.append(framed_wire(context, link, turn, number))
    _, behaviour = _law(scenario)
    elements = _elements(scenario)
    settings = GroupSettings(redundancy_of(scenario), own, behaviour.integrators, elements, scenario.seed)
    group = BoardGroup(context.vehicle, settings, wires, context.publish)
    return Selected(group.exchanges, group.select)


def _law(scenario: RequestScenario) -> tuple[object, Behaviour]:
    made: tuple[object, Behaviour] = offered(scenario.kind, "law", scenario)
    return made


def _elements(scenario: RequestScenario) -> tuple[str, ...]:
    """Names of the command's elements."""
    return named(scenario)["command"].names[2:]
