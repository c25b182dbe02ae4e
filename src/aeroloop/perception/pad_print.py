"""The pad as a file to scale: PDF and SVG as rectangles with a ruler of 10 cm, PNG as the board alone.

A PDF has one page as large as the board, or tiles of a usual page size that overlap by `OVERLAP_M` and have the ruler
on every page. Text of a PDF is in the built-in Helvetica, so that there is no font to embed.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from aeroloop.core.errors import ConfigError
from aeroloop.perception import pad
from aeroloop.perception.opencv import opencv

PAGES_M = {"a4": (0.210, 0.297), "a3": (0.297, 0.420), "a0": (0.841, 1.189), "letter": (0.2159, 0.2794)}
"""Width and height; `board` is a page as large as the pad."""
BOARD = "board"
MARGIN_M = 0.010
"""Most printers leave this much of a page blank."""
OVERLAP_M = 0.010
RULER_M = 0.10
RULER_STRIP_M = 0.02
KINDS = ("pdf", "svg", "png")
_LINE_M = 0.0003
_POINTS_PER_M = 72 / 0.0254

Rectangle = tuple[float, float, float, float]


def render(kind: str, *, scale: float = 1.0, page: str = BOARD) -> bytes:
    """The file's bytes. `scale` is that of the pad; the print itself is always 1:1."""
    pad.check_scale(scale)
    if kind not in KINDS:
        raise ConfigError(f"pad: expected a file that ends in .{', .'.join(KINDS)}, not .{kind}")
    if page != BOARD and page not in PAGES_M:
        raise ConfigError(f"pad: unknown page {page!r}; expected one of: {BOARD}, {', '.join(PAGES_M)}")
    if page != BOARD and kind != "pdf":
        raise ConfigError(f"pad: only a PDF has pages of size {page}; write to a .pdf file or leave --page out")
    if kind == "png":
        return _png(scale)
    return _svg(scale) if kind == "svg" else _pdf(scale, page)


