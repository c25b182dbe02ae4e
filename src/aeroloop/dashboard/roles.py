"""Roles of a browser: command the flight, or view it.

The guard determines the role of each request from its token and stores it in the ASGI scope. A page is built for the
role of its request; `socket_roles` restricts its websocket to the same role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from aeroloop.core.errors import AeroloopError

Role = Literal["command", "view"]
SCOPE_KEY = "aeroloop.role"
VIEW_ONLY = "this page is view-only: command not sent"


class ViewOnlyError(AeroloopError):
    """A viewer tried to send a command."""

    def __init__(self) -> None:
        super().__init__(VIEW_ONLY)


def role_of(scope: Mapping[str, Any]) -> Role:
    """View, unless the guard has set another role."""
    return "command" if scope.get(SCOPE_KEY) == "command" else "view"
