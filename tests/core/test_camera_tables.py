"""Wrong `[[cameras]]` tables are refused before the flight, each in one sentence that names the key."""

from __future__ import annotations

from typing import Any

import pytest

from aeroloop.core.camera import Camera, lacking
from aeroloop.core.config import read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load

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
        ({"vehicle": 1}, "vehicle: expected 0 to 0, not 1"),
        ({"name": "Down"}, "name"),
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
