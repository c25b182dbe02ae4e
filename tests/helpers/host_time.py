"""Tests in real time on a machine that is itself simulated: its host may take the processors away for some ms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STAT = Path("/proc/stat")
STEAL = 7  # column of the processors' row: time that the host gave to others
TRIES = 3
MOST_TAKEN = 0.005
"""Share of the time of a flight. A stall of 10 ms brings a flight down, which is 0.1 % of ten seconds on one core."""


def processor_ticks() -> tuple[int, int]:
    """Taken away by the host, and all."""
    ticks = [int(word) for word in STAT.read_text().splitlines()[0].split()[1:]]
    return ticks[STEAL], sum(ticks)


def repeated_where_the_host_stalls(test: Callable[..., None]) -> Callable[..., None]:
    """Fails at once if the machine had its processors; flies again if it had not, and at last says that it had not."""

    @functools.wraps(test)
    def judged(tmp_path: Path, **fixtures: Any) -> None:
        taken = 0.0
        for number in range(TRIES):
            folder = tmp_path / f"try-{number}"
            folder.mkdir()
            before = processor_ticks()
            try:
                return test(tmp_path=folder, **fixtures)
            except AssertionError:
                stolen, total = (now - then for now, then in zip(processor_ticks(), before, strict=True))
                taken = stolen / max(total, 1)
                if taken < MOST_TAKEN:
                    raise
                print(f"the host took {100 * taken:.1f} % of the processors' time away during try {number + 1}")
        pytest.skip(f"real time cannot be judged here: the host took {100 * taken:.1f} % of the processors' time away")

    return judged
