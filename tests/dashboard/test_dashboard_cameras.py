"""Camera images of a running flight over HTTP: whole images, bounded, and one sentence where there are none."""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
import httpx
import msgspec
from fastapi import FastAPI

from aeroloop.core import scenario_files as scenarios
from aeroloop.core.camera import Camera
from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.errors import ConfigError
from aeroloop.core.overlay import LONGEST_STATE, Outline, Overlay
from aeroloop.dashboard import camera_routes, layers, replay_images
from aeroloop.dashboard.camera_images import Rhythm
from aeroloop.dashboard.security import Guard
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.live_view import DEPTH, IMAGE, LiveView
from aeroloop.flight.results import LOG, SCENARIO
from aeroloop.protocols.frames import Frame, encode
from aeroloop.protocols.layers import encode as encode_layer
from aeroloop.protocols.layers import layer
from aeroloop.realtime.feed import FeedIn
from aeroloop.realtime.latest import FOLDER, LatestOut
from aeroloop.recording.camera_images import CameraImages
from aeroloop.recording.log import LogWriter
from aeroloop.recording.logged_images import ImagesByTime

JPEG = b"\xff\xd8" + bytes(range(256)) * 8 + b"\xff\xd9"
OVERLAY = Overlay(
    number=3, t_s=0.3, outlines=(Outline(corners_px=((1.0, 2.0), (3.0, 4.0)), label="7"),), state="SEARCH"
)


def frame(number: int, jpeg: bytes = JPEG) -> Frame:
    return Frame(0, 1, number, number * 100_000_000, (64, 48), (1.0, 1.0, 0.0, 0.0), rgb=jpeg)


def flying(folder: Path, *changes: str) -> WatchedFlight:
    """A flight with a camera, whose folder is `folder`."""
    watched = WatchedFlight(folder)
    watched.scenario = scenarios.load(scenarios.find("quad-camera"), changes)
    watched.flight_id, watched.running, watched._folder = "one", True, folder
    return watched


def ask(
    watched: WatchedFlight, path: str, meanwhile: Callable[[], Any] = lambda: None, **tokens: Any
) -> httpx.Response:
    """`meanwhile` is called again and again until the answer is whole."""
    outer = FastAPI()
    camera_routes.register(outer, watched)
    layers.register(outer, lambda: watched.layers)
    replay_images.register(outer, watched.runs_dir)
    guard = Guard(outer, host="127.0.0.1", port=8080, **tokens)

    async def beside() -> None:
        while True:
            meanwhile()
            await asyncio.sleep(0.01)

    async def one() -> httpx.Response:
        working = asyncio.ensure_future(beside())
        transport = httpx.ASGITransport(app=guard)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
                return await client.get(path)
        finally:
            working.cancel()

    return asyncio.run(one())


def test_a_stream_has_whole_images_and_ends_with_the_flight(tmp_path: Path) -> None:
    watched, out = flying(tmp_path), LatestOut(tmp_path)
    sent: list[int] = []

    def fly_on() -> None:
        if len(sent) == 40:
            watched.running = False
        sent.append(len(sent))
        out.put(f"{IMAGE}down", encode(frame(sent[-1], JPEG + bytes([sent[-1]]))))

    answer = ask(watched, "/camera/down.mjpeg", fly_on)
    kind = re.fullmatch(r"multipart/x-mixed-replace; boundary=(\S+)", answer.headers["content-type"])
    assert kind is not None
    *parts, end = answer.content.split(b"--" + kind[1].encode())
    assert end == b"--\r\n"
    images = []
    for part in parts[1:]:
        head, _, body = part.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        assert b"content-type: image/jpeg" in head
        assert body[int(length[1]) :] == b"\r\n"
        images.append(body[: int(length[1])])
    assert all(image.startswith(JPEG) for image in images)
    numbers = [image[-1] for image in images]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 2
    assert parts[0] == b""


