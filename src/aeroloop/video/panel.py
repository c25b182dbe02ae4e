"""The pilot's instruments as a picture: what `dashboard/instruments.py` draws as SVG, with its sizes and colours."""

from __future__ import annotations

import math

from PIL import Image, ImageDraw

from aeroloop.dashboard import readings
from aeroloop.dashboard.instruments import (
    CLIMB_FULL_M_S,
    DIM,
    EARTH,
    HEADING_PER_DEG,
    HEADING_WORDS,
    HEIGHT,
    HORIZON_HALF_H,
    HORIZON_HALF_W,
    HORIZON_X,
    HORIZON_Y,
    INK,
    MARK,
    MOST,
    PANEL,
    PER_DEG,
    ROLL_MARKS_DEG,
    ROLL_RADIUS,
    SETPOINT,
    SKY,
    TAPE_PER_STEP,
    TAPE_WIDTH,
    WIDTH,
    Readings,
)
from aeroloop.video.crafts import Craft
from aeroloop.video.text import font

TAPE = "#222c36"
STEP = 2.0
"""Between two numbers of a tape, m or m/s."""
FINER = 2
"""Drawn at this multiple of its size, and averaged: smooth edges."""


def now(craft: Craft) -> Readings:
    """After `store.seek`."""
    pose = readings.pose(craft.store, craft.scenario, craft.vehicle)
    if pose is None:
        return Readings()
    return Readings(
        roll_rad=pose.roll_rad,
        nose_up_rad=pose.nose_up_rad,
        heading_deg=pose.heading_deg,
        height_m=pose.pos_W[2],
        speed_m_s=pose.speed_m_s,
        climb_m_s=pose.vel_W[2],
        setpoint_height_m=readings.setpoint_height_m(craft.store, craft.scenario, craft.vehicle),
    )


def height_px(width_px: int) -> int:
    return round(HEIGHT * width_px / WIDTH)


def picture(now: Readings, width_px: int) -> Image.Image:
    scale = FINER * width_px / WIDTH
    drawn = _Drawn(scale, (FINER * width_px, FINER * height_px(width_px)))
    _horizon(drawn, now)
    _tape(drawn, now.speed_m_s, "m/s", x=2.0, floor=0.0)
    _tape(drawn, now.height_m, "m", x=WIDTH - TAPE_WIDTH - 2.0, setpoint=now.setpoint_height_m)
    _climb(drawn, now.climb_m_s)
    _heading(drawn, now.heading_deg)
    return drawn.image.reduce(FINER)


class _Drawn:
    """A picture in the units of the SVG."""

    def __init__(self, scale: float, size_px: tuple[int, int], ground: str = PANEL) -> None:
        self.scale = scale
        self.image = Image.new("RGB", size_px, ground)
        self._draw = ImageDraw.Draw(self.image)

    def line(self, points: list[tuple[float, float]], fill: str, width: float = 1.0) -> None:
        scaled = [(self.scale * x, self.scale * y) for x, y in points]
        self._draw.line(scaled, fill=fill, width=max(1, round(self.scale * width)), joint="curve")

    def area(self, points: list[tuple[float, float]], fill: str) -> None:
        self._draw.polygon([(self.scale * x, self.scale * y) for x, y in points], fill=fill)

    def box(self, x: float, y: float, width: float, height: float, fill: str, edge: str | None = None) -> None:
        corners = [self.scale * value for value in (x, y, x + width, y + height)]
        line = max(1, round(self.scale))
        self._draw.rounded_rectangle(corners, radius=self.scale * 5, fill=fill, outline=edge, width=line)

    def text(
        self, x: float, y: float, words: str, size: float, fill: str, anchor: str = "ms", *, bold: bool = False
    ) -> None:
        used = font(round(self.scale * size), bold=bold)
        self._draw.text((self.scale * x, self.scale * y), words, font=used, fill=fill, anchor=anchor)

    def inner(self, ground: str, width: float, height: float) -> _Drawn:
        """A picture of the same scale, to be placed into this one: it clips what is in it."""
        return _Drawn(self.scale, (round(self.scale * width), round(self.scale * height)), ground)

    def place(self, inner: _Drawn, x: float, y: float) -> None:
        self.image.paste(inner.image, (round(self.scale * x), round(self.scale * y)))


def _known(*values: float) -> bool:
    return all(abs(value) < MOST for value in values)


def _horizon(drawn: _Drawn, now: Readings) -> None:
    """The horizon relative to the aircraft: rotated by the roll, shifted by the pitch."""
    left, top = HORIZON_X - HORIZON_HALF_W, HORIZON_Y - HORIZON_HALF_H
    world = drawn.inner(SKY, 2 * HORIZON_HALF_W, 2 * HORIZON_HALF_H)
    x, y = HORIZON_HALF_W, HORIZON_HALF_H
    if _known(now.roll_rad, now.nose_up_rad):
        _world(world, now.roll_rad, math.degrees(now.nose_up_rad))
    else:
        world.text(x, y - 30, "no attitude", 15, DIM)
    for side in (-1, 1):
        wing = [(x + side * 62, y), (x + side * 28, y), (x + side * 20, y + 9)]
        world.line(wing, "#000000", 6)
        world.line(wing, MARK, 3.5)
    world.area([(x - 3, y - 3), (x + 3, y - 3), (x + 3, y + 3), (x - 3, y + 3)], MARK)
    tip = y - ROLL_RADIUS + 2
    world.area([(x, tip), (x - 7, tip + 12), (x + 7, tip + 12)], MARK)
    drawn.place(world, left, top)


