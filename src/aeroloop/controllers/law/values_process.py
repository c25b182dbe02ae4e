"""The board process of a family's own law: the plant's values are its timer."""

from __future__ import annotations

from contextlib import closing

from aeroloop.controllers.law.driven_process import serve_board
from aeroloop.controllers.law.values_board import Board, ValuesServer, build_board, by_baton, law_of, shape_of, turns
from aeroloop.controllers.law.values_tables import ValuesScenario, ValuesTables
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process
from aeroloop.links.base import Link
from aeroloop.realtime.lockstep import WorkTurns

READS = ("board link",)
WRITES = ()


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    scenario: ValuesScenario = launch.flown_by(ValuesTables)

    def serving(board: Board, link: Link) -> ValuesServer | WorkTurns:
        if by_baton(scenario):
            return turns(scenario, board, link)
        return ValuesServer(board, link, shape_of(law_of(scenario)))

    def build() -> closing[Board]:
        return closing(build_board(scenario, launch.image, launch.folder_path))

    serve_board(launch, supervisor, batons, build, serving)


if __name__ == "__main__":
    run_process(main)