def test_a_client_gets_ten_images_a_second_at_most() -> None:
    now_s = 100.0
    rhythm, sent_s = Rhythm(lambda: now_s), []
    for step in range(1000):
        now_s = 100.0 + step * 0.01
        if not rhythm.wait_s():
            rhythm.sent()
            sent_s.append(now_s)
    assert 99 <= len(sent_s) <= 102


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/camera/up.mjpeg", "There is no camera up; expected one of: down."),
        ("/camera/down.depth.mjpeg", "Camera down has no depth."),
        ("/camera/down.png", "down.png: expected NAME.mjpeg or NAME.depth.mjpeg."),
    ],
)
def test_what_does_not_exist_is_said_in_one_sentence(tmp_path: Path, path: str, sentence: str) -> None:
    answer = ask(flying(tmp_path), path)
    assert (answer.status_code, answer.text) == (404, f"{sentence}\n")


def test_without_a_flight_there_are_no_images(tmp_path: Path) -> None:
    watched = flying(tmp_path)
    watched.running = False
    assert ask(watched, "/camera/down.mjpeg").text == "No flight is running.\n"


def test_images_need_the_token_of_the_pages(tmp_path: Path) -> None:
    tokens = {"tokens": {"view": "a-token-for-viewers"}}
    assert ask(flying(tmp_path), "/camera/down.mjpeg", **tokens).status_code == 401


def test_streams_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera_routes, "MOST_STREAMS", 0)
    answer = ask(flying(tmp_path), "/camera/down.mjpeg")
    assert (answer.status_code, "close one" in answer.text) == (503, True)


def test_a_page_gets_the_next_image_with_the_overlay_near_it(tmp_path: Path) -> None:
    watched, out = flying(tmp_path, 'cameras[0].preset="rgbd"'), LatestOut(tmp_path)
    out.put(f"{IMAGE}down", encode(frame(3)))
    out.put(f"{DEPTH}down", encode(frame(3, b"depth")))
    out.put("overlay-down", msgspec.json.encode(OVERLAY))
    first = ask(watched, "/camera/down.json").json()
    assert (first["number"], first["t_s"], first["size"]) == (3, 0.3, [64, 48])
    assert first["overlay"]["outlines"] == [{"corners_px": [[1.0, 2.0], [3.0, 4.0]], "label": "7"}]
    assert first["overlay"]["state"] == "SEARCH"
    assert ask(watched, "/camera/down.depth.json").json()["jpeg"] == "ZGVwdGg="
    later = ask(watched, "/camera/down.json?after=3", lambda: out.put(f"{IMAGE}down", encode(frame(30)))).json()
    assert later["number"] == 30
    assert later["overlay"] is None  # of 2.7 s before


def test_no_new_image_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera_routes, "POLL_S", 0.1)
    LatestOut(tmp_path).put(f"{IMAGE}down", encode(frame(3)))
    assert ask(flying(tmp_path), "/camera/down.json?after=3").status_code == 204


def test_a_damaged_image_or_overlay_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera_routes, "POLL_S", 0.1)
    watched, out = flying(tmp_path), LatestOut(tmp_path)
    out.put(f"{IMAGE}down", encode(frame(3))[:-1])
    assert ask(watched, "/camera/down.json").status_code == 204
    out.put(f"{IMAGE}down", encode(frame(4)))
    out.put("overlay-down", b'{"number": 4, "t_s": 0.4, "state": "%s"}' % (b"x" * (LONGEST_STATE + 1)))
    assert ask(watched, "/camera/down.json").json()["overlay"] is None


