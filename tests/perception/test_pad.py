"""The pad: its markers, and its file to scale."""

from __future__ import annotations

import re
import struct
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from aeroloop.cli.app import app
from aeroloop.core.errors import ConfigError
from aeroloop.perception import opencv, pad, pad_print


def area(rectangles: list[tuple[float, float, float, float]]) -> float:
    return sum(width * height for _, _, width, height in rectangles)


def test_markers_lie_on_the_board_and_leave_each_other_a_white_cell() -> None:
    assert [marker.number for marker in pad.MARKERS] == list(range(9))
    for marker in pad.MARKERS:
        corners = pad.corners_P(marker.number)
        assert np.abs(corners).max() + marker.side_m / pad.CELLS <= pad.BOARD_M / 2 + 1e-9
        for other in pad.MARKERS[: marker.number]:
            apart = np.abs(np.subtract(marker.centre_P, other.centre_P)).max() - (marker.side_m + other.side_m) / 2
            assert apart >= min(marker.side_m, other.side_m) / pad.CELLS - 1e-9, (marker, other)


def test_the_drawing_is_what_opencv_draws() -> None:
    drawn = pad.image()
    assert drawn.shape == (3300, 3300)
    for marker in pad.MARKERS:
        side = round(marker.side_m * pad.PX_PER_M)
        x, y = marker.centre_P
        left, top = (round((0.55 + v) * pad.PX_PER_M - side / 2) for v in (x, -y))
        part = drawn[top : top + side, left : left + side]
        assert np.array_equal(part, pad.dictionary().generateImageMarker(marker.number, side)), marker
    black_m2 = np.count_nonzero(drawn == 0) / pad.PX_PER_M**2
    assert black_m2 == pytest.approx(area(pad.black_rectangles_P()), abs=1e-9)
    assert area(pad.black_rectangles_P(0.5)) == pytest.approx(black_m2 / 4)


def pages(content: bytes) -> list[tuple[tuple[float, float], str]]:
    """Size in m and commands of each page of a PDF."""
    sizes = re.findall(rb"/MediaBox \[0 0 (\S+) (\S+)\]", content)
    streams = re.findall(rb"/Length (\d+) /Filter /FlateDecode >>\nstream\n", content)
    starts = [found.end() for found in re.finditer(rb"FlateDecode >>\nstream\n", content)]
    texts = [zlib.decompress(content[s : s + int(n)]).decode() for s, n in zip(starts, streams, strict=True)]
    return [((float(w) * 0.0254 / 72, float(h) * 0.0254 / 72), t) for (w, h), t in zip(sizes, texts, strict=True)]


def rectangles(text: str) -> list[tuple[float, float, float, float]]:
    """The filled ones, in m."""
    found = re.findall(r"^(\S+) (\S+) (\S+) (\S+) re$", text, re.MULTILINE)
    return [tuple(float(value) * 0.0254 / 72 for value in row) for row in found]  # type: ignore[misc]


@pytest.mark.parametrize("scale", [1.0, 0.25, 0.05])
def test_a_pdf_of_one_page_is_to_scale_and_has_a_ruler_of_10_cm(scale: float) -> None:
    content = pad_print.render("pdf", scale=scale)
    [(size, text)] = pages(content)
    assert size[1] == pytest.approx(1.1 * scale + 0.02, abs=1e-6)
    shapes = rectangles(text)
    assert max(width for _, _, width, height in shapes if height < 0.0004) == pytest.approx(0.1, abs=1e-6)
    outermost = max(x + width for x, y, width, _ in shapes if y > 0.0201)
    assert outermost == pytest.approx((0.55 + 0.49) * scale, abs=1e-6)
    ticks = len(pad_print.ruler(0.0, 0.0))
    assert area(shapes[:-ticks]) == pytest.approx(area(pad.black_rectangles_P(scale)), rel=1e-4)


def test_every_object_of_a_pdf_is_where_its_table_says() -> None:
    content = pad_print.render("pdf", page="a4")
    table = int(content.rsplit(b"startxref\n", 1)[1].split()[0])
    assert content[table:].startswith(b"xref\n0 ")
    for number, offset in enumerate(re.findall(rb"(\d{10}) 00000 n", content[table:]), start=1):
        assert content[int(offset) :].startswith(b"%d 0 obj\n" % number)


@pytest.mark.parametrize("page", sorted(pad_print.PAGES_M))
def test_tiles_cover_the_board(page: str) -> None:
    width, height = pad_print.PAGES_M[page]
    inner = width - 0.02, height - 0.04
    covered = np.zeros((110, 110), bool)  # squares of 1 cm
    middles = np.arange(110) * 0.01 + 0.005
    count = 0
    for _, _, left, bottom in pad_print.tiles(1.1, (width, height)):
        count += 1
        across = (middles > left) & (middles < left + inner[0])
        up = (middles > bottom) & (middles < bottom + inner[1])
        covered |= np.outer(up, across)
    assert covered.all()
    assert len(pages(pad_print.render("pdf", page=page))) == count


def test_an_svg_is_in_millimetres() -> None:
    text = pad_print.render("svg", scale=0.5).decode()
    assert 'width="550.0000mm" height="570.0000mm" viewBox="0 0 550.0000 570.0000"' in text
    widths = [float(width) for width in re.findall(r'<rect x="\S+" y="\S+" width="(\S+)"', text)]
    assert max(widths) == pytest.approx(170.0), "the border of a large marker; the ruler has 100"


def test_a_png_knows_its_resolution() -> None:
    content = pad_print.render("png", scale=0.5)
    place = content.index(b"pHYs") + 4
    assert struct.unpack(">IIB", content[place : place + 9]) == (6000, 6000, 1)
    assert np.array_equal(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE), pad.image())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kind": "gif"}, "pad: expected a file that ends in .pdf, .svg, .png, not .gif"),
        ({"kind": "pdf", "scale": 0.0}, "pad.scale: expected 0.05 to 20, not 0"),
        ({"kind": "pdf", "scale": float("nan")}, "pad.scale: expected 0.05 to 20, not nan"),
        ({"kind": "pdf", "page": "a9"}, "pad: unknown page 'a9'; expected one of: board, a4, a3, a0, letter"),
        ({"kind": "svg", "page": "a4"}, "pad: only a PDF has pages of size a4; write to a .pdf file or leave --page"),
    ],
)
def test_what_cannot_be_drawn_is_said(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        pad_print.render(**arguments)  # type: ignore[arg-type]


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    out = tmp_path / "pad.pdf"
    result = CliRunner().invoke(app, ["pad", "--out", str(out), "--scale", "0.5"])
    assert result.exit_code == 0, result.output
    assert out.read_bytes() == pad_print.render("pdf", scale=0.5)
    assert "0.55 m wide" in result.output


def test_without_opencv_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    opencv.opencv.cache_clear()
    try:
        result = CliRunner().invoke(app, ["pad", "--out", str(tmp_path / "pad.pdf")])
    finally:
        opencv.opencv.cache_clear()
    assert isinstance(result.exception, ConfigError)
    assert result.exception.exit_code == 2
    assert str(result.exception) == "vision needs OpenCV, which is not installed: pip install 'aeroloop[vision]'"
    assert not (tmp_path / "pad.pdf").exists()