def _world(world: _Drawn, roll_rad: float, nose_up_deg: float) -> None:
    sine, cosine = math.sin(-roll_rad), math.cos(-roll_rad)

    def turned(x: float, y: float, drop: float) -> tuple[float, float]:
        return HORIZON_HALF_W + cosine * x - sine * (y + drop), HORIZON_HALF_H + sine * x + cosine * (y + drop)

    drop = nose_up_deg * PER_DEG
    world.area([turned(x, y, drop) for x, y in ((-400, 0), (400, 0), (400, 900), (-400, 900))], EARTH)
    world.line([turned(-400, 0, drop), turned(400, 0, drop)], INK, 2)
    lowest = 10 * math.floor((nose_up_deg - 20) / 10)
    for degrees in range(lowest, lowest + 60, 5):
        if degrees == 0 or abs(degrees) > 90 or abs(degrees - nose_up_deg) > 20:
            continue
        y, half = -degrees * PER_DEG, 34 if degrees % 10 == 0 else 16
        world.line([turned(-half, y, drop), turned(half, y, drop)], INK, 1.6)
        for side in (-50, 50) if degrees % 10 == 0 else ():
            world.text(*turned(side, y, drop), f"{abs(degrees)}", 12, INK, "mm")
    for degrees in ROLL_MARKS_DEG:
        angle, length = math.radians(degrees), 11 if degrees % 30 == 0 else 6
        ends = [(r * math.sin(angle), -r * math.cos(angle)) for r in (ROLL_RADIUS, ROLL_RADIUS + length)]
        world.line([turned(x, y, 0.0) for x, y in ends], INK, 1.8)


def _tape(
    drawn: _Drawn, value: float, unit: str, *, x: float, floor: float = -math.inf, setpoint: float = math.nan
) -> None:
    top, half = HORIZON_Y - HORIZON_HALF_H, HORIZON_HALF_H
    scale = drawn.inner(TAPE, TAPE_WIDTH, 2 * half)
    words = "–"
    if _known(value):
        words = f"{value:.1f}"
        words = words.removeprefix("-") if float(words) == 0 else words
        per_unit = TAPE_PER_STEP / STEP
        first = math.ceil((value - half / per_unit) / STEP)
        for number in range(first, math.floor((value + half / per_unit) / STEP) + 1):
            if number * STEP >= floor:
                y = half - (number * STEP - value) * per_unit
                scale.line([(TAPE_WIDTH - 9, y), (TAPE_WIDTH, y)], DIM)
                scale.text(TAPE_WIDTH - 13, y, f"{number * STEP:g}", 12, DIM, "rm")
        if _known(setpoint):
            y = half - max(-half + 6, min(half - 6, (setpoint - value) * per_unit))
            scale.area([(0, y - 7), (8, y - 7), (2, y), (8, y + 7), (0, y + 7)], SETPOINT)
    scale.text(5, 14, unit, 11, INK, "ls")
    drawn.place(scale, x, top)
    drawn.box(x, HORIZON_Y - 15, TAPE_WIDTH, 30, "#000000", MARK)
    drawn.text(x + TAPE_WIDTH / 2, HORIZON_Y, words, 17, INK, "mm", bold=True)


def _climb(drawn: _Drawn, climb_m_s: float) -> None:
    x, half = WIDTH - TAPE_WIDTH - 12.0, 100.0
    drawn.area(_rectangle(x, HORIZON_Y - half, 7, 2 * half), "#1d2c3a")
    if _known(climb_m_s):
        length = half * max(-1.0, min(1.0, climb_m_s / CLIMB_FULL_M_S))
        drawn.area(_rectangle(x, HORIZON_Y - max(0.0, length), 7, abs(length)), MARK)
    drawn.line([(x - 2, HORIZON_Y), (x + 9, HORIZON_Y)], INK)


def _rectangle(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _heading(drawn: _Drawn, heading_deg: float) -> None:
    top, height, half = 256.0, 46.0, HORIZON_HALF_W
    scale = drawn.inner(TAPE, 2 * half, height)
    words = "–"
    if _known(heading_deg):
        words = f"{round(heading_deg) % 360:03d}°"
        reach = half / HEADING_PER_DEG
        for mark in range(10 * math.ceil((heading_deg - reach) / 10), math.floor(heading_deg + reach) + 1, 10):
            x, compass = half + (mark - heading_deg) * HEADING_PER_DEG, mark % 360
            scale.line([(x, height), (x, height - (9 if mark % 30 == 0 else 5))], DIM)
            if mark % 30 == 0:
                scale.text(x, 33, str(HEADING_WORDS.get(compass, compass)), 13, DIM)
    drawn.place(scale, HORIZON_X - half, top)
    drawn.area([(HORIZON_X, top + height), (HORIZON_X - 6, top + height - 9), (HORIZON_X + 6, top + height - 9)], MARK)
    drawn.box(HORIZON_X - 27, top, 54, 21, "#000000", MARK)
    drawn.text(HORIZON_X, top + 11, words, 15, INK, "mm", bold=True)
