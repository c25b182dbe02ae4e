"""RGB-D sequences from disk: what is paired, what is refused, and how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from aeroloop.core.errors import ConfigError
from aeroloop.perception.slam import camera as cameras
from aeroloop.perception.slam import se3, tum
from aeroloop.perception.slam.camera import Calibration, Intrinsics

pytest.importorskip("cv2")

SMALL = "[colour]\nwidth = 32\nheight = 24\nfx = 30.0\nfy = 30.0\ncx = 15.5\ncy = 11.5\n"


def _sequence(folder: Path, calibration: str = SMALL) -> Path:
    (folder / "rgb.txt").write_text("# colour\n1.00 a.png\n1.10 b.png\n1.50 a.png\n")
    (folder / "depth.txt").write_text("1.015 d.png\n1.105 d.png\n1.53 d.png\n")
    pixels = np.zeros((24, 32, 3), dtype=np.uint8)
    pixels[..., 0] = 200
    Image.fromarray(pixels).save(folder / "a.png")
    Image.fromarray(pixels).save(folder / "b.png")
    Image.fromarray(np.full((24, 32), 5000, dtype=np.uint16)).save(folder / "d.png")
    (folder / "calibration.toml").write_text(calibration)
    return folder


def test_images_are_paired_within_20_ms(tmp_path: Path) -> None:
    found = tum.open_sequence(_sequence(tmp_path))
    assert found.t_s.tolist() == [1.0, 1.1]
    assert (found.unpaired, found.truth) == (1, None)
    frame = found.frame(1)
    assert frame.rgb[0, 0].tolist() == [200, 0, 0]
    assert np.all(frame.depth_m == 1.0)  # 5000 counts of TUM's unit


def test_poses_survive_writing_and_reading(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    T, t_s = se3.exp(rng.normal(size=(20, 6))), np.arange(20) / 7
    path = tmp_path / "groundtruth.txt"
    path.write_text(tum.trajectory_text(t_s, T))
    found = tum.read_trajectory(path)
    assert np.allclose(found.t_s, t_s, atol=1e-6)
    assert np.allclose(found.T_WC, T, atol=1e-6)


def test_a_folder_without_calibration_has_tums_values(tmp_path: Path) -> None:
    (_sequence(tmp_path) / "calibration.toml").unlink()
    found = tum.open_sequence(tmp_path)
    assert (found.calibrated, found.calibration.colour.fx) == (False, 525.0)
    with pytest.raises(ConfigError, match=r"a\.png: 32x24 pixels, but calibration\.toml says 640x480; write width"):
        found.frame(0)


BROKEN = {
    "no folder": ("nowhere", "", r"nowhere: expected a folder with rgb\.txt and depth\.txt"),
    "no list": ("rgb.txt", None, r"rgb\.txt: cannot be read: No such file"),
    "no time": ("rgb.txt", "x a.png\n", r"rgb\.txt: line 1: expected a time in s and a file name"),
    "no name": ("rgb.txt", "# t\n1.0\n", r"rgb\.txt: line 2: expected a time in s and a file name"),
    "zero byte": ("rgb.txt", b"1.0 a\0.png\n", r"rgb\.txt: line 1: expected a time in s and a file name"),
    "nan": ("depth.txt", "nan d.png\n", r"depth\.txt: line 1: expected a time"),
    "empty": ("rgb.txt", "# nothing\n", r"rgb\.txt: expected at least one line"),
    "outside": ("rgb.txt", "1.0 ../../etc/passwd\n", r"rgb\.txt: line 1: expected a file below"),
    "never together": ("depth.txt", "9.0 d.png\n", "is within 20 ms"),
    "not text": ("rgb.txt", b"\xff\xfe\x00", r"rgb\.txt: expected UTF-8 text"),
    "short pose": ("groundtruth.txt", "1 2 3\n", r"groundtruth\.txt: line 1: expected 8 finite numbers"),
    "no unit": ("groundtruth.txt", "1 0 0 0 0 0 0 2\n", "unit quaternions"),
    "bad focal length": ("calibration.toml", SMALL.replace("fx = 30.0", "fx = -1.0"), r"calibration\.toml: colour\.fx"),
    "unknown key": ("calibration.toml", SMALL + "fov = 3\n", r"calibration\.toml: colour\.fov"),
    "no TOML": ("calibration.toml", "[colour", "not valid TOML"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_in_one_sentence(case: str, tmp_path: Path) -> None:
    name, content, sentence = BROKEN[case]
    folder = _sequence(tmp_path)
    if name == "nowhere":
        folder = tmp_path / name
    elif content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=sentence):
        tum.open_sequence(folder)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.png", b"", r"a\.png: expected a PNG or JPEG image"),
        ("a.png", b"\x89PNG\r\n\x1a\nrubbish", r"a\.png: expected a PNG or JPEG image"),
        ("a.png", None, r"a\.png: cannot be read: No such file"),
        ("d.png", "eight bits", r"d\.png: expected a 16-bit image with one channel"),
    ],
)
def test_a_broken_image_is_named_in_one_sentence(
    name: str, content: bytes | str | None, sentence: str, tmp_path: Path
) -> None:
    sequence = tum.open_sequence(_sequence(tmp_path))
    if content is None:
        (tmp_path / name).unlink()
    elif isinstance(content, str):
        Image.fromarray(np.zeros((24, 32), dtype=np.uint8)).save(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=sentence):
        sequence.frame(0)


WORDS = st.sampled_from(["1.0", "1.1", "nan", "inf", "1e400", "-3", "a.png", "d.png", "..", "/", "\0", "#", "x" * 300])
LINES = st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=5).map("\n".join)
TEXTS = st.one_of(st.binary(max_size=80), LINES.map(str.encode))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["rgb.txt", "depth.txt", "groundtruth.txt", "calibration.toml", "a.png"]), content=TEXTS)
def test_whatever_a_file_holds_it_is_read_or_refused(name: str, content: bytes, tmp_path: Path) -> None:
    folder = _sequence(tmp_path)
    (folder / "groundtruth.txt").unlink(missing_ok=True)
    (folder / name).write_bytes(content)
    try:
        sequence = tum.open_sequence(folder)
        for number in range(len(sequence)):
            sequence.frame(number)
    except ConfigError as error:
        assert str(folder) in str(error)
        assert "\n" not in str(error).replace("\\n", "")


def test_depth_of_another_camera_is_moved_onto_the_colour_image() -> None:
    colour = Intrinsics(width=32, height=24, fx=30.0, fy=30.0, cx=15.5, cy=11.5)
    depth = Intrinsics(width=32, height=24, fx=30.0, fy=30.0, cx=14.5, cy=11.5)
    plane = np.zeros((24, 32))
    plane[10, 20], plane[10, 23] = 2.0, 1.0
    # (20 - 14.5) * 2 / 30 - 0.1 -> pixel 15.5 + 5.5 - 1.5; the nearer point hides what is behind it.
    moved = cameras.registered(plane, Calibration(colour=colour, depth=depth, baseline_m=0.1))
    v, u = np.nonzero(moved)
    assert sorted(zip(u.tolist(), v.tolist(), moved[v, u].tolist(), strict=True)) == [(20, 10, 2.0), (21, 10, 1.0)]
    both = plane.copy()
    both[10, 22] = 1.0  # falls on the pixel of the farther one: 15.5 + 7.5 - 3 = 20
    assert cameras.registered(both, Calibration(colour=colour, depth=depth, baseline_m=0.1))[10, 20] == 1.0
    assert cameras.registered(plane, Calibration(colour=colour)) is plane


def test_projection_and_its_inverse() -> None:
    rng = np.random.default_rng(5)
    camera = cameras.TUM_DEFAULT
    pixels, z = rng.uniform(0, 480, (100, 2)), rng.uniform(0.3, 5.0, 100)
    assert np.allclose(cameras.projected(cameras.back_projected(pixels, z, camera), camera), pixels, atol=1e-9)
