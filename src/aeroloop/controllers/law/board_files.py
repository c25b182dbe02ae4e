"""The links and files of one of several boards, or of the only one."""

from __future__ import annotations

from pathlib import Path

from aeroloop.core.redundancy import process_name
from aeroloop.flight.processes.common import LaunchSettings


def board_links(launch: LaunchSettings, number: int) -> tuple[str, str]:
    """URLs of a board's ends: of its link, and of its reference link."""
    if number == 0:
        return launch.link_client, launch.reference_server
    _, link_client, reference_server, _ = launch.board_links[number - 1]
    return link_client, reference_server


def board_folder(folder: Path, number: int) -> Path:
    """Where a board has its own files."""
    if number == 0:
        return folder
    own = folder / process_name(number)
    own.mkdir(exist_ok=True)
    return own
