"""The dashboard's process: the table of pages, and the web server.

Its priority is lowered, so that no page delays the plant.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from nicegui import Client, core, ui
from nicegui import app as nicegui_app

from aeroloop.dashboard import (
    camera_routes,
    layers,
    page_charts,
    page_faults,
    page_fly,
    page_links,
    page_replay,
    page_route,
    page_runs,
    page_view,
    replay_images,
)
from aeroloop.dashboard.layout import Tab, frame
from aeroloop.dashboard.roles import Role
from aeroloop.dashboard.security import LARGEST_BODY, Guard
from aeroloop.dashboard.slow_clients import impatient
from aeroloop.dashboard.socket_roles import client_role, guard_sockets
from aeroloop.dashboard.viewed_flight import ViewedFlight
from aeroloop.dashboard.watched_flight import WatchedFlight

NICENESS = 10
MOST_CONNECTIONS = 256
MOST_PAGES = 128
"""Maximum number of open pages, including those requested and never shown: each takes memory until it times out."""
RECONNECT_S = 10.0
KEPT_MESSAGES = 400
"""Messages kept per page until the browser acknowledges them. After a stall they are sent again; if there are more, the
page reloads, and a pilot would have to take the sticks again."""
FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#1f5fa8" stroke-width="3">'
    '<path d="M8 8 24 24M24 8 8 24"/><circle cx="7" cy="7" r="5"/><circle cx="25" cy="7" r="5"/>'
    '<circle cx="7" cy="25" r="5"/><circle cx="25" cy="25" r="5"/></svg>'
)


@dataclass(frozen=True, slots=True)
class Page:
    path: str
    title: str
    icon: str
    build: Callable[[WatchedFlight], None]
    register: Callable[[WatchedFlight], None] | None = None  # files that the page links to


PAGES = (
    Page("/", "View", "view_in_ar", page_view.build),
    Page("/charts", "Charts", "show_chart", page_charts.build),
    Page("/links", "Links", "lan", page_links.build),
    Page("/fly", "Fly", "flight", page_fly.build),
    Page("/faults", "Faults", "report", page_faults.build),
    Page("/trajectory", "Trajectory", "timeline", page_route.build),
    Page("/runs", "Runs", "folder", page_runs.build),
)


def web_app(
    watched: WatchedFlight,
    *,
    host: str,
    port: int,
    tokens: Mapping[Role, str],
    view_only: bool = False,
    more: Sequence[Page] = (),
) -> Guard:
    """Pages, files and websockets behind the guard. `more`: pages of packages above this one."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        following = asyncio.get_running_loop().create_task(watched.follow())
        yield
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following

    outer = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    camera_routes.register(outer, watched)
    layers.register(outer, lambda: watched.layers)
    replay_images.register(outer, watched.runs_dir)
    register(watched, more)
    nicegui_app.config.socket_io_js_transports = ["websocket"]
    ui.run_with(
        outer,
        title="Aeroloop",
        dark=None,
        favicon=FAVICON,
        language="en-US",
        reconnect_timeout=RECONNECT_S,
        message_history_length=KEPT_MESSAGES,
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    guard_sockets(core.sio, watched.refused)
    return Guard(outer, host=host, port=port, tokens=tokens, view_only=view_only, refused=watched.refused)


def serve(
    watched: WatchedFlight,
    listener: socket.socket,
    *,
    host: str,
    tokens: Mapping[Role, str],
    view_only: bool = False,
    more: Sequence[Page] = (),
) -> int:
    """Serve until SIGTERM or SIGINT; returns the signal's number."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    port = listener.getsockname()[1]
    guarded = web_app(watched, host=host, port=port, tokens=tokens, view_only=view_only, more=more)
    ended_by: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):  # the server raises them again after its end
        signal.signal(number, lambda got, _: ended_by.append(got))
    config = uvicorn.Config(
        guarded,
        http=impatient(watched.refused),
        ws="wsproto",
        ws_max_size=LARGEST_BODY,
        # No compression: no decompression bombs, and less processor load beside the plant.
        ws_per_message_deflate=False,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])
    return ended_by[0] if ended_by else 0


def register(watched: WatchedFlight, more: Sequence[Page] = ()) -> None:
    page_runs.register(watched)
    pages = (*PAGES, *more)
    tabs = tuple(Tab(page.path, page.title, page.icon) for page in pages)
    page_replay.register(watched, tabs)
    for page in pages:
        if page.register is not None:
            page.register(watched)
        ui.page(page.path, title=f"{page.title} – Aeroloop")(_shown(watched, page, tabs))


def _shown(watched: WatchedFlight, page: Page, tabs: tuple[Tab, ...]) -> Callable[[], PlainTextResponse | None]:
    def show() -> PlainTextResponse | None:
        if len(Client.instances) > MOST_PAGES:
            watched.refused["pages"] += 1
            return PlainTextResponse("Too many pages of this dashboard are open; close some.", 503)
        seen = watched if client_role(ui.context.client) == "command" else ViewedFlight(watched)
        with frame(seen, page.path, tabs):
            page.build(seen)
        return None

    return show
