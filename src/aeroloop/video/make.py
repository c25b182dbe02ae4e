"""Draws a film and writes its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from aeroloop.video import encoders
from aeroloop.video.film import Film, Settings


def make(run: Path, out: Path, settings: Settings, told: Callable[[int, int], None] = lambda done, count: None) -> int:
    """Frames written; `told` is called with how many are done, and of how many."""
    os.environ.setdefault(
        "MUJOCO_GL", "egl"
    )  # MuJoCo reads it when it makes a context; without a display no other works
    encoders.kind_of(out)
    film = Film(run, settings)
    count = 1 if out.suffix.lower() == ".png" else film.count
    with encoders.opened(out, settings.size_px, settings.fps, count) as sink:
        frames = film.frames()
        try:
            for number, picture in zip(range(count), frames, strict=False):
                sink.add(picture)
                told(number + 1, count)
        finally:
            frames.close()
    return count
