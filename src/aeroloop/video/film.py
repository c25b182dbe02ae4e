"""The frames of a film of a flight, from its log: view, captions, and instruments and plots beside it if wanted.

Frame k shows simulated time `from + k speed / fps`. Equal logs and settings give equal frames on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from aeroloop.cameras.pinhole import Pose, intrinsics_px, project
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.dashboard import replay
from aeroloop.flight.results import LOG
from aeroloop.video import crafts, panel, viewpoints
from aeroloop.video.plots import Picture, Plots
from aeroloop.video.stage import Stage
from aeroloop.video.text import boxed

PANEL_SHARE = 0.3125
"""Of the width: instruments and plots."""
LEAST_PANEL_PX = (640, 360)
LEAST_PX, MOST_PX = 64, 3840
SMALL_PX = 640
"""Pictures up to this width are drawn at twice their size, which costs little and smooths edges."""
MOST_FPS, MOST_SPEED, LEAST_SPEED = 120.0, 1000.0, 0.001
RING_PX = 10.0
"""An aircraft whose picture has a smaller radius gets a ring."""


@dataclass(frozen=True)
class Settings:
    camera: str = "chase"
    fps: float = 25.0
    size_px: tuple[int, int] = (960, 540)
    from_s: float | None = None
    to_s: float | None = None
    speed: float = 1.0
    aircraft: str = ""  # name or number of the followed one; empty: the first
    instruments: bool = False
    smooth: bool = False  # draw at twice the size and average
    eye_W: Vec3 | None = None  # of the free camera

    def __post_init__(self) -> None:
        if self.camera not in viewpoints.KINDS:
            raise ConfigError(f"--camera {self.camera}: expected one of: {', '.join(viewpoints.KINDS)}")
        width, height = self.size_px
        if any(not LEAST_PX <= side <= MOST_PX or side % 2 for side in (width, height)):
            raise ConfigError(f"--size {width}x{height}: expected even numbers from {LEAST_PX} to {MOST_PX}")
        if self.instruments and (width < LEAST_PANEL_PX[0] or height < LEAST_PANEL_PX[1]):
            least = "x".join(map(str, LEAST_PANEL_PX))
            raise ConfigError(f"--size {width}x{height}: with --instruments expected at least {least}")
        if not 0 < self.fps <= MOST_FPS:
            raise ConfigError(f"--fps {self.fps:g}: expected more than 0 and at most {MOST_FPS:g}")
        if not LEAST_SPEED <= self.speed <= MOST_SPEED:
            raise ConfigError(f"--speed {self.speed:g}: expected {LEAST_SPEED:g} to {MOST_SPEED:g}")
        if self.eye_W is not None and self.camera != "free":
            raise ConfigError(f"--eye: expected --camera free, not {self.camera}")


class Film:
    """A film of one run; `frames` draws it."""

    def __init__(self, run: Path, settings: Settings) -> None:
        """`run`: a folder, or its log. ConfigError if there is nothing to show."""
        self.settings = settings
        folder = run.parent if run.is_file() and run.name == LOG else run
        if not folder.is_dir():
            raise ConfigError(f"{run}: no run; expected a folder that `aeroloop fly` made, or its {LOG}")
        recording = replay.load(folder)
        self._crafts = crafts.of_recording(recording, settings.aircraft)
        own = self._crafts[0]
        self.name = own.scenario.name
        self.flight_s = min(0.0, float(own.t_s[0])), float(own.t_s[-1])
        self.span_s = self._span()

    def _span(self) -> tuple[float, float]:
        """Of the flight, narrowed by the settings."""
        settings, (first_s, last_s) = self.settings, self.flight_s
        start_s = first_s if settings.from_s is None else settings.from_s
        end_s = last_s if settings.to_s is None else settings.to_s
        for option, value in (("--from", settings.from_s), ("--to", settings.to_s)):
            if value is not None and not first_s <= value <= last_s + 1e-6:
                raise ConfigError(f"{option} {value:g}: expected {first_s:g} to {last_s:g} s, the time of the flight")
        if end_s < start_s:
            raise ConfigError(f"--to {end_s:g}: expected a time after --from {start_s:g}")
        return start_s, end_s

    @property
    def count(self) -> int:
        start_s, end_s = self.span_s
        return math.floor((end_s - start_s) * self.settings.fps / self.settings.speed + 1e-6) + 1

    def time_s(self, number: int) -> float:
        return self.span_s[0] + number * self.settings.speed / self.settings.fps

    def frames(self, first: int = 0, step: int = 1) -> Generator[Picture, None, None]:
        """Each (height, width, 3), top row first; with `step` every n-th of them, from `first` on."""
        settings, own = self.settings, self._crafts[0]
        width, height = settings.size_px
        beside_px = round(PANEL_SHARE * width / 2) * 2 if settings.instruments else 0
        view_px = width - beside_px, height
        finer = 2 if settings.smooth or width <= SMALL_PX else 1
        drawn_px = finer * view_px[0], finer * view_px[1]
        hidden = viewpoints.hides_own(settings.camera, own)
        flown_s = self.flight_s[0], self.span_s[1]
        stage = Stage(self._crafts, flown_s, drawn_px, own_hidden=hidden, line_scale=drawn_px[1] / 720.0)
        try:
            aspect = view_px[0] / view_px[1]
            view = viewpoints.of_kind(
                settings.camera, self._crafts, self.span_s, stage.around, aspect=aspect, eye_W=settings.eye_W
            )
            beside = _Beside(own, self.flight_s, (beside_px, height)) if beside_px else None
            for number in range(self.count):
                t_s = self.time_s(number)
                stage.set_time(t_s, settings.speed / settings.fps if number else 0.0)
                if number % step != first:
                    continue  # rotors turn on meanwhile
                pose, focal_px = view(t_s), viewpoints.focal_px(settings.camera, own, view_px[1])
                image = Image.fromarray(stage.picture(pose, finer * focal_px, drawn_px))
                image = image.reduce(finer) if finer > 1 else image
                self._label(image, t_s, pose, focal_px, hidden=hidden)
                picture = np.asarray(image)
                yield picture if beside is None else np.concatenate([picture, beside.at(t_s)], axis=1)
        finally:
            stage.close()

    def _label(self, image: Image.Image, t_s: float, pose: Pose, focal_px: float, *, hidden: bool) -> None:
        """Names of several aircraft, rings around small ones, and the time."""
        draw, size_px = ImageDraw.Draw(image), image.size
        letters_px = max(11, size_px[1] // 36)
        several = len(self._crafts) > 1
        for index, craft in enumerate(self._crafts):
            if hidden and index == 0:
                continue
            place = (np.array(craft.pose(t_s).pos_W) - pose.pos_W) @ pose.R_WC
            if place[2] <= 0.0:
                continue
            x, y = project(place[None], intrinsics_px(focal_px, size_px))[0].tolist()
            if not (0 <= x < size_px[0] and 0 <= y < size_px[1]):
                continue
            radius = focal_px * craft.shape.reach_m / place[2]
            if radius < RING_PX:
                ring = RING_PX * size_px[1] / 720.0 + 2.0
                colour = tuple(round(255 * part) for part in craft.rgb)
                draw.ellipse((x - ring, y - ring, x + ring, y + ring), outline=colour, width=max(1, letters_px // 10))
            if several and (index or self.settings.camera == "free"):
                above = max(radius, RING_PX) + letters_px // 2
                boxed(draw, (x, max(y - above, 1.5 * letters_px)), craft.name, letters_px * 3 // 4, "ms")
        speed = f"  {self.settings.speed:g}x" if self.settings.speed != 1.0 else ""
        margin = letters_px
        boxed(draw, (margin, size_px[1] - margin), f"{self.name}  {t_s:.1f} s{speed}", letters_px)


class _Beside:
    """Instruments above plots."""

    def __init__(self, craft: crafts.Craft, span_s: tuple[float, float], size_px: tuple[int, int]) -> None:
        self._craft, (self._width, height) = craft, size_px
        used = panel.height_px(self._width) if craft.page.attitude else 0
        self._plots = Plots(craft, span_s, (self._width, height - used))

    def at(self, t_s: float) -> Picture:
        self._craft.store.seek(t_s)
        plots = self._plots.at(t_s)
        if not self._craft.page.attitude:
            return plots
        return np.concatenate([np.asarray(panel.picture(panel.now(self._craft), self._width)), plots], axis=0)
