"""The report's section on a landing: the pad as the camera saw it, errors over time, and the touchdown."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator

import numpy as np
from markupsafe import escape

from aeroloop.analysis import landing_plots as plots
from aeroloop.analysis import landing_views
from aeroloop.analysis.drawing import Picture
from aeroloop.analysis.landing_metrics import Touchdown, pad_height_m, path, touchdown
from aeroloop.analysis.landing_times import followed
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Facts, Figures, Note, Section
from aeroloop.cameras.pinhole import intrinsics_px
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.camera_streams import DESCENT_METADATA
from aeroloop.core.companion import landing_camera
from aeroloop.core.errors import AeroloopError
from aeroloop.core.scenario import Scenario
from aeroloop.perception.opencv import opencv
from aeroloop.perception.pad import Array
from aeroloop.perception.pad_detector import Lens, PadDetector
from aeroloop.recording.log import Log

OUTLINE = "#00d060"


def sections(scenario: Scenario, log: Log) -> list[Section]:
    """None without a pad to land on, and without a flight."""
    if scenario.pad is None or scenario.landing is None or not len(path(scenario, log)):
        return []
    touched = touchdown(scenario, log)
    blocks: list[Block] = [Facts(_facts(scenario, touched))]
    seen = list(_frames(scenario, log))
    if seen:
        blocks.append(Figures(seen))
    flight = followed(scenario, log, touched)
    blocks.append(Figures([*plots.pictures(flight), *landing_views.pictures(scenario, log, touched)]))
    if flight.looks is None:
        blocks.append(Note(f'landing.use = "{scenario.landing.use}": the flight has no companion of its own.'))
    return [Section("landing", "Landing on the pad", blocks)]


def _facts(scenario: Scenario, touched: Touchdown | None) -> tuple[str, ...]:
    assert scenario.landing is not None
    who = f"use {scenario.landing.use}, by {scenario.landing.by}"
    if touched is None:
        return who, "no touchdown"
    east_m, north_m = touched.off_m
    return (
        who,
        f"touchdown at {number(touched.t_s)} s",
        f"{number(math.hypot(east_m, north_m), scale=100, digits=3)} cm from the middle of the pad "
        f"({number(east_m, scale=100, digits=3)} cm east, {number(north_m, scale=100, digits=3)} cm north)",
        f"{number(touched.speed_m_s, digits=3)} m/s sideways",
    )


def _frames(scenario: Scenario, log: Log) -> Iterator[Picture]:
    """Logged images at some heights. The corners are not in the log: the companion's detector finds them again."""
    index = None if scenario.landing is None else landing_camera(scenario.cameras, scenario.landing)
    images = log.metadata.get(DESCENT_METADATA, {})
    if index is None or scenario.pad is None:
        return
    camera = scenario.cameras[index]
    truth = path(scenario, log)
    for key, jpeg in sorted(images.items(), key=lambda image: -float(image[0].split(" ")[0])):
        wanted_m, t_s = key.split(" ")
        corners = marker_corners(base64.b64decode(jpeg), camera, scenario.pad.scale)
        height_m = float(np.interp(float(t_s), truth[:, 0], truth[:, 3])) - pad_height_m(scenario)
        found = (
            "The markers that the detector finds in this logged JPEG are outlined." if corners else "No marker found."
        )
        yield Picture(
            name=f"pad-at-{wanted_m}-m",
            title=f"The pad from {number(height_m, digits=2)} m, at {t_s} s",
            caption=found,
            svg=_outlined(jpeg, fitted(camera).size_px, corners),
        )


def marker_corners(jpeg: bytes, camera: Camera, scale: float) -> dict[int, Array]:
    """(4, 2) px by the marker's number; none where this machine has no OpenCV."""
    try:
        cv2 = opencv()
    except AeroloopError:
        return {}
    model = fitted(camera)
    lens = Lens(*intrinsics_px(model.focal_px, model.size_px), camera.lens)
    grey = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    return {} if grey is None else dict(PadDetector(lens, scale=scale).look(grey).corners_px)


def _outlined(jpeg: str, size_px: tuple[int, int], corners_px: dict[int, Array]) -> str:
    width, height = size_px
    shapes = []
    for marker, corners in sorted(corners_px.items()):
        points = " ".join(f"{x + 0.5:.1f},{y + 0.5:.1f}" for x, y in corners)
        line = max(1.0, width / 400)
        shapes.append(f'<polygon points="{points}" fill="none" stroke="{OUTLINE}" stroke-width="{line:.1f}"/>')
        x, y = corners.mean(axis=0)
        size = max(width / 60, min(width / 20, 0.3 * float(np.ptp(corners[:, 0]))))
        shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}" font-family="sans-serif" text-anchor="middle" '
            f'dominant-baseline="central" fill="{OUTLINE}" font-weight="bold">{marker}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" data-axes="[]">'
        f'<image href="data:image/jpeg;base64,{escape(jpeg)}" width="{width}" height="{height}"/>'
        f"{''.join(shapes)}</svg>"
    )
