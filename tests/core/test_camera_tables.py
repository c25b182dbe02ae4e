"""Wrong `[[cameras]]` tables are refused before the flight, each in one sentence that names the key."""

from __future__ import annotations

from typing import Any

import pytest

from aeroloop.core.camera import Camera, lacking
from aeroloop.core.config import read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.frame_load import jpeg_bits_per_px
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load

LINK = "tcp://127.0.0.1:0?listen"
FILE = SCENARIOS / "quad-camera.toml"


def loaded(*cameras: dict[str, Any], **changes: Any) -> Scenario:
    table = {**read_toml(FILE), "cameras": list(cameras), "checks": [], **changes}
    return load(FILE, given=table)


@pytest.mark.parametrize(
    ("camera", "words"),
    [
        ({"focal_px": 0.0}, "focal_px: expected a positive number, not 0"),
        ({"focal_px": -3.0}, "focal_px: expected a positive number, not -3"),
        ({"fovy_deg": 4.0}, "fovy_deg: expected a vertical field of view from 5 to 150 deg, not 4"),
        ({"fovy_deg": 151.0}, "fovy_deg: expected a vertical field of view from 5 to 150 deg, not 151"),
        ({"focal_px": 30000.0}, "focal_px: expected a vertical field of view from 5 to 150 deg"),
        ({"fovy_deg": 50.0, "focal_px": 400.0}, "fovy_deg: focal_px is set too; expected one of them"),
        ({"size_px": [1922, 1080]}, "size_px: expected even numbers up to 1920 and 1080"),
        ({"size_px": [641, 480]}, "size_px: expected even numbers"),
        ({"rate_hz": 121.0}, "rate_hz: expected more than 0 and at most 120 Hz, not 121"),
        ({"rate_hz": 0.0}, "rate_hz: expected more than 0"),
        ({"latency_s": -0.1}, "latency_s: expected 0 or more, not -0.1"),
        ({"latency_s": 0.0}, "latency_s: expected more than 0 in lockstep"),
        ({"preset": "rgdb"}, "preset: unknown 'rgdb' (did you mean 'rgbd'?), expected one of: down, rgbd"),
        ({"depth": {"range_m": [4.0, 1.0]}}, "range_m: expected 0 < nearest < farthest, not [4.0, 1.0]"),
        ({"depth": {"noise_px": -1.0}}, "noise_px: expected 0 to 10 px"),
        ({"link": "udp://1.2.3.4:5"}, "link: expected tcp://HOST:PORT?listen"),
        (
            {"link": "serial:///dev/ttyUSB0?baud=921600"},
            "link: a serial line does not carry frames, here up to 21 Mbit/s; expected tcp://HOST:PORT?listen",
        ),
        ({"impairment": {"loss": 0.1}}, "impairment: no link is set; expected link ="),
        ({"link": LINK, "impairment": {"loss": 1.1}}, "impairment.loss"),
        (
            {"link": LINK, "impairment": {"baud": 921600}},
            "impairment.baud: 921600 baud carries 92.16 kB/s and the frames need 2652; expected a faster link",
        ),
        ({"vehicle": 1}, "vehicle: expected 0 to 0, not 1"),
        ({"name": "Down"}, "name"),
        ({"lens": [-0.6, 0.0, 0.0, 0.0, 0.0]}, "lens: expected a distortion that can be undone over the whole image"),
        ({"lens": [0.0, 0.0, 5.0, 0.0, 0.0]}, "lens: expected a distortion that can be undone"),
        ({"lens": [1e300, 1e300, 0.0, 0.0, 1e300]}, "lens: expected a distortion that can be undone"),
        ({"latency_s": float("nan")}, "latency_s: expected `float` <= 10.0"),
        ({"focal_px": float("nan")}, "focal_px: expected a positive number, not nan"),
        ({"rate_hz": float("inf")}, "rate_hz: expected more than 0 and at most 120 Hz, not inf"),
        ({"depth": {"range_m": [0.0, 4.0]}}, "range_m: expected 0 < nearest < farthest, not [0.0, 4.0]"),
        ({"colour": "red"}, "cameras[0].colour: unknown key"),
    ],
)
def test_a_wrong_camera_is_refused(camera: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded({"name": "a", **camera})
    assert words in str(refused.value)
    assert "cameras" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_cameras_need_two_names() -> None:
    with pytest.raises(ConfigError, match=r"cameras\[1\].name: 'a' is the name of cameras\[0\] too"):
        loaded({"name": "a"}, {"name": "a", "preset": "rgbd"})


def test_more_cameras_than_a_process_renders_are_refused() -> None:
    with pytest.raises(ConfigError, match="cameras: expected at most 8, not 9"):
        loaded(*({"name": f"c{number}"} for number in range(9)))


def test_a_usual_lens_is_accepted() -> None:
    lens = [-0.3, 0.1, 0.001, -0.0005, 0.0]
    assert list(loaded({"name": "a", "lens": lens}).cameras[0].lens) == lens


def test_a_frame_a_step_at_most() -> None:
    cameras = [Camera(name="a", rate_hz=100.0)]
    words = lacking(cameras, lockstep=True, step_s=0.02, aircraft=1)
    assert words == "cameras[0].rate_hz: expected at most one frame a step of 0.02 s, not 100 Hz"
    assert lacking(cameras, lockstep=True, step_s=0.01, aircraft=1) == ""


def test_real_time_takes_no_latency() -> None:
    assert loaded({"name": "a", "latency_s": 0.0}, pace="real").cameras[0].latency_s == 0.0


def test_a_scenario_with_cameras_survives_its_file() -> None:
    plan = loaded({"name": "a"}, {"name": "b", "preset": "rgbd", "depth": {"sensor": "realsense"}})
    assert load(FILE, given=plan.flat()).cameras == plan.cameras


def test_a_link_that_carries_its_frames_is_accepted() -> None:
    small = {"name": "a", "link": LINK, "size_px": [160, 120], "rate_hz": 5.0, "impairment": {"baud": 921600}}
    assert loaded(small).cameras[0].impairment.baud == 921600
    with pytest.raises(ConfigError, match="the frames need"):
        loaded({**small, "preset": "rgbd", "rate_hz": 15.0})


@pytest.mark.parametrize(("quality", "bits"), [(1, 0.8), (50, 0.8), (85, 1.85), (90, 2.3), (100, 7.0)])
def test_bits_of_a_pixel_grow_with_the_quality(quality: int, bits: float) -> None:
    assert jpeg_bits_per_px(quality) == pytest.approx(bits)
