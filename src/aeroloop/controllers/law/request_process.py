"""The board process: a control law behind a link, on its own 12 ms timer.

Rungs mil (Python), sil (C on this host) and, in lockstep, pil (the firmware on the emulated board).
"""

from __future__ import annotations

import select
import time

from aeroloop.boards.host import HostBoard
from aeroloop.controllers.law import emulator_process
from aeroloop.controllers.law.board_files import board_folder, board_links
from aeroloop.controllers.law.request_lockstep import run_lockstep
from aeroloop.controllers.law.request_shell import Shell
from aeroloop.controllers.law.request_tables import RequestScenario, RequestTables
from aeroloop.core.redundancy import PER_BOARD, process_name, stream_name
from aeroloop.core.stream import numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.links.base import Link
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.lockstep import Baton
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_lockstep, enter_realtime, share_core
from aeroloop.realtime.topics import Topics

READS = ("board link", "reference link")


def run_wall(shell: Shell, link: Link, references: Link, clock: ClockIn) -> None:
    """The timer is the flight's clock; a timer missed by a whole period is skipped."""
    board, period_ns = shell.host, shell.period_ns
    assert board is not None, "in wall time the emulated board has its own process"
    timer_ns = clock.now_ns()
    shell.in_wall_time(clock.now_ns)
    dressed = shell.dress_references(references, lambda: board.next_timer_ns)
    while not stop():
        late_ns = _wait_until(timer_ns, board, link, clock)
        if late_ns > period_ns:
            skipped = late_ns // period_ns
            timer_ns += skipped * period_ns
            board.skip(skipped)
        t_ns = board.next_timer_ns
        board.get_references(dressed.poll(), t_ns)
        closing, opening = board.on_timer(t_ns)
        link.send(closing + opening)
        sent_ns = time.monotonic_ns()
        timer_ns += period_ns
        while not stop():
            remaining_ns = timer_ns - clock.now_ns()
            if remaining_ns <= 0:
                break
            if select.select([link.fileno()], [], [], clock.wall_s(remaining_ns))[0]:
                out = board.on_link(link.poll(), t_ns)
                if out:
                    link.send(out)
                    speed = clock.state.speed
                    shell.note_work(t_ns, round(period_ns / speed))
                    shell.note_cycle(t_ns, time.monotonic_ns() - sent_ns, round(late_ns / speed))
                    shell.prepare()
                    break


def _wait_until(timer_ns: int, board: HostBoard, link: Link, clock: ClockIn) -> int:
    """Sleep until the timer, counting messages received meanwhile as duplicates; returns the lateness."""
    while not stop():
        remaining_ns = timer_ns - clock.now_ns()
        if remaining_ns <= 0:
            return -remaining_ns
        if select.select([link.fileno()], [], [], clock.wall_s(remaining_ns))[0]:
            board.on_link(link.poll(), board.next_timer_ns)
    return 0


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    run_board(0, launch, supervisor, batons)


def run_board(number: int, launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    """The board with this number of several, or the only one."""
    if launch.scenario.loop == "pil" and not launch.scenario.lockstep:
        emulator_process.run_emulator(number, launch, supervisor)
        return
    if launch.scenario.lockstep:
        share_core(launch.core_draw)  # with the emulator, which inherits it: the two alternate
    scenario: RequestScenario = launch.flown_by(RequestTables)
    topics = Topics(launch.folder_path, wait=scenario.lockstep, stopped=stop)
    own = writes(process_name(number), streams_of(scenario), scenario.loop)
    rows = numbered({s.name: topics.publisher(s).send for s in own}, 0)
    publish = {name: rows[its_own] for name in PER_BOARD if (its_own := stream_name(name, number)) in rows}
    shell = Shell(scenario, publish, launch.image, board_folder(launch.folder_path, number))
    supervisor.await_message("open")
    link_client, reference_server = board_links(launch, number)
    references = LastingServer(reference_server)
    link = open_link(link_client)
    supervisor.send("ready")
    supervisor.await_message("start")
    try:
        if launch.scenario.lockstep:
            enter_lockstep()
            ground = Baton(batons["ground"], "ground") if "ground" in batons else None
            plant = Baton(batons["plant"], "plant", ClockIn(launch.folder_path).held)
            run_lockstep(shell, link, references, plant, ground)
        else:
            for refused in enter_realtime(BOARD_PRIORITY):
                supervisor.send("remark", message=f"{process_name(number)}: {refused}")
            run_wall(shell, link, references, ClockIn(launch.folder_path, scenario.speed))
        supervisor.send("done")
    finally:  # also when the plant has closed the link before the stop request
        shell.close()
        topics.flush()
        link.close()
        references.close()


if __name__ == "__main__":
    run_process(main)
