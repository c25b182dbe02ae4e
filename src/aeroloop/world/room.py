"""A room with textures on every surface, for cameras: its MuJoCo model as text, and the distance to its surfaces.

Wall panels of 2 x 3 m and floor tiles of 2 x 2 m have a texture each, a block in the middle hides the far side, boxes
stand along the walls. All surfaces are known exactly, so that a map of the room has a truth. W: origin in the middle of
the floor, z up.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Array = NDArray[np.float64]

PANEL_M = 2.0  # width of wall panels and floor tiles, about
THICK_M = 0.02
BLOCK_M = (3.2, 1.6)  # the block in the middle, as high as the room
BOXES = 16
LETTERS = "ABCDEFGHJKLMNPRSTUVXYZ23456789"


@dataclass(frozen=True)
class Box:
    centre_W: tuple[float, float, float]
    half_m: tuple[float, float, float]
    yaw_rad: float


@dataclass(frozen=True)
class Panel:
    """A thin box whose local z is the visible side's normal, as MuJoCo maps flat textures."""

    centre_W: tuple[float, float, float]
    half_m: tuple[float, float]
    x_W: tuple[float, float, float]
    y_W: tuple[float, float, float]


@dataclass(frozen=True)
class Room:
    size_m: tuple[float, float, float]
    boxes: tuple[Box, ...]  # the block first
    xml: str
    assets: dict[str, bytes]  # PNG files by the names in the model

    def distance_m(self, points_W: Array) -> Array:
        """Distance of each point (n, 3) to the nearest surface."""
        length, width, _ = self.size_m
        x, y, z = points_W.T
        to_wall = np.minimum(np.abs(length / 2 - np.abs(x)), np.abs(width / 2 - np.abs(y)))
        nearest: Array = np.minimum(np.abs(z), to_wall)
        for box in self.boxes:
            nearest = np.minimum(nearest, np.abs(_outside_m(points_W, box)))
        return nearest


def room(
    seed: int = 0, size_m: tuple[float, float, float] = (10.0, 8.0, 3.0), *, texture_px: int = 512, image_px: int = 1280
) -> Room:
    """Equal arguments give an equal room; `image_px` is the largest image that can be drawn of it."""
    block = Box((0.0, 0.0, size_m[2] / 2), (BLOCK_M[0] / 2, BLOCK_M[1] / 2, size_m[2] / 2), 0.0)
    boxes = tuple(_boxes(np.random.default_rng([seed, 1]), size_m))
    panels = list(_panels(size_m))
    count = len(panels) + len(boxes)
    assets = {f"t{i}.png": texture(np.random.default_rng([seed, 2, i]), texture_px) for i in range(count)}
    return Room(size_m, (block, *boxes), _xml(panels, boxes, image_px), assets)


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


def _boxes(rng: np.random.Generator, size_m: tuple[float, float, float]) -> Iterator[Box]:
    """Spread along the four walls, by their lengths."""
    length, width, _ = size_m
    around = 2 * (length + width)
    for index in range(BOXES):
        along = (index + rng.uniform(0.25, 0.75)) * around / BOXES
        hx, hy, hz = rng.uniform((0.12, 0.12, 0.15), (0.32, 0.32, 0.75))
        gap = 0.42 + rng.uniform(0.0, 0.12)  # from the wall to its middle
        if along < length:
            x, y = along - length / 2, gap - width / 2
        elif along < length + width:
            x, y = length / 2 - gap, along - length - width / 2
        elif along < 2 * length + width:
            x, y = length * 1.5 + width - along, width / 2 - gap
        else:
            x, y = gap - length / 2, 2 * length + 1.5 * width - along
        x = float(np.clip(x, 0.45 - length / 2, length / 2 - 0.45))
        y = float(np.clip(y, 0.45 - width / 2, width / 2 - 0.45))
        yield Box((x, y, float(hz)), (float(hx), float(hy), float(hz)), float(rng.uniform(-0.5, 0.5)))


def _panels(size_m: tuple[float, float, float]) -> Iterator[Panel]:
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


def _outside_m(points_W: Array, box: Box) -> Array:
    """Signed distance to the box's surface, negative inside."""
    cosine, sine = np.cos(box.yaw_rad), np.sin(box.yaw_rad)
    x, y, z = (points_W - np.array(box.centre_W)).T
    local = np.abs(np.stack([cosine * x + sine * y, cosine * y - sine * x, z], axis=1)) - np.array(box.half_m)
    outside: Array = np.linalg.norm(np.maximum(local, 0.0), axis=1) + np.minimum(local.max(axis=1), 0.0)
    return outside