def kind_of(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def ruler(left: float, bottom: float) -> list[Rectangle]:
    """A line of 10 cm with a tick at each centimetre; m."""
    ticks = [
        (left + 0.01 * n - _LINE_M / 2, bottom, _LINE_M, 0.006 if n % 5 == 0 else 0.004)
        for n in range(round(RULER_M / 0.01) + 1)
    ]
    return [(left, bottom, RULER_M, _LINE_M), *ticks]


def tiles(board_m: float, page_m: tuple[float, float]) -> Iterator[tuple[int, int, float, float]]:
    """Row, column, and the board's left and lower edge of each tile, from the upper left."""
    inner = page_m[0] - 2 * MARGIN_M, page_m[1] - 2 * MARGIN_M - RULER_STRIP_M
    columns, rows = (max(1, math.ceil((board_m - OVERLAP_M) / (side - OVERLAP_M) - 1e-9)) for side in inner)
    for row in range(rows):
        for column in range(columns):
            top = board_m - row * (inner[1] - OVERLAP_M)
            yield row, column, column * (inner[0] - OVERLAP_M), top - inner[1]


def _name(scale: float) -> str:
    side = f"{pad.BOARD_M * scale:.3f}".rstrip("0").rstrip(".")
    return f"Aeroloop pad, {side} m, scale {scale:g}"


def _on_board(scale: float) -> list[Rectangle]:
    """The black rectangles from the board's lower left corner; m."""
    half = pad.BOARD_M * scale / 2
    return [(half + x, half + y, width, height) for x, y, width, height in pad.black_rectangles_P(scale)]


def _svg(scale: float) -> bytes:
    board = pad.BOARD_M * scale
    width, height = max(board, RULER_M + 2 * MARGIN_M), board + RULER_STRIP_M
    shapes = [*_on_board(scale), *ruler(MARGIN_M, -0.012)]

    def drawn(x: float, y: float, wide: float, high: float) -> str:  # in mm, y down
        values = (1e3 * x, 1e3 * (board - y - high), 1e3 * wide, 1e3 * high)
        return '<rect x="{:.4f}" y="{:.4f}" width="{:.4f}" height="{:.4f}"/>'.format(*values)

    mm = f"{1e3 * width:.4f}", f"{1e3 * height:.4f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{mm[0]}mm" height="{mm[1]}mm" viewBox="0 0 {mm[0]} {mm[1]}">',
        f'<rect width="{mm[0]}" height="{mm[1]}" fill="white"/>',
        *(drawn(*shape) for shape in shapes),
        f'<text x="{1e3 * MARGIN_M:.4f}" y="{1e3 * board + 18:.4f}" font-size="4" font-family="sans-serif">'
        f"10 cm when printed at 100 %. {_name(scale)}</text>",
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _png(scale: float) -> bytes:
    """With its resolution, so that programs print it to scale."""
    written, encoded = opencv().imencode(".png", pad.image())
    if not written:
        raise ConfigError("pad: OpenCV cannot write PNG files here; write to a .pdf file")
    content = bytes(encoded)
    per_m = round(pad.PX_PER_M / scale)
    chunk = b"pHYs" + struct.pack(">IIB", per_m, per_m, 1)
    resolution = struct.pack(">I", 9) + chunk + struct.pack(">I", zlib.crc32(chunk))
    after_header = 8 + 25  # signature, IHDR
    return content[:after_header] + resolution + content[after_header:]


def _pdf(scale: float, page: str) -> bytes:
    board, shapes = pad.BOARD_M * scale, _on_board(scale)
    if page == BOARD:
        size = max(board, RULER_M + 2 * MARGIN_M), board + RULER_STRIP_M
        below = _ruler_of_page(f"10 cm when printed at 100 %. {_name(scale)}", MARGIN_M, 0.008)
        return _document(size, [_shapes(shapes, 0.0, RULER_STRIP_M) + below])
    size = PAGES_M[page]
    inner = size[0] - 2 * MARGIN_M, size[1] - 2 * MARGIN_M - RULER_STRIP_M
    corner = MARGIN_M, MARGIN_M + RULER_STRIP_M
    contents = []
    for row, column, left, bottom in tiles(board, size):
        clip = f"q {_points(*corner, *inner)} re W n\n"
        frame = f"Q 0.3 w {_points(*corner, *inner)} re S\n"
        text = f"10 cm at 100 %. Row {row + 1}, column {column + 1}; {1e3 * OVERLAP_M:g} mm overlap. {_name(scale)}"
        drawn = _shapes(shapes, corner[0] - left, corner[1] - bottom)
        contents.append(clip + drawn + frame + _ruler_of_page(text, MARGIN_M, MARGIN_M + 0.008))
    return _document(size, contents)


def _points(*values_m: float) -> str:
    return " ".join(f"{_POINTS_PER_M * value:.4f}" for value in values_m)


def _shapes(shapes: list[Rectangle], dx: float, dy: float) -> str:
    drawn = [f"{_points(x + dx, y + dy, width, height)} re" for x, y, width, height in shapes]
    return "\n".join([*drawn, "f"]) + "\n"


def _ruler_of_page(text: str, left: float, bottom: float) -> str:
    return _shapes(ruler(left, bottom), 0.0, 0.0) + f"BT /F 9 Tf {_points(left, bottom - 0.005)} Td ({text}) Tj ET\n"


def _document(size_m: tuple[float, float], contents: list[str]) -> bytes:
    """A PDF of these pages: catalogue, page tree, font, then each page and its content."""
    pages = [4 + 2 * n for n in range(len(contents))]
    kids = " ".join(f"{number} 0 R" for number in pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in zip(pages, contents, strict=True):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_points(*size_m)}] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F 3 0 R >> >> >>".encode()
        )
        packed = zlib.compress(content.encode("ascii"), 9)
        objects.append(f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream")
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
