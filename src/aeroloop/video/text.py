"""Text on pictures: the font of matplotlib, so that it is the same on every machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PIL import ImageDraw, ImageFont

Colour = tuple[int, int, int] | tuple[int, int, int, int] | str
WHITE, BACK = (255, 255, 255), (12, 18, 26)


@cache
def font(size_px: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, max(6, size_px))


def boxed(draw: ImageDraw.ImageDraw, at_px: tuple[float, float], words: str, size_px: int, anchor: str = "ls") -> None:
    """On a dark ground, legible over any picture."""
    used, pad = font(size_px), size_px // 3
    left, top, right, bottom = draw.textbbox(at_px, words, font=used, anchor=anchor)
    draw.rounded_rectangle((left - pad, top - pad, right + pad, bottom + pad), radius=pad, fill=BACK)
    draw.text(at_px, words, font=used, anchor=anchor, fill=WHITE)
