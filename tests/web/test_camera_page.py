"""The camera panel in a browser: images of a flight in real time, an overlay, layers, and a camera that fell silent."""

from __future__ import annotations

import re

import httpx
import msgspec
import numpy as np
import pytest
from browser import Desk, until
from numpy.typing import NDArray
from playwright.sync_api import expect

from aeroloop.core.overlay import Outline, Overlay
from aeroloop.dashboard.camera_images import LiveImages
from aeroloop.flight.live_view import LAYER, OVERLAY
from aeroloop.protocols import layers
from aeroloop.realtime.latest import LatestOut

cv2 = pytest.importorskip("cv2")
CAMERAS = (
    'cameras=[{name="down", size_px=[160, 120], rate_hz=5.0}, '
    '{name="eyes", preset="rgbd", size_px=[160, 120], rate_hz=5.0}]'
)
MARKER = Outline(corners_px=((20.0, 20.0), (60.0, 25.0), (55.0, 60.0), (18.0, 58.0)), label="7")


def test_the_panel_shows_a_flight(desk: Desk) -> None:
    desk.serve()
    desk.fly("seen", "quad-hover", "--no-report", "--pace", "real", "--set", CAMERAS, "--set", "duration_s=600")
    watcher = desk.watch()
    watcher.open("/fly")
    image = watcher.find("camera-image")
    expect(image).to_have_attribute("href", re.compile("^data:image/jpeg;base64,"))
    before = image.get_attribute("href")
    expect(image).not_to_have_attribute("href", before or "")
    expect(watcher.find("camera-age")).to_have_text(re.compile(r"^\d+\.\d\d s, age \d+\.\d\d s$"))
    expect(watcher.find("camera-depth")).to_have_count(0)
    watcher.find("camera-name").select_option("eyes")
    watcher.find("camera-depth").dispatch_event("click")  # a click waits until nothing is drawn anew
    expect(watcher.find("camera-depth")).to_have_attribute("aria-pressed", "true")
    expect(image).to_be_visible()
    (folder,) = desk.runtime.glob("*/flight-*")
    out, frames = LatestOut(folder), LiveImages(folder, "eyes")

    def marked() -> bool:
        """As a companion does for each of its frames."""
        if (seen := frames.take()) is not None:
            overlay = Overlay(number=seen.number, t_s=seen.t_s, outlines=(MARKER,), state="SEARCH")
            out.put(f"{OVERLAY}eyes", msgspec.json.encode(overlay))
        # An overlay is shown with its own frame only, and the next frame may come between two looks.
        shown = [watcher.find(part).all_text_contents() for part in ("camera-outline", "camera-state")]
        return shown == [["7"], ["SEARCH"]]

    until(marked, 60, "no overlay with its outline and state")
    watcher.shot("camera-panel")
    assert cv2.imdecode(_streamed(f"{desk.url}camera/down.mjpeg"), cv2.IMREAD_COLOR).shape == (120, 160, 3)
    watcher.page.route("**/camera/*", lambda route: route.fulfill(status=204))
    expect(watcher.find("camera-stale")).to_have_text(re.compile(r"^no frame for \d+\.\d s$"))
    watcher.page.unroute("**/camera/*")
    expect(watcher.find("camera-stale")).to_have_count(0)
    out.put(f"{LAYER}map", layers.encode(layers.layer([(1.0, 2.0, 3.0)], lines_W=[((0, 0, 0), (1, 1, 1))])))
    with watcher.page.expect_response("**/layer/map.bin*") as loaded:
        watcher.open("/")
    assert layers.size(loaded.value.body()) == (1, 1)
    watcher.find("layer-map").dispatch_event("click")
    expect(watcher.find("layer-map")).to_have_attribute("aria-pressed", "false")
    watcher.assert_clean()


def _streamed(url: str) -> NDArray[np.uint8]:
    """The first image that any program gets that reads motion JPEG."""
    got = b""
    with httpx.stream("GET", url, timeout=60.0) as answer:
        for data in answer.iter_bytes():
            got += data
            if got.count(b"content-type: image/jpeg") == 2:
                break
    _, head, body = got.split(b"--aeroloop-frame", 1)[1].partition(b"\r\n\r\n")
    assert head
    return np.frombuffer(body[: body.index(b"\r\n--aeroloop-frame")], np.uint8)
