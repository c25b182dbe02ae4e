"""Boards that tests share: the firmware's application on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_build import HostProcess, build
from plain import generated


@pytest.fixture(scope="session")
def plain_board() -> Path:
    """Flies the plain law, sanitizers on."""
    return build(generated(timer_in_law=True))


@pytest.fixture(scope="module")
def board_process(plain_board: Path) -> Iterator[HostProcess]:
    with HostProcess(plain_board) as process:
        yield process


@pytest.fixture
def board(board_process: HostProcess) -> HostProcess:
    """Just started."""
    board_process.restart()
    return board_process
