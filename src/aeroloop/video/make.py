"""Draws a film and writes its file. The frames of a long one are drawn by several processes in turns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np

from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.video import encoders
from aeroloop.video.film import Film, Settings
from aeroloop.video.plots import Picture

LONG = 200
"""Frames from which on more than one process draws: each of them starts and reads the log."""
MOST_PROCESSES = 4


def make(run: Path, out: Path, settings: Settings, told: Callable[[int, int], None] = lambda done, count: None) -> int:
    """Frames written; `told` is called with how many are done, and of how many."""
    # MuJoCo reads it when it makes a context; without a display no other works.
    os.environ.setdefault("MUJOCO_GL", "egl")
    encoders.kind_of(out)
    film = Film(run, settings)
    count = 1 if out.suffix.lower() == ".png" else film.count
    processes = min(MOST_PROCESSES, len(os.sched_getaffinity(0)))
    with encoders.opened(out, settings.size_px, settings.fps, count) as sink:
        frames = film.frames() if count < LONG or processes < 2 else drawn_by(processes, run, film)
        try:
            for number, picture in zip(range(count), frames, strict=False):
                sink.add(picture)
                told(number + 1, count)
        finally:
            frames.close()
    return count


def drawn_by(processes: int, run: Path, film: Film) -> Generator[Picture, None, None]:
    """The frames of `film.frames()`: process k draws every frame k + n `processes`."""
    width, height = film.settings.size_px
    settings = msgspec.json.encode(film.settings).decode()
    environment = {**os.environ, "LP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ExitStack() as parts:
        started: list[tuple[subprocess.Popen[bytes], tempfile.SpooledTemporaryFile[bytes]]] = []
        for first in range(processes):
            words = parts.enter_context(tempfile.SpooledTemporaryFile())
            command = [
                sys.executable,
                "-P",
                "-m",
                "aeroloop.video.part",
                str(run),
                settings,
                str(first),
                str(processes),
            ]
            part = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=words, env=environment)
            parts.callback(_end, part)
            started.append((part, words))
        for number in range(film.count):
            part, words = started[number % processes]
            assert part.stdout is not None
            data = part.stdout.read(width * height * 3)
            if len(data) < width * height * 3:
                raise _failure(part, words)
            yield np.frombuffer(data, np.uint8).reshape(height, width, 3)


def _end(part: subprocess.Popen[bytes]) -> None:
    part.kill()
    part.wait()
    if part.stdout is not None:
        part.stdout.close()


def _failure(part: subprocess.Popen[bytes], words: tempfile.SpooledTemporaryFile[bytes]) -> AeroloopError:
    status = part.wait()
    words.seek(0)
    lines = words.read().decode(errors="replace").strip().splitlines()
    return ConfigError(lines[-1] if lines else f"the process that draws frames ended with status {status}")
