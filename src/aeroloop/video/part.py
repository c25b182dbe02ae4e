"""A process that draws every n-th frame of a film and writes them to standard output, uncompressed.

    python -m aeroloop.video.part RUN SETTINGS FIRST STEP

SETTINGS is `film.Settings` as JSON. Without a graphics card Mesa draws in software, and several processes with one
thread each draw more frames a second than one with several threads.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from aeroloop.core.errors import EXIT_USAGE, AeroloopError
from aeroloop.realtime.setup import die_with_parent
from aeroloop.video.film import Film, Settings


def main(run: str, settings: str, first: str, step: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the maker of the film, and its end this process
    die_with_parent(signal.SIGKILL)
    film = Film(Path(run), msgspec.json.decode(settings, type=Settings))
    out = sys.stdout.buffer
    for picture in film.frames(int(first), int(step)):
        out.write(picture.tobytes())
    out.flush()


if __name__ == "__main__":
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        main(*sys.argv[1:])
    except AeroloopError as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_USAGE)
