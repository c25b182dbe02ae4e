"""Camera images of past runs, at the time that a replay shows.

GET /replay/RUN/camera/NAME.json?part=PART&t=SECONDS    the newest image up to that time
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from aeroloop.core.camera import fitted
from aeroloop.core.errors import AeroloopError
from aeroloop.core.fleet import parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard.camera_images import Picture, answer
from aeroloop.dashboard.past_runs import PastRuns
from aeroloop.flight.described import names
from aeroloop.flight.results import LOG, SCENARIO
from aeroloop.recording.logged_images import ImagesByTime
from aeroloop.recording.well_known import topic

WITHIN_S = 2.0
"""The log has five images a second; an older one than this is none of that time."""
MOST_LOGS = 3
"""Logs that stay open for the next image."""
NO_STORE = {"cache-control": "no-store"}


@dataclass(frozen=True)
class LoggedCamera:
    topic: str
    size_px: tuple[int, int]


@dataclass(frozen=True)
class Run:
    images: ImagesByTime
    cameras: dict[tuple[str, str], LoggedCamera]  # by part and name


class OpenRuns:
    def __init__(self, runs: PastRuns) -> None:
        self._runs = runs
        self._open: OrderedDict[tuple[Path, int], Run] = OrderedDict()
        self._reading = asyncio.Lock()

    async def picture(self, name: str, part: str, camera: str, t_s: float) -> Picture | None:
        """None: no such run, camera or image."""
        folder = self._runs.path(name)
        if folder is None or not math.isfinite(t_s):
            return None
        async with self._reading:  # one file position for all
            return await asyncio.to_thread(self._read, folder, part, camera, t_s)

    def _read(self, folder: Path, part: str, camera: str, t_s: float) -> Picture | None:
        try:
            run = self._opened(folder)
        except (AeroloopError, OSError):
            return None
        known = run.cameras.get((part, camera))
        found = run.images.at(known.topic, t_s, WITHIN_S) if known is not None else None
        if known is None or found is None:
            return None
        return Picture(round(found[0] * 1000), found[0], known.size_px, found[1])

    def _opened(self, folder: Path) -> Run:
        key = folder, (folder / LOG).stat().st_mtime_ns
        if key not in self._open:
            plan = load_plan(folder / SCENARIO)
            cameras = {
                (part.name, camera): logged
                for part in parts_of(plan)
                for camera, logged in _cameras(part, prefix(plan, part)).items()
            }
            self._open[key] = Run(ImagesByTime(folder / LOG), cameras)
        self._open.move_to_end(key)
        while len(self._open) > MOST_LOGS:
            self._open.popitem(last=False)[1].images.close()
        return self._open[key]


def _cameras(scenario: Scenario, prefix: str) -> dict[str, LoggedCamera]:
    owners = names(prefix, scenario.aircraft.count)
    return {
        camera.name: LoggedCamera(topic(owners[camera.vehicle], f"camera/{camera.name}"), fitted(camera).size_px)
        for camera in scenario.cameras
    }


def register(outer: FastAPI, runs_dir: Path) -> None:
    open_runs = OpenRuns(PastRuns(runs_dir))

    @outer.get("/replay/{name}/camera/{file}")
    async def image(name: str, file: str, t: float, part: str = "") -> Response:
        if not file.endswith(".json"):
            return PlainTextResponse(f"{file}: expected NAME.json.\n", 404)
        picture = await open_runs.picture(name, part, file.removesuffix(".json"), t)
        if picture is None:
            return Response(status_code=204, headers=NO_STORE)
        return JSONResponse(answer(picture, None, t), headers=NO_STORE)
