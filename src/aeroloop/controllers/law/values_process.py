"""The board process of a family's own law: the plant's values are its timer."""

from __future__ import annotations

import select

from aeroloop.controllers.law.values import LawBoard
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.links.open import open_link
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_realtime, share_core

READS = ("board link",)
WRITES = ()
WATCH_S = 0.2


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    if orders.scenario.lockstep:
        share_core(orders.core_draw)
    line.await_order("open")
    link = open_link(orders.link_client)
    board = LawBoard(orders.scenario, link)
    line.tell("ready")
    line.await_order("start")
    if not orders.scenario.lockstep:
        for refused in enter_realtime(BOARD_PRIORITY):
            line.tell("say", message=f"board: {refused}")
    try:
        board.greet()
        while not stop():
            if select.select([link.fileno()], [], [], WATCH_S)[0]:
                board.serve()
            elif not board.addressed:
                board.greet()
        line.tell("done")
    finally:
        link.close()


if __name__ == "__main__":
    run_process(main)
