"""The process of a board that runs on the plant's clock, for any such board: open, wait, serve, end."""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol, TypeVar

from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, stop
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.lockstep import Baton, WorkTurns, take_turns
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_lockstep, enter_realtime, share_core

WATCH_S = 0.2


class Server(Protocol):
    """A board behind its link."""

    @property
    def addressed(self) -> bool:
        """The plant has sent a message."""

    def send_start(self, uptime_ms: int = 0) -> None: ...
    def serve(self) -> None: ...


B = TypeVar("B")
Serving = Callable[[B, Link], Server | WorkTurns]
"""The board and its bare link -> what serves it when bytes arrive, or by a baton if it alternates with the plant."""


def serve_board(
    launch: LaunchSettings,
    supervisor: SupervisorLink,
    batons: dict[str, int],
    build: Callable[[], AbstractContextManager[B]],
    serving: Serving[B],
) -> None:
    """`build`: creates the board, once this process has its core and priority, so that an emulator inherits them."""
    scenario = launch.scenario
    if scenario.lockstep:
        share_core(launch.core_draw)  # with the plant, which waits during the board's work
    with ExitStack() as last, build() as board:
        supervisor.await_message("open")
        link = open_link(launch.link_client)
        # After the board, whose end may take time if it hangs: a plant that finds the link closed before would report
        # that as the failure.
        last.callback(link.close)
        supervisor.send("ready")
        supervisor.await_message("start")
        if scenario.lockstep:
            enter_lockstep()
        else:
            for refused in enter_realtime(BOARD_PRIORITY):
                supervisor.send("remark", message=f"board: {refused}")
        server = serving(board, link)
        if isinstance(server, WorkTurns):
            take_turns(Baton(batons["plant"], "plant", ClockIn(launch.folder_path).held), [server], stop)
        else:
            serve(server, link)
        supervisor.send("done")


def serve(server: Server, link: Link) -> None:
    """Serve until requested to stop; the end of the link is the end of the flight."""
    idle = 0  # number of WATCH_S periods without bytes
    server.send_start()
    while not stop():
        if select.select([link.fileno()], [], [], WATCH_S)[0]:
            server.serve()
            continue
        idle += 1
        if not server.addressed:
            server.send_start(round(idle * WATCH_S * 1000))
