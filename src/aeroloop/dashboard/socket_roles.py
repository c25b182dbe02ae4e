"""A viewer's websocket is accepted only for viewers' pages.

Each message of a browser names its page, and nicegui does not check that it came through the page's own socket.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client

from aeroloop.dashboard.roles import Role, role_of

EVENTS = ("connect", "handshake", "event", "javascript_response", "ack", "log")
"""All messages that nicegui accepts from a browser."""


def client_role(client: Client) -> Role:
    """The role of a page: that of its request."""
    return role_of(client.request.scope) if client.request else "view"


def may_send(socket: Role, client: Client | None) -> bool:
    """Whether a browser's message for this page is accepted."""
    return socket == "command" or client is None or client_role(client) == "view"


def guard_sockets(sio: Any, refused: Counter[str]) -> None:
    """Check every message of a browser before nicegui handles it; dropped messages are counted."""
    handlers: dict[str, Callable[..., Any]] = sio.handlers["/"]
    for event in EVENTS:
        handler = getattr(handlers[event], "unguarded", handlers[event])
        handlers[event] = _guarded(sio, event, handler, refused)


def _guarded(sio: Any, event: str, handler: Callable[..., Any], refused: Counter[str]) -> Callable[..., Any]:
    async def guarded(sid: str, data: Any, *more: Any) -> Any:
        environ = data if event == "connect" else sio.get_environ(sid)
        if not may_send(role_of(environ.get("asgi.scope", {})), Client.instances.get(_client_id(event, data))):
            refused["role"] += 1
            return False
        result = handler(sid, data, *more)
        return await result if inspect.isawaitable(result) else result

    guarded.unguarded = handler  # type: ignore[attr-defined]  # so that a second server does not guard twice
    return guarded


def _client_id(event: str, data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    if event == "connect":
        return parse_qs(str(data.get("QUERY_STRING", ""))).get("client_id", [""])[0]
    named = data.get("client_id")
    return named if isinstance(named, str) else ""