def test_nothing_is_written_while_nobody_looks(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> Frame:
        made.append(1)
        return frame(1)

    LiveView(tmp_path).image("down", make)
    assert not made
    assert not (tmp_path / FOLDER).exists()
    listener = FeedIn(tmp_path)
    live = LiveView(tmp_path)
    for _ in range(5):
        live.image("down", make)  # at once: ten a second at most
    assert len(made) == 1
    assert (tmp_path / FOLDER / f"{IMAGE}down").read_bytes() == encode(frame(1))
    listener.close()


def test_a_source_of_ten_a_second_loses_no_value_to_jitter(tmp_path: Path) -> None:
    now_ns, taken = 0, 0
    listener = FeedIn(tmp_path)
    out = LatestOut(tmp_path, lambda: now_ns)
    for number in range(100):
        now_ns = number * 100_000_000 + (-1) ** number * 20_000_000
        if out.due("image-down"):
            taken += 1
            out.put("image-down", b"")
    assert taken == 100
    for number in range(1000):
        now_ns = 10_000_000_000 + number * 10_000_000
        if out.due("image-down"):
            taken += 1
            out.put("image-down", b"")
    assert 195 <= taken <= 205
    listener.close()


def test_layers_of_a_flight_are_kept_when_it_has_ended(tmp_path: Path) -> None:
    watched, out = flying(tmp_path), LatestOut(tmp_path)
    one, two = (encode_layer(layer([(1.0, 2.0, height_m)])) for height_m in (3.0, 4.0))
    out.put("layer-map", one)
    out.put("layer-broken", b"ALLY")
    watched.layers.read(tmp_path)
    assert {name: kept.version for name, kept in watched.layers.kept.items()} == {"map": 1}
    watched.layers.read(tmp_path)
    assert watched.layers.kept["map"].version == 1  # not read again
    out.put("layer-map", two)
    watched.layers.read(tmp_path)
    assert watched.layers.kept["map"].version == 2
    watched.running = False
    assert ask(watched, "/layer/map.bin").content == two
    answer = ask(watched, "/layer/loops.bin")
    assert (answer.status_code, answer.text) == (404, "There is no layer loops.bin; expected one of: map.\n")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A past run with two images in its log."""
    folder = tmp_path / "one"
    folder.mkdir()
    shutil.copy(scenarios.find("quad-hover"), folder / SCENARIO)
    with (folder / SCENARIO).open("a") as file:
        file.write('\n[[cameras]]\nname = "down"\nsize_px = [64, 48]\n')
    log = LogWriter(folder / LOG, CAMERA_STREAMS)
    images = CameraImages(log.context, [Camera(name="down")], ["0"])
    log.begin(10**18)
    images.begin(10**18)
    for t_ns, jpeg in ((0, JPEG), (200_000_000, JPEG[::-1])):
        images.take(0, t_ns, jpeg)
    log.close()
    return folder


@pytest.mark.parametrize(("t_s", "shown_s", "jpeg"), [(0.0, 0.0, JPEG), (0.19, 0.0, JPEG), (1.2, 0.2, JPEG[::-1])])
def test_a_replay_shows_the_image_of_its_time(run: Path, t_s: float, shown_s: float, jpeg: bytes) -> None:
    name = scenarios.load(run / SCENARIO).name
    watched = WatchedFlight(run.parent)
    image = ask(watched, f"/replay/one/camera/down.json?part={name}&t={t_s}").json()
    assert (image["t_s"], image["size"]) == (shown_s, [64, 48])
    assert image["age_s"] == pytest.approx(t_s - shown_s)
    assert base64.b64decode(image["jpeg"]) == jpeg


@pytest.mark.parametrize("path", ["one/camera/down.json?t=9", "one/camera/up.json?t=0", "two/camera/down.json?t=0"])
def test_a_replay_without_an_image_is_no_error(run: Path, path: str) -> None:
    name = scenarios.load(run / SCENARIO).name
    assert ask(WatchedFlight(run.parent), f"/replay/{path}&part={name}").status_code == 204


def test_a_log_that_was_not_closed_has_no_images(run: Path) -> None:
    data = (run / LOG).read_bytes()
    (run / LOG).write_bytes(data[: len(data) // 2])
    with pytest.raises(ConfigError, match="no index of images"):
        ImagesByTime(run / LOG)
