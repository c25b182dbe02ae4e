"""`aeroloop camera view`: the images of a log as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from aeroloop.cameras import encoding
from aeroloop.cameras.contact_sheet import COLUMNS, WIDTH_PX, spread
from aeroloop.cli.app import app
from aeroloop.core.camera import Camera
from aeroloop.core.common_streams import common
from aeroloop.core.errors import ConfigError
from aeroloop.flight.results import LOG
from aeroloop.recording.camera_images import CameraImages
from aeroloop.recording.log import LogWriter
from aeroloop.recording.logged_images import images

cv2 = pytest.importorskip("cv2")

TIMES_NS = [0, 200_000_000, 400_000_000]


def jpeg(level: int) -> bytes:
    return encoding.jpeg(np.full((48, 64, 3), level, np.uint8), 90)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    log = LogWriter(folder / LOG, [common("truth")])
    taken = CameraImages(log.context, [Camera(name="down"), Camera(name="eyes", preset="rgbd")], ["wing"])
    epoch_ns = 1_800_000_000_000_000_000
    log.begin(epoch_ns)
    taken.begin(epoch_ns)
    for t_ns in TIMES_NS:
        taken.take(0, t_ns, jpeg(100 + t_ns // 10_000_000))
    taken.take(1, 0, jpeg(200))
    log.close()
    return folder


def view(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["camera", "view", *arguments])


def test_every_logged_image_is_read_with_its_time(run: Path) -> None:
    found = [(image.aircraft, image.camera, image.t_s, image.jpeg) for image in images(run / LOG)]
    expected = [("wing", "down", t_ns / 1e9, jpeg(100 + t_ns // 10_000_000)) for t_ns in TIMES_NS]
    assert found == [*expected, ("wing", "eyes", 0.0, jpeg(200))]


def test_a_cut_log_gives_the_images_before_the_cut(run: Path, tmp_path: Path) -> None:
    cut = tmp_path / LOG
    whole = (run / LOG).read_bytes()
    for length in range(len(whole) // 4, len(whole), len(whole) // 8):
        cut.write_bytes(whole[:length])
        found = list(images(cut))
        assert found == list(images(run / LOG))[: len(found)]


def test_images_are_written_and_the_folder_is_told(run: Path, tmp_path: Path) -> None:
    done = view(str(run), "--out", str(tmp_path / "images"))
    assert done.exit_code == 0, done.output
    assert "4 images" in done.output
    names = [f"wing-down-0000{t_s}00.jpg" for t_s in ("0.0", "0.2", "0.4")]
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [*names, "wing-eyes-00000.000.jpg"]
    assert (tmp_path / "images" / names[1]).read_bytes() == jpeg(120)


def test_one_camera_as_png(run: Path, tmp_path: Path) -> None:
    assert view(str(run), "--camera", "eyes", "--format", "png", "--out", str(tmp_path)).exit_code == 0
    (path,) = tmp_path.iterdir()
    assert path.name == "wing-eyes-00000.000.png"
    assert cv2.imread(str(path)).shape == (48, 64, 3)


def test_a_contact_sheet_has_all_images(run: Path, tmp_path: Path) -> None:
    assert view(str(run), "--camera", "down", "--sheet", "--out", str(tmp_path)).exit_code == 0
    sheet = cv2.imread(str(tmp_path / "wing-down-sheet.jpg"))
    assert sheet.shape == (240, 3 * WIDTH_PX, 3)
    middles = [int(sheet[160, WIDTH_PX * index + WIDTH_PX // 2, 0]) for index in range(3)]
    assert middles == pytest.approx([100, 120, 140], abs=4)


def test_of_very_many_images_a_sheet_shows_some_from_first_to_last() -> None:
    shown = spread(1000, 60)
    assert (shown[0], shown[-1], len(set(shown))) == (0, 999, 60)
    assert spread(COLUMNS) == list(range(COLUMNS))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--camera", "dwon"], "no images of camera dwon; expected one of: down, eyes"),
        (["--format", "gif"], "--format gif: expected one of: jpg, png"),
    ],
)
def test_bad_usage_is_said_in_one_sentence(run: Path, arguments: list[str], words: str) -> None:
    done = view(str(run), *arguments)
    assert isinstance(done.exception, ConfigError)
    assert words in str(done.exception)


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    assert "no flight log; expected a folder that `aeroloop fly` made" in str(view(str(tmp_path)).exception)
