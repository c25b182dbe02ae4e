"""What a link is: bytes out, bytes in, never blocking.

Transport only. A link knows nothing of frames or messages; a protocol knows nothing of links.
"""

from __future__ import annotations

from typing import Protocol


class Link(Protocol):
    """One end of a byte link. Every implementation passes `tests/links/test_links.py`."""

    url: str

    def fileno(self) -> int:
        """Descriptor to select() on for reading, -1 once closed; ask each time, a new peer may change it."""

    def send(self, data: bytes) -> None:
        """Queue all of `data`. Raises LinkError when the link is gone or its peer stopped reading."""

    def poll(self) -> bytes:
        """What has arrived, b"" if nothing; also pushes queued bytes on. Raises LinkError when the peer has
        gone for good."""

    def next_due_ns(self) -> int | None:
        """When poll() has held-back bytes to move, on its holder's clock; None if there are none."""

    def close(self) -> None:
        """Release everything, also files it made; closing twice is harmless."""
