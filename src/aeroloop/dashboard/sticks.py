"""Stick input from a browser: on-screen sticks, keys or a game pad, as axes like those of any other stick.

Axes are as for game pads: right and down are positive, the left stick is X and Y, the right one RX and RY. So the axis
map that ships with Aeroloop, with its dead zone and expo, applies. One page at a time has the sticks, and without input
for STALE_S they count as released.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from aeroloop.core.errors import ConfigError
from aeroloop.dashboard import from_browser
from aeroloop.ground import axis_map
from aeroloop.ground.axes import AxisEvent, AxisRange
from aeroloop.ground.axis_map import AxisMap
from aeroloop.ground.stick import Deflection, Stick

AXES = ("ABS_X", "ABS_Y", "ABS_RX", "ABS_RY")
FULL = 1000
"""An axis at its end, as an integer like the kernel's."""
STALE_S = 0.6
"""A page in control sends five times a second."""
GONE_S = 3.0
"""After this time without a message the page counts as closed, and the sticks are free."""
MOST_NAME = 60

RANGES: Mapping[str, AxisRange] = dict.fromkeys(AXES, AxisRange(-FULL, FULL))
CENTRED = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Hand:
    """The stick input of a page."""

    device: str
    axes: tuple[float, ...]  # left x, left y, right x, right y: -1 to 1


def hand(told: object) -> Hand | None:
    """The event of a page, `[device, lx, ly, rx, ry]`; None for anything else."""
    if not isinstance(told, list | tuple) or len(told) != 1 + len(AXES):
        return None
    axes = from_browser.numbers(told[1:], *[(-1.0, 1.0)] * len(AXES))
    return Hand(from_browser.words(told[0], MOST_NAME) or "a device", axes) if axes else None


class Hands:
    """The page with the sticks, and their position. Written by the event loop, read by a driver's thread."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self.holder = ""  # name of the page
        self._hand = Hand("", CENTRED)
        self._heard_s = -GONE_S
        self.refused = 0

    def take(self, page: str) -> None:
        """ConfigError while another page has them."""
        if self.holder not in ("", page) and not self.gone:
            raise ConfigError("another page has the sticks; release them there first")
        self.holder, self._hand, self._heard_s = page, Hand("", CENTRED), self._clock_s()

    def release(self, page: str) -> None:
        if self.holder == page:
            self.holder, self._hand = "", Hand("", CENTRED)

    def update(self, page: str, told: object) -> None:
        """Stick input of a page; only the one in control counts."""
        heard = hand(told)
        if heard is None or page != self.holder:
            self.refused += 1
            return
        self._hand, self._heard_s = heard, self._clock_s()

    @property
    def fresh(self) -> bool:
        return bool(self.holder) and self._clock_s() - self._heard_s <= STALE_S

    @property
    def gone(self) -> bool:
        return not self.holder or self._clock_s() - self._heard_s > GONE_S

    @property
    def device(self) -> str:
        return self._hand.device

    @property
    def axes(self) -> tuple[float, ...]:
        return self._hand.axes if self.fresh else CENTRED


class HandAxes:
    """The page's sticks as a source of axis events, instead of a device at this machine."""

    name = "the sticks of the page"
    ranges = RANGES

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._last = [0] * len(AXES)

    def poll(self, now_s: float) -> list[AxisEvent]:
        values = [round(FULL * axis) for axis in self._hands.axes]
        moved = [(i, value) for i, value in enumerate(values) if value != self._last[i]]
        self._last = values
        return [AxisEvent(now_s, AXES[i], value) for i, value in moved]

    def close(self) -> None:
        """No resource to close."""


def mapping(file: str = "") -> AxisMap:
    """Scales and limits of a map, on the axes of browsers, which are numbered equally for every game pad."""
    wanted, usual = axis_map.load(file), axis_map.load()
    channels = {
        name: msgspec.structs.replace(channel, axis=usual.channels()[name].axis, invert=usual.channels()[name].invert)
        for name, channel in wanted.channels().items()
    }
    return AxisMap(**channels, limits=wanted.limits)


class Shaper:
    """Deflection after dead zone and expo, -1 to 1 each way."""

    def __init__(self, hands: Hands) -> None:
        self._axes = HandAxes(hands)
        self._stick = Stick(mapping(), self._axes.ranges, self._axes.name)

    def deflection(self) -> Deflection:
        self._stick.feed(self._axes.poll(0.0))
        return self._stick.deflection
