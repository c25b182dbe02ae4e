"""A room with textures on every surface, for cameras: its MuJoCo model as text, with the textures as PNG files.

Wall panels of 2 x 3 m and floor tiles of 2 x 2 m have a texture each. What stands where is in `room_layout.py`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from aeroloop.world.room_layout import BLOCK_M, Box, Layout, layout

Array = NDArray[np.float64]

PANEL_M = 2.0  # width of wall panels and floor tiles, about
THICK_M = 0.02
LETTERS = "ABCDEFGHJKLMNPRSTUVXYZ23456789"


@dataclass(frozen=True)
class Panel:
    """A thin box whose local z is the visible side's normal, as MuJoCo maps flat textures."""

    centre_W: tuple[float, float, float]
    half_m: tuple[float, float]
    x_W: tuple[float, float, float]
    y_W: tuple[float, float, float]


@dataclass(frozen=True)
class Room:
    layout: Layout
    xml: str
    assets: dict[str, bytes]  # PNG files by the names in the model

    def distance_m(self, points_W: Array) -> Array:
        """Distance of each point (n, 3) to the nearest surface."""
        return self.layout.distance_m(points_W)


def room(
    seed: int = 0,
    size_m: tuple[float, float, float] = (10.0, 8.0, 3.0),
    centre_m: tuple[float, float] = (0.0, 0.0),
    *,
    texture_px: int = 512,
    image_px: int = 1280,
) -> Room:
    """Equal arguments give an equal room; `image_px` is the largest image that can be drawn of it."""
    placed = layout(seed, size_m, centre_m)
    panels = list(_panels(size_m, centre_m))
    boxes = placed.boxes[1:]  # the block has panels
    count = len(panels) + len(boxes)
    assets = {f"t{i}.png": texture(np.random.default_rng([seed, 2, i]), texture_px) for i in range(count)}
    return Room(placed, _xml(panels, boxes, image_px), assets)


def texture(rng: np.random.Generator, size_px: int) -> bytes:
    """A PNG: octave noise, rectangles, discs, letters, lines."""
    noise = np.zeros((size_px, size_px, 3))
    for cells in (8, 16, 32, 64, 128):
        coarse = rng.uniform(-1.0, 1.0, (cells, cells)).astype(np.float32)
        fine = Image.fromarray(coarse, mode="F").resize((size_px, size_px), Image.Resampling.BICUBIC)
        noise += np.asarray(fine)[..., None] * 24.0 * (8 / cells) ** 0.35
    base = rng.uniform(90, 170, 3)
    image = Image.fromarray(np.clip(base + noise, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(26):
        _rectangle(draw, rng, size_px)
    for _ in range(10):
        x, y = rng.uniform(0, size_px, 2)
        radius = rng.uniform(0.01, 0.05) * size_px
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_colour(rng))
    for _ in range(12):
        font = ImageFont.load_default(size=float(rng.uniform(0.05, 0.14) * size_px))
        x, y = rng.uniform(0, 0.9 * size_px, 2)
        draw.text((x, y), LETTERS[int(rng.integers(len(LETTERS)))], fill=_colour(rng), font=font)
    for _ in range(8):
        ends = rng.uniform(0, size_px, 4).tolist()
        draw.line(ends, fill=_colour(rng), width=int(rng.integers(1, 4)))
    file = io.BytesIO()
    image.save(file, format="PNG", compress_level=1)
    return file.getvalue()


def _rectangle(draw: ImageDraw.ImageDraw, rng: np.random.Generator, size_px: int) -> None:
    x, y = rng.uniform(0, size_px, 2)
    width, height = rng.uniform(0.02, 0.14, 2) * size_px
    draw.rectangle((x, y, x + width, y + height), fill=_colour(rng))


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in rng.integers(10, 246, 3))
    return red, green, blue


def _panels(size_m: tuple[float, float, float], centre_m: tuple[float, float]) -> Iterator[Panel]:
    for panel in _panels_at_origin(size_m):
        x, y, z = panel.centre_W
        yield replace(panel, centre_W=(x + centre_m[0], y + centre_m[1], z))


def _panels_at_origin(size_m: tuple[float, float, float]) -> Iterator[Panel]:
    length, width, height = size_m
    up = (0.0, 0.0, 1.0)
    nx, ny = max(1, round(length / PANEL_M)), max(1, round(width / PANEL_M))
    half = (length / nx / 2, width / ny / 2)
    xs = [(2 * i + 1) * half[0] - length / 2 for i in range(nx)]
    ys = [(2 * i + 1) * half[1] - width / 2 for i in range(ny)]
    for x in xs:
        for y in ys:
            yield Panel((x, y, 0.0), half, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        yield Panel((x, width / 2, height / 2), (half[0], height / 2), (1.0, 0.0, 0.0), up)
        yield Panel((x, -width / 2, height / 2), (half[0], height / 2), (-1.0, 0.0, 0.0), up)
    for y in ys:
        yield Panel((length / 2, y, height / 2), (half[1], height / 2), (0.0, -1.0, 0.0), up)
        yield Panel((-length / 2, y, height / 2), (half[1], height / 2), (0.0, 1.0, 0.0), up)
    bx, by = BLOCK_M[0] / 2, BLOCK_M[1] / 2
    for x in (-bx / 2, bx / 2):
        yield Panel((x, -by, height / 2), (bx / 2, height / 2), (1.0, 0.0, 0.0), up)
        yield Panel((x, by, height / 2), (bx / 2, height / 2), (-1.0, 0.0, 0.0), up)
    yield Panel((bx, 0.0, height / 2), (by, height / 2), (0.0, 1.0, 0.0), up)
    yield Panel((-bx, 0.0, height / 2), (by, height / 2), (0.0, -1.0, 0.0), up)


def _xml(panels: list[Panel], boxes: tuple[Box, ...], image_px: int) -> str:
    assets, geoms = [], []
    for index, panel in enumerate(panels):
        assets.append(f'<texture name="t{index}" type="2d" file="t{index}.png"/>')
        assets.append(f'<material name="m{index}" texture="t{index}" specular="0" shininess="0"/>')
        normal = np.cross(panel.x_W, panel.y_W)
        centre = np.array(panel.centre_W) - normal * THICK_M / 2  # its front is the surface
        geoms.append(
            f'<geom type="box" material="m{index}" pos="{_numbers(centre)}" '
            f'size="{_numbers((*panel.half_m, THICK_M / 2))}" xyaxes="{_numbers((*panel.x_W, *panel.y_W))}"/>'
        )
    for index, box in enumerate(boxes, len(panels)):
        assets.append(f'<texture name="t{index}" type="cube" file="t{index}.png"/>')
        assets.append(f'<material name="m{index}" texture="t{index}" specular="0" shininess="0"/>')
        geoms.append(
            f'<geom type="box" material="m{index}" pos="{_numbers(box.centre_W)}" size="{_numbers(box.half_m)}" '
            f'euler="{_numbers((0.0, 0.0, box.yaw_rad))}"/>'
        )
    return (
        '<mujoco model="room"><compiler angle="radian"/>'
        f'<visual><quality offsamples="0"/><global offwidth="{image_px}" offheight="{image_px}"/><map znear="0.002"/>'
        '<headlight ambient="0.75 0.75 0.75" diffuse="0.25 0.25 0.25" specular="0 0 0"/></visual>'
        f"<asset>{''.join(assets)}</asset><worldbody>{''.join(geoms)}</worldbody></mujoco>"
    )


def _numbers(values: object) -> str:
    return " ".join(f"{value:.9g}" for value in np.asarray(values, dtype=float))
