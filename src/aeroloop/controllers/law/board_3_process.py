"""The process of the third of several boards; see `request_process`."""

from __future__ import annotations

from functools import partial

from aeroloop.controllers.law.request_process import run_board
from aeroloop.flight.processes.common import run_process

if __name__ == "__main__":
    run_process(partial(run_board, 2))
