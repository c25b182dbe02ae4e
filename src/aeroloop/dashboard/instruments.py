"""The pilot's instruments as one picture (SVG): horizon, speed, height, climb and heading.

Pure: numbers in, text out. The background is dark, as in real instruments, on light and dark pages alike. An unknown
number leaves its instrument without a pointer; the others are still drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WIDTH, HEIGHT = 400, 306
SKY, EARTH, PANEL, INK, DIM, MARK, SETPOINT = (
    "#3a86c8",
    "#8a5a34",
    "#12181f",
    "#ffffff",
    "#9fb0bf",
    "#ffd23f",
    "#f59e0b",
)
TAPE_WIDTH = 62
TAPE_PER_STEP = 28.0
"""Pixels between two numbers of a tape."""
HORIZON_X, HORIZON_Y = 200.0, 128.0
HORIZON_HALF_W, HORIZON_HALF_H = 132.0, 122.0
PER_DEG = 4.0
"""Pixels of the pitch ladder per degree."""
ROLL_MARKS_DEG = (-60, -45, -30, -20, -10, 0, 10, 20, 30, 45, 60)
ROLL_RADIUS = 104.0
CLIMB_FULL_M_S = 5.0
HEADING_PER_DEG = 2.4
MOST = 1e6
HEADING_WORDS = {0: "N", 90: "E", 180: "S", 270: "W"}


@dataclass(frozen=True)
class Readings:
    """NaN for unknown values."""

    roll_rad: float = math.nan  # right side down
    nose_up_rad: float = math.nan
    heading_deg: float = math.nan  # 0 north, 90 east
    height_m: float = math.nan
    speed_m_s: float = math.nan  # over the ground
    climb_m_s: float = math.nan
    setpoint_height_m: float = math.nan


def panel(now: Readings) -> str:
    """All of them side by side; each group has its test ID."""
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="xMidYMid meet"'
    words = "Horizon, speed, height, climb and heading of the aircraft"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{words}" '
        'style="width:100%;height:auto;display:block;border-radius:8px" '
        'font-family="ui-sans-serif,system-ui,sans-serif" font-variant-numeric="tabular-nums">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PANEL}"/>'
        + horizon(now.roll_rad, now.nose_up_rad)
        + tape("speed", now.speed_m_s, "m/s", x=2.0, step=2.0, places=1, floor=0.0)
        + tape(
            "altitude",
            now.height_m,
            "m",
            x=WIDTH - TAPE_WIDTH - 2.0,
            step=2.0,
            places=1,
            setpoint=now.setpoint_height_m,
        )
        + climb(now.climb_m_s)
        + heading(now.heading_deg)
        + "</svg>"
    )


def horizon(roll_rad: float, nose_up_rad: float) -> str:
    """The horizon relative to the aircraft: rotated by the roll, shifted by the pitch."""
    left, top = HORIZON_X - HORIZON_HALF_W, HORIZON_Y - HORIZON_HALF_H
    size = f'width="{_n(2 * HORIZON_HALF_W)}" height="{_n(2 * HORIZON_HALF_H)}"'
    clip = f'<rect x="{_n(left)}" y="{_n(top)}" {size} rx="8"/>'
    known = _known(roll_rad) and _known(nose_up_rad)
    inside = _world(math.degrees(roll_rad), math.degrees(nose_up_rad)) if known else _unknown(HORIZON_X, HORIZON_Y)
    return (
        f'<g data-testid="horizon"><clipPath id="al-horizon">{clip}</clipPath>'
        f'<g clip-path="url(#al-horizon)">{inside}</g>{_aircraft()}</g>'
    )


def _world(roll_deg: float, nose_up_deg: float) -> str:
    drop = nose_up_deg * PER_DEG
    ladder = []
    lowest = 10 * math.floor((nose_up_deg - 20) / 10)
    for degrees in range(lowest, lowest + 60, 5):
        if degrees == 0 or abs(degrees) > 90 or abs(degrees - nose_up_deg) > 20:
            continue
        y, half = -degrees * PER_DEG, 34 if degrees % 10 == 0 else 16
        ladder.append(f'<path d="M{-half} {_n(y)}H{half}"/>')
        if degrees % 10 == 0:
            for side, anchor in ((-40, "end"), (40, "start")):
                ladder.append(
                    f'<text x="{side}" y="{_n(y + 4)}" text-anchor="{anchor}" stroke="none">{abs(degrees)}</text>'
                )
    marks = "".join(
        f'<path d="M0 {-ROLL_RADIUS:g}v{-11 if degrees % 30 == 0 else -6}" transform="rotate({degrees})"/>'
        for degrees in ROLL_MARKS_DEG
    )
    return (
        f'<g transform="translate({HORIZON_X:g} {HORIZON_Y:g}) rotate({_n(-roll_deg)})">'
        f'<g transform="translate(0 {_n(drop)})" stroke="{INK}" fill="{INK}" font-size="12" stroke-width="1.6">'
        f'<rect x="-400" y="-900" width="800" height="900" fill="{SKY}" stroke="none"/>'
        f'<rect x="-400" y="0" width="800" height="900" fill="{EARTH}" stroke="none"/>'
        f'<path d="M-400 0H400" stroke-width="2"/>{"".join(ladder)}</g>'
        f'<g stroke="{INK}" stroke-width="1.8">{marks}</g></g>'
    )


def _aircraft() -> str:
    """The fixed marks: wings, nose, and the pointer on the roll scale."""
    x, y = HORIZON_X, HORIZON_Y
    wings = f"M{x - 62:g} {y:g}h34l8 9M{x + 62:g} {y:g}h-34l-8 9"
    pointer = f"M{x:g} {y - ROLL_RADIUS + 2:g}l-7 12h14z"
    return (
        f'<path d="{wings}" fill="none" stroke="#000" stroke-width="6" stroke-linejoin="round"/>'
        f'<path d="{wings}" fill="none" stroke="{MARK}" stroke-width="3.5" stroke-linejoin="round"/>'
        f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{MARK}" stroke="#000"/>'
        f'<path d="{pointer}" fill="{MARK}" stroke="#000" stroke-width=".8"/>'
    )


def tape(
    testid: str,
    value: float,
    unit: str,
    *,
    x: float,
    step: float,
    places: int,
    floor: float = -math.inf,
    setpoint: float = math.nan,
) -> str:
    """A moving scale with the value in a window; `setpoint` is marked beside it."""
    top, half = HORIZON_Y - HORIZON_HALF_H, HORIZON_HALF_H
    frame = f'x="{_n(x)}" y="{_n(top)}" width="{TAPE_WIDTH}" height="{_n(2 * half)}"'
    inside = ""
    words = "–"
    if _known(value):
        words = f"{value:.{places}f}"
        words = words.removeprefix("-") if float(words) == 0 else words
        per_unit = TAPE_PER_STEP / step
        first = math.ceil((value - half / per_unit) / step)
        last = math.floor((value + half / per_unit) / step)
        for number in range(first, last + 1):
            if number * step < floor:
                continue
            y = HORIZON_Y - (number * step - value) * per_unit
            inside += (
                f'<path d="M{_n(x + TAPE_WIDTH - 9)} {_n(y)}h9" stroke="{DIM}"/>'
                f'<text x="{_n(x + TAPE_WIDTH - 13)}" y="{_n(y + 4)}" text-anchor="end">{number * step:g}</text>'
            )
        if _known(setpoint):
            y = HORIZON_Y - max(-half + 6, min(half - 6, (setpoint - value) * per_unit))
            inside += f'<path d="M{_n(x)} {_n(y - 7)}h8l-6 7l6 7h-8z" fill="{SETPOINT}"/>'
    return (
        f'<g data-testid="{testid}" data-value="{words}"><clipPath id="al-{testid}"><rect {frame} rx="6"/></clipPath>'
        f'<rect {frame} rx="6" fill="#222c36"/>'
        f'<g clip-path="url(#al-{testid})" fill="{DIM}" font-size="12">{inside}</g>'
        f'<rect x="{_n(x)}" y="{_n(HORIZON_Y - 15)}" width="{TAPE_WIDTH}" height="30" rx="5" fill="#000" '
        f'stroke="{MARK}"/>'
        f'<text x="{_n(x + TAPE_WIDTH / 2)}" y="{_n(HORIZON_Y + 6)}" text-anchor="middle" font-size="17" '
        f'font-weight="600" fill="{INK}">{words}</text>'
        f'<text x="{_n(x + 5)}" y="{_n(top + 14)}" font-size="11" fill="{INK}">{unit}</text></g>'
    )


def climb(climb_m_s: float) -> str:
    """A bar between horizon and height, up or down from the middle."""
    x, half = WIDTH - TAPE_WIDTH - 12.0, 100.0
    bar = words = ""
    if _known(climb_m_s):
        length = half * max(-1.0, min(1.0, climb_m_s / CLIMB_FULL_M_S))
        top = HORIZON_Y - max(0.0, length)
        bar = f'<rect x="{_n(x)}" y="{_n(top)}" width="7" height="{_n(abs(length))}" rx="2" fill="{MARK}"/>'
        words = f"{climb_m_s:+.1f}"
    return (
        f'<g data-testid="climb" data-value="{words}">'
        f'<rect x="{_n(x)}" y="{_n(HORIZON_Y - half)}" width="7" height="{_n(2 * half)}" rx="2" fill="#0006"/>{bar}'
        f'<path d="M{_n(x - 2)} {_n(HORIZON_Y)}h11" stroke="{INK}"/></g>'
    )


def heading(heading_deg: float) -> str:
    """A compass tape at the bottom; the middle is the heading."""
    top, height, half = 256.0, 46.0, HORIZON_HALF_W
    left = HORIZON_X - half
    frame = f'x="{_n(left)}" y="{_n(top)}" width="{_n(2 * half)}" height="{_n(height)}"'
    inside, words = "", "–"
    if _known(heading_deg):
        words = f"{round(heading_deg) % 360:03d}°"
        reach = half / HEADING_PER_DEG
        for mark in range(10 * math.ceil((heading_deg - reach) / 10), math.floor(heading_deg + reach) + 1, 10):
            x, compass = HORIZON_X + (mark - heading_deg) * HEADING_PER_DEG, mark % 360
            inside += f'<path d="M{_n(x)} {_n(top + height)}v{-9 if mark % 30 == 0 else -5}" stroke="{DIM}"/>'
            if mark % 30 == 0:
                inside += (
                    f'<text x="{_n(x)}" y="{_n(top + 33)}" text-anchor="middle">'
                    f"{HEADING_WORDS.get(compass, compass)}</text>"
                )
    return (
        f'<g data-testid="heading" data-value="{words}">'
        f'<clipPath id="al-heading"><rect {frame} rx="6"/></clipPath><rect {frame} rx="6" fill="#222c36"/>'
        f'<g clip-path="url(#al-heading)" fill="{DIM}" font-size="13">{inside}</g>'
        f'<path d="M{HORIZON_X:g} {_n(top + height)}l-6 -9h12z" fill="{MARK}"/>'
        f'<rect x="{HORIZON_X - 27:g}" y="{_n(top)}" width="54" height="21" rx="5" fill="#000" stroke="{MARK}"/>'
        f'<text x="{HORIZON_X:g}" y="{_n(top + 16)}" text-anchor="middle" font-size="15" font-weight="600" '
        f'fill="{INK}">{words}</text></g>'
    )


def _known(value: float) -> bool:
    """Not NaN, and not so large that the marks around it could not be distinguished."""
    return abs(value) < MOST


def _unknown(x: float, y: float) -> str:
    return f'<text x="{x:g}" y="{y - 30:g}" text-anchor="middle" font-size="15" fill="{DIM}">no attitude</text>'


def _n(value: float) -> str:
    """Short, and equal for equal figures."""
    return f"{round(value, 1) + 0.0:g}"
