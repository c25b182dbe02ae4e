"""Images of the shown flight's cameras over HTTP, with the access rules of every page:

    GET /camera/NAME.mjpeg           motion JPEG until the flight ends; NAME.depth.mjpeg: depth in colours
    GET /camera/NAME.json?after=K    the next image after number K and its overlay, for the page's own script

A client gets the newest image when it has taken the last one: one that is slow misses images, and nothing is kept for
it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from aeroloop.dashboard.camera_images import CameraInfo, LiveImages, Rhythm, answer, infos
from aeroloop.dashboard.watched_flight import WatchedFlight

MOST_STREAMS = 8
LOOK_S = 0.02
POLL_S = 1.0
"""An image that is asked for and does not exist yet is waited for."""
SLOW_S = 10.0
"""A client that takes no image for this long is disconnected."""
BOUNDARY = b"aeroloop-frame"
NO_STORE = {"cache-control": "no-store"}
_FILE = re.compile(r"([a-z0-9][a-z0-9-]{0,31})(\.depth)?\.(mjpeg|json)", re.ASCII)


class NoCameraError(Exception):
    """What was asked for does not exist; the sentence says what does."""


@dataclass(frozen=True)
class Request:
    camera: str
    depth: bool
    form: str


def parsed(file: str, cameras: list[CameraInfo]) -> Request:
    match = _FILE.fullmatch(file)
    if match is None:
        raise NoCameraError(f"{file}: expected NAME.mjpeg or NAME.depth.mjpeg.")
    name, depth, form = match[1], bool(match[2]), match[3]
    known = {camera.name: camera for camera in cameras}
    if name not in known:
        raise NoCameraError(f"There is no camera {name}; expected one of: {', '.join(known) or 'none'}.")
    if depth and not known[name].has_depth:
        raise NoCameraError(f"Camera {name} has no depth.")
    return Request(name, depth, form)


def register(outer: FastAPI, watched: WatchedFlight) -> None:
    """Outside the pages' own application: it would compress a stream, and hold images back for that."""
    streams = Streams(watched)

    @outer.get("/camera/{file}")
    async def camera(file: str, after: int = -1) -> Response:
        scenario, folder = watched.scenario, watched.live_folder
        if folder is None or scenario is None:
            return PlainTextResponse("No flight is running.\n", 404) if not file.endswith(".json") else _nothing()
        try:
            asked = parsed(file, infos(scenario.cameras, scenario.speed))
        except NoCameraError as error:
            return PlainTextResponse(f"{error}\n", 404)
        images = LiveImages(folder, asked.camera, depth=asked.depth)
        if asked.form == "json":
            return await _next(watched, folder, images, after)
        if streams.count >= MOST_STREAMS:
            return PlainTextResponse(f"{MOST_STREAMS} camera streams are open already; close one.\n", 503)
        return MotionJpeg(streams, folder, images)


async def _next(watched: WatchedFlight, folder: Path, images: LiveImages, after: int) -> Response:
    for _ in range(round(POLL_S / LOOK_S)):
        picture = images.take()
        if picture is not None and picture.number != after:
            overlay = images.overlay(picture.t_s)
            return JSONResponse(answer(picture, overlay, watched.store.t_s), headers=NO_STORE)
        if watched.live_folder != folder:
            break
        await asyncio.sleep(LOOK_S)
    return _nothing()


def _nothing() -> Response:
    """Not an error: a page may ask once more when the flight has just ended."""
    return Response(status_code=204, headers=NO_STORE)


class Streams:
    """The open streams, and whether their flight still runs."""

    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        self.count = 0

    def over(self, folder: Path) -> bool:
        return self._watched.live_folder != folder or not folder.exists()


class MotionJpeg(Response):
    media_type = f"multipart/x-mixed-replace; boundary={BOUNDARY.decode()}"

    def __init__(self, streams: Streams, folder: Path, images: LiveImages) -> None:
        super().__init__(headers=NO_STORE)
        del self.headers["content-length"]
        self._streams, self._folder, self._images = streams, folder, images

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._streams.count += 1
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with asyncio.timeout(SLOW_S) as patience:
                await self._send_all(send, gone, patience)
        except TimeoutError:
            pass  # the client reads no more
        finally:
            gone.cancel()
            self._streams.count -= 1

    async def _send_all(self, send: Any, gone: asyncio.Future[None], patience: asyncio.Timeout) -> None:
        loop, rhythm = asyncio.get_running_loop(), Rhythm()
        while not (gone.done() or self._streams.over(self._folder)):
            await asyncio.sleep(max(LOOK_S, rhythm.wait_s()))
            patience.reschedule(loop.time() + SLOW_S)
            if (picture := self._images.take()) is None:
                continue
            rhythm.sent()
            about = b"--%b\r\ncontent-type: image/jpeg\r\ncontent-length: %d\r\n\r\n" % (BOUNDARY, len(picture.jpeg))
            body = about + picture.jpeg + b"\r\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
        if not gone.done():
            await send({"type": "http.response.body", "body": b"--%b--\r\n" % BOUNDARY, "more_body": False})


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
