"""The image on the emulated processor says the same bytes as the host build, and hears garbage without falling over."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from board_trace import ANSWER, GOLDEN, HELLO, play, trace_files

from aeroloop.boards.emulated import EmulatedBoard, StepPipe
from aeroloop.boards.steps import MOST_BYTES, Reply, Step
from aeroloop.codegen.images import build_image
from aeroloop.families.tiltrotor.images import LOCKSTEP

SHIFT = 5
MS = 1_000_000


@pytest.fixture
def board() -> Iterator[StepPipe]:
    with tempfile.TemporaryDirectory() as folder:
        pipe = StepPipe(build_image(trace_files(), LOCKSTEP), SHIFT, Path(folder))
        try:
            yield pipe
        finally:
            pipe.close()


def test_the_golden_conversation(board: StepPipe) -> None:
    assert play(board.exchange) == GOLDEN.read_text(encoding="ascii")


def test_noise_on_both_lines_does_not_bring_it_down(board: StepPipe) -> None:
    noise = random.Random(1)
    for cycle in range(300):
        step = Step(cycle * 12 * MS, cycle * 12 * MS, noise.randbytes(1024), noise.randbytes(1024))
        reply = board.exchange(step)
        assert isinstance(reply, Reply), f"it started anew: {reply}"
        assert reply.sent[1], "the request that opens a cycle"


@pytest.mark.parametrize("before", [b"", b"\x7e" * MOST_BYTES])
def test_a_flood_loses_nothing_of_what_the_board_says(board: StepPipe, before: bytes) -> None:
    emulated = EmulatedBoard(board, 12 * MS, 4, ())
    emulated.step(0, b"", 0, b"")
    done = emulated.step(MS, b"", None, before + HELLO + ANSWER + b"\x7e" * MOST_BYTES)
    assert done.answered
    assert done.now
