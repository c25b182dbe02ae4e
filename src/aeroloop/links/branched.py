"""One sender, several receivers: bytes go to every link that is still connected."""

from __future__ import annotations

from collections.abc import Sequence

from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link


class Branched:
    def __init__(self, links: Sequence[Link]) -> None:
        self._links = list(links)
        self.url = links[0].url

    def fileno(self) -> int:
        return -1  # nothing is read from it

    def send(self, data: bytes) -> None:
        for link in tuple(self._links):
            try:
                link.send(data)
            except LinkError:
                self._links.remove(link)
                link.close()
                if not self._links:
                    raise

    def poll(self) -> bytes:
        return b""

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None:
        for link in self._links:
            link.close()
