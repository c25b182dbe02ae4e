"""The newest of something for viewers of a flight: an image, an overlay, a point cloud. Each is one small file in the
flight's folder, replaced atomically; who is slow misses the values between, and nobody waits.

    camera, companion ─▶ LatestOut ─▶ folder/live/NAME ─▶ LatestIn ─▶ dashboard

Rows go through the feed (`realtime/feed.py`), whose datagrams are too small for these. Without a listener of that feed
nothing is written.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from aeroloop.core.signals import NS
from aeroloop.realtime.feed import LISTENERS, LOOK_PERIOD_NS

FOLDER = "live"
LARGEST = 8 << 20
"""Maximum bytes of a value."""
PERIOD_NS = NS // 10
"""Mean wall time between two values of one name, at least; a single one may come after half of it, so that a source
of the same rate loses none to jitter."""
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


class LatestOut:
    """The writer. ValueError for a name that is no file name, or a value that is too large."""

    def __init__(self, folder: Path, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._listeners, self._folder, self._now_ns = folder / LISTENERS, folder / FOLDER, now_ns
        self._due_ns: dict[str, int] = {}
        self._viewed, self._looked_ns = False, -LOOK_PERIOD_NS

    @property
    def viewed(self) -> bool:
        """Whether anyone listens to the flight; checked four times a second."""
        now_ns = self._now_ns()
        if now_ns - self._looked_ns >= LOOK_PERIOD_NS:
            self._looked_ns = now_ns
            with suppress(OSError):
                self._viewed = any(self._listeners.glob("*.sock"))
        return self._viewed

    def due(self, name: str) -> bool:
        """Whether a value of this name is worth making now."""
        return self.viewed and self._now_ns() >= self._due_ns.get(name, 0)

    def put(self, name: str, data: bytes) -> None:
        """Replace the value. A folder that has gone or a full disk costs the viewers a value and nobody else."""
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r}: expected up to 64 lower-case letters, digits and -")
        if len(data) > LARGEST:
            raise ValueError(f"{name}: {len(data)} bytes, expected at most {LARGEST}")
        self._due_ns[name] = max(self._due_ns.get(name, -PERIOD_NS) + PERIOD_NS, self._now_ns() + PERIOD_NS // 2)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            draft = self._folder / f"{name}.draft"
            draft.write_bytes(data)
            draft.rename(self._folder / name)


class LatestIn:
    """A reader of one value."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / FOLDER / name
        self._seen = (0, 0)

    def take(self) -> bytes | None:
        """The value, if it is another than at the last call."""
        with suppress(OSError), self._path.open("rb") as file:
            # A new file for each value: the number of a file that was freed may come again, its time does not.
            about = os.fstat(file.fileno())
            seen = about.st_mtime_ns, about.st_ino
            if seen != self._seen and about.st_size <= LARGEST:
                self._seen = seen
                return file.read(LARGEST)
        return None


def names(folder: Path, prefix: str) -> list[str]:
    """The names that begin with `prefix`, of values that exist."""
    with suppress(OSError):
        found = (path.name for path in (folder / FOLDER).iterdir())
        return sorted(name for name in found if name.startswith(prefix) and NAME.fullmatch(name))
    return []
