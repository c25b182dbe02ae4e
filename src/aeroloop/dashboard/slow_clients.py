"""Connections that never complete their request are closed, so that they cannot exhaust the server's resources."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""Time from the connection, or the first byte of a later request, to the end of the request's headers."""


def impatient(refused: Counter[str]) -> type[H11Protocol]:
    """The server's protocol with a time limit for headers; connections closed for this are counted."""

    class Impatient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._late = self.loop.call_later(HEADERS_S, self._give_up)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not self._is_asking():
                self._forget()
            elif self._late is None:
                self._late = self.loop.call_later(HEADERS_S, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _is_asking(self) -> bool:
            """A websocket has its own protocol after its headers."""
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return False
            return self.cycle is None or self.cycle.response_complete

        def _forget(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _give_up(self) -> None:
            self._late = None
            if self._is_asking():
                refused["slow"] += 1
                self.transport.close()

    return Impatient
