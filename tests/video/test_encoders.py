"""Files of films are what their names say: read back by another library, frames and sizes counted."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from aeroloop.core.errors import ConfigError
from aeroloop.video import encoders

SIZE_PX = (96, 64)
COUNT = 7


def pictures() -> list[encoders.Picture]:
    """A bright bar that moves over a dark ground."""
    found = []
    for number in range(COUNT):
        picture = np.full((SIZE_PX[1], SIZE_PX[0], 3), 40, np.uint8)
        picture[:, 10 * number : 10 * number + 12] = (220, 60, 30)
        found.append(picture)
    return found


def written(path: Path, fps: float) -> Path:
    with encoders.opened(path, SIZE_PX, fps, COUNT) as sink:
        for picture in pictures():
            sink.add(picture)
    return path


@pytest.mark.parametrize(("ending", "codec"), [(".mp4", "h264"), (".webm", "vp9")])
def test_a_film_is_decoded_frame_by_frame(tmp_path: Path, ending: str, codec: str) -> None:
    av = pytest.importorskip("av", reason="PyAV is not installed (extra video)")
    with av.open(str(written(tmp_path / f"film{ending}", 25.0))) as file:
        (stream,) = file.streams.video
        frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(stream)]
        assert stream.codec_context.name == codec
        assert stream.average_rate == Fraction(25)
        assert stream.codec_context.pix_fmt == "yuv420p"  # browsers play no other
    assert len(frames) == COUNT
    for number, (frame, drawn) in enumerate(zip(frames, pictures(), strict=True)):
        assert frame.shape == drawn.shape
        assert abs(frame.astype(int) - drawn).mean() < 12.0, number
    assert [path.name for path in tmp_path.iterdir()] == [f"film{ending}"]


@pytest.mark.parametrize("ending", [".gif", ".webp"])
def test_an_animation_has_its_frames_and_length(tmp_path: Path, ending: str) -> None:
    with Image.open(written(tmp_path / f"film{ending}", 12.5)) as file:
        assert (file.size, file.n_frames) == (SIZE_PX, COUNT)  # type: ignore[attr-defined]
        assert file.info["loop"] == 0
        durations = []
        for number in range(COUNT):
            file.seek(number)
            file.load()
            durations.append(file.info["duration"])
        assert abs(np.asarray(file.convert("RGB")).astype(int) - pictures()[-1]).mean() < 12.0
    assert sum(durations) == pytest.approx(1000 * COUNT / 12.5, abs=10)


def test_one_frame_is_a_picture_to_the_bit(tmp_path: Path) -> None:
    with Image.open(written(tmp_path / "frame.png", 25.0)) as file:
        assert np.array_equal(np.asarray(file), pictures()[0])


def test_an_interrupted_film_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), encoders.opened(tmp_path / "film.gif", SIZE_PX, 25.0, COUNT) as sink:
        sink.add(pictures()[0])
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_without_its_library_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ConfigError, match=r"pip install 'aeroloop\[video\]'"):
        written(tmp_path / "film.mp4", 25.0)
    assert written(tmp_path / "film.gif", 25.0).is_file()


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"film\.avi: expected a name that ends in one of: \.mp4"):
        encoders.kind_of(Path("film.avi"))
    with pytest.raises(ConfigError, match="2 GiB"), encoders.opened(tmp_path / "a.gif", (1280, 720), 25.0, 100_000):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        written(tmp_path / "file" / "film.gif", 25.0)
