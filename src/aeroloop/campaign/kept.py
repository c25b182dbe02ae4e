"""What is kept of a flight that could not be flown: its run folder as far as it was written, and why.

Others need none: a replay flies them again to the bit.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from aeroloop.core.paths import process_folder_of

FOLDER, RUN, WHY = "aborted", "run", "why.txt"
MOST = 20
"""Flights: if none can be flown, thousands of logs would say the same."""


def place(campaign: Path, number: int) -> Path:
    return campaign / FOLDER / f"flight-{number}"


def keep(into: str | None, why: str, run: Path | None = None) -> None:
    """In place of what an earlier attempt left. A full disk keeps nothing."""
    if into is None:
        return
    folder = Path(into)
    with suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(exist_ok=True)
        if len(list(folder.parent.iterdir())) >= MOST:
            return
        if run is not None and run.is_dir():
            shutil.move(run, folder)
        folder.mkdir(exist_ok=True)
        (folder / WHY).write_text(f"{why}\n", encoding="utf-8")


def keep_of_killed(into: str | None, why: str, pid: int) -> None:
    """Of a worker process that ended in the middle of a flight."""
    left = process_folder_of("campaign", pid)
    keep(into, why, None if left is None else left / RUN)


def discard(into: str | None) -> None:
    """It was flown after all."""
    if into is not None:
        shutil.rmtree(into, ignore_errors=True)
