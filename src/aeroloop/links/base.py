"""Interface of a byte link: send and receive without blocking.

Transport only. Links do not interpret frames or messages; protocols do not use links.
"""

from __future__ import annotations

from typing import Protocol


class Link(Protocol):
    """One end of a byte link. Every implementation passes `tests/links/test_links.py`."""

    url: str

    def fileno(self) -> int:
        """Descriptor to select() on for reading, -1 once closed; call it each time, since a new peer may change it."""

    def send(self, data: bytes) -> None:
        """Queue all of `data`. Raises LinkError when the link is lost or its peer stopped reading."""

    def poll(self) -> bytes:
        """Received bytes, b"" if none; also continues sending queued bytes. Raises LinkError when the peer has
        disconnected for good."""

    def next_due_ns(self) -> int | None:
        """When poll() has delayed bytes to move, on the clock of the link's user; None if there are none."""

    def close(self) -> None:
        """Release everything, also files it created; closing twice is harmless."""
