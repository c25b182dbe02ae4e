"""The board process of a pose board: the plant's values are its timer; poses lie on its second link by then."""

from __future__ import annotations

from contextlib import closing

from aeroloop.controllers.law.driven_process import serve_board
from aeroloop.controllers.pose.board import PoseBoard, PoseServer, build_board
from aeroloop.controllers.pose.law import pose_law, shape_of
from aeroloop.controllers.pose.tables import PoseScenario, PoseTables
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process
from aeroloop.links.base import Link
from aeroloop.links.open import open_link

READS = ("board link", "pose link")
WRITES = ()


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    scenario: PoseScenario = launch.flown_by(PoseTables)
    shape = shape_of(pose_law(scenario))

    def serving(board: PoseBoard, link: Link) -> PoseServer:
        return PoseServer(board, link, open_link(launch.reference_client), shape)

    def build() -> closing[PoseBoard]:
        return closing(build_board(scenario, launch.image, launch.folder_path))

    serve_board(launch, supervisor, batons, build, serving)


if __name__ == "__main__":
    run_process(main)
