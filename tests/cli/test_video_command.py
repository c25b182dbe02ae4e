"""`aeroloop video`: a file from a run, without a display, and sentences where that does not work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from aeroloop.cli.app import app
from aeroloop.core.errors import EXIT_USAGE
from helpers import video_runs

WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("nicegui", "cv2", "av"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
from aeroloop.cli import main
main()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return video_runs.made(tmp_path_factory.mktemp("run") / "run", "fixedwing-loiter", 0.4)


def command(*arguments: str, code: str = WITHOUT, **environment: str) -> subprocess.CompletedProcess[str]:
    without = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MUJOCO_GL")}
    return subprocess.run(
        [sys.executable, "-c", code, "video", *arguments],
        env={**without, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_film_needs_no_display_and_no_library_of_another_extra(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "film.gif"
    done = command(str(run), "--out", str(out), "--size", "128x72", "--fps", "5")
    assert done.returncode == 0, done.stderr
    assert "film.gif: 3 frames of 128x72, 0.6 s" in done.stdout
    with Image.open(out) as file:
        assert (file.size, file.n_frames) == ((128, 72), 3)  # type: ignore[attr-defined]


def test_without_egl_a_sentence_says_what_to_install(run: Path, tmp_path: Path) -> None:
    hidden = {"__EGL_VENDOR_LIBRARY_FILENAMES": str(tmp_path / "none.json")}
    done = command(str(run), "--out", str(tmp_path / "film.gif"), **hidden)
    assert done.returncode == EXIT_USAGE
    assert "sudo apt-get install libegl1" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "film.mov"], "--out film.mov: expected a name that ends in one of"),
        (["--size", "big"], "--size big: expected WIDTHxHEIGHT"),
        (["--camera", "free", "--eye", "1,2"], "--eye 1,2: expected east, north and up"),
    ],
)
def test_wrong_options_are_refused(run: Path, arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["video", str(run), *arguments])
    assert result.exception is not None
    assert words in str(result.exception)
