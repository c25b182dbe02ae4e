"""What a link is: bytes out, bytes in, never blocking.

Transport only. A link knows nothing of frames or messages; a protocol knows nothing of links.
"""

from __future__ import annotations

from typing import Protocol


class Link(Protocol):
    """One end of a byte link. Every implementation passes `tests/unit/test_links.py`."""

    url: str

    def fileno(self) -> int:
        """Descriptor to select() on for reading; -1 while there is no peer to read from."""

    def send(self, data: bytes) -> None:
        """Queue all of `data`. Raises LinkError when the link is gone or its peer stopped reading."""

    def poll(self) -> bytes:
        """Whatever has arrived, b"" if nothing. Raises LinkError when the peer has gone for good."""

    def next_due_ns(self) -> int | None:
        """When held-back bytes become readable, on the clock of whoever holds them; None if there are none."""

    def close(self) -> None:
        """Release everything, also files it made; closing twice is harmless."""
