"""Block diagrams of the synchronisation law: the control scheme, and the network of one axis. Parts that the law of the
run does not have are grey and dashed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from aeroloop.analysis.drawing import BLUE, GREEN, GREY, ORANGE, RED, WIDTH_IN, Picture, picture
from aeroloop.control.synchronisation import WEIGHT_MAX
from aeroloop.control.synchronisation_gains import Gains

INK, ABSENT = "#333333", "#b5b5b5"
PALE = {BLUE: "#e3eff6", ORANGE: "#fbe9dd", GREEN: "#e0f2ec", GREY: "#f0f0f0", RED: "#f7e3e0"}


@dataclass(frozen=True)
class Plant:
    """Words of a plant."""

    axes: str  # "3 joints"
    reference: str
    command: str
    plant: str  # of several lines
    disturbed_by: str
    sensor: str


class _Drawing:
    """Boxes and arrows on a plane of 100 by `high`."""

    def __init__(self, high: float) -> None:
        self.figure = Figure(figsize=(WIDTH_IN, WIDTH_IN * high / 100))
        self.axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.set(xlim=(0, 100), ylim=(0, high))
        self.axes.set_axis_off()

    def box(self, x: float, y: float, w: float, h: float, text: str, color: str, *, there: bool = True) -> None:
        """About its middle."""
        style: dict[str, Any] = (
            {"edgecolor": color, "facecolor": PALE[color]} if there else {"edgecolor": ABSENT, "facecolor": "white"}
        )
        outline = FancyBboxPatch(
            (x - w / 2, y - h / 2),
            w,
            h,
            boxstyle="round,pad=0,rounding_size=1.2",
            linewidth=1.1,
            linestyle="-" if there else "--",
            **style,
        )
        self.axes.add_patch(outline)
        self.text(x, y, text, color=INK if there else ABSENT)

    def ring(self, x: float, y: float, text: str = "+", *, there: bool = True) -> None:
        self.axes.add_patch(
            Circle((x, y), 2.0, edgecolor=INK if there else ABSENT, facecolor="white", linewidth=1.0, zorder=3)
        )
        self.text(x, y, text, size=8.0, color=INK if there else ABSENT)

    def text(self, x: float, y: float, text: str, *, size: float = 7.5, color: str = INK, **how: Any) -> None:
        centre = {"ha": "center", "va": "center"}
        self.axes.text(x, y, text, fontsize=size, color=color, zorder=4, linespacing=1.25, **{**centre, **how})

    def arrow(self, *points: tuple[float, float], there: bool = True, head: bool = True, color: str = INK) -> None:
        """Along these points, with a head at the last."""
        color, style = (color, "-") if there else (ABSENT, "--")
        xs, ys = zip(*points, strict=True)
        self.axes.plot(xs[:-1], ys[:-1], color=color, linewidth=1.0, linestyle=style, solid_capstyle="butt", zorder=2)
        how = {"arrowstyle": "-|>" if head else "-", "color": color, "linewidth": 1.0, "linestyle": style}
        how |= {"shrinkA": 0.0, "shrinkB": 0.0, "mutation_scale": 8.0}
        self.axes.annotate("", points[-1], points[-2], arrowprops=how, zorder=2)


def scheme(plant: Plant, law: str, gains: Gains) -> Picture:
    has = {"network": gains.gs > 0.0, "coupling": gains.beta > 0.0, "sliding": gains.k > 0.0}
    lacks = [word for word, there in (("coupling", has["coupling"]), ("networks", has["network"])) if not there]
    grey = f" This law has no {' and no '.join(lacks)} (grey)." if lacks else ""
    caption = f"The law {law} of the {plant.axes} and its plant; S takes the mean of all axes out.{grey}"
    return picture("scheme", "Control scheme", caption, lambda: _scheme(plant, gains, has))


def _scheme(plant: Plant, gains: Gains, has: dict[str, bool]) -> Figure:
    d = _Drawing(66)
    top, low, back = 42.0, 17.0, 5.0
    d.text(1, top + 10.5, plant.reference, ha="left", va="bottom")
    d.arrow((1, top), (6.5, top))
    d.ring(8.5, top, "−")
    d.text(12.6, top + 2.6, "e", size=8.5)
    d.arrow((10.5, top), (15.5, top))
    push = "k sat(s/Φ)" if has["sliding"] else "q s"
    d.box(
        25.5,
        top,
        20,
        19,
        "errors of each axis\nρ(e, e′, ∫e)\n\ns = (I + βS) ρ"
        if has["coupling"]
        else "errors of each axis\nρ(e, e′, ∫e)\n\ns = ρ",
        BLUE,
    )
    d.arrow((35.5, top), (40, top))
    d.text(37.7, top + 2.6, "s", size=8.5)
    name = "sliding mode" if has["sliding"] else "PID"
    d.box(50, top, 20, 19, f"{name}\nof each axis\n\nbase + {push}", BLUE)
    d.arrow((60, top), (64.5, top))
    d.ring(66.5, top)
    d.arrow((68.5, top), (75, top))
    d.text(71.7, top + 2.6, "u", size=8.5)
    d.box(85, top, 20, 19, plant.plant, GREY)
    d.text(74.0, top - 2.0, plant.command, size=6.5, color="#555555", va="top", ha="right")
    d.arrow((85, 60.5), (85, top + 9.5), color=RED)
    d.text(85, 61, plant.disturbed_by, color=RED, size=7.0, va="bottom")
    net = has["network"]
    d.arrow((25.5, top - 9.5), (25.5, low), (30.5, low), there=net)
    d.text(22.6, (top - 9.5 + low) / 2 + 1, "ρ", size=8.5, color=INK if net else ABSENT)
    d.box(34.5, low, 8, 8, "S", ORANGE, there=net)
    d.arrow((38.5, low), (41.5, low), there=net)
    d.box(49, low, 15, 15, "PIDNNC\nof each axis\nw ≥ 0", ORANGE, there=net)
    d.arrow((56.5, low), (59, low), there=net)
    d.box(62.5, low, 7, 8, "S", ORANGE, there=net)
    d.arrow((66, low), (66.5, low), (66.5, top - 2), there=net)
    d.text(69.3, (low + top) / 2 - 3, "ν", size=8.5, color=INK if net else ABSENT)
    d.arrow((95, top), (98.5, top), (98.5, back), (8.5, back), (8.5, top - 2))
    d.text(53.5, back + 1.2, f"y, {plant.sensor}", va="bottom", size=7.2)
    return d.figure


def network(axis: str, gains: Gains) -> Picture | None:
    """None for a law without networks."""
    if not gains.gs:
        return None
    caption = (
        f"PIDNNC of one {axis}. Neurons P, I and D are limited to ±1. Weights start at w0, learn with rate η from the "
        f"neurons' outputs one sample ago, leak back with γ, and stay in their range."
    )
    return picture("network", "Network (PIDNNC)", caption, lambda: _network(gains))


def _network(gains: Gains) -> Figure:
    d = _Drawing(63)
    middle = 36.0
    rows = (middle + 17.5, middle, middle - 17.5)
    d.text(1, middle + 3.0, "(S ρ)ᵢ", ha="left", va="bottom", size=8.5)
    d.arrow((1, middle), (10, middle))
    d.box(17.5, middle, 15, 13, f"÷ sₙ = {gains.sn:g}\nlimited\nto ±1", GREY)
    inner = (
        "P:  x₁ = ẽ",
        f"I:  x₂ += (Tₛ/Tᵢ) ẽ\nTᵢ = {gains.ti:g} s",
        f"D:  x₃ = Td ẽ′, 40 Hz\nTd = {gains.td:g} s",
    )
    weights = (gains.w0_p, gains.w0_i, gains.w0_d)
    d.text(28.2, middle + 1.6, "ẽ", size=8.5, va="bottom")
    for y, text, name, start, most in zip(rows, inner, "PID", weights, WEIGHT_MAX, strict=True):
        d.arrow((25, middle), (30, middle), (30, y), (34, y)) if y != middle else d.arrow((25, y), (34, y))
        d.box(46, y, 24, 12, text, ORANGE)
        d.arrow((58, y), (73.5, middle + 0.09 * (y - middle)))
        d.text(63.5, y - 0.3 * (y - middle) + (3.0 if y >= middle else -3.0), f"w {name}", size=8.5, color=GREEN)
        d.text(46, y - 8.0, f"w {name}: {start:g} at first, 0 to {most:g}", size=6.8, color=GREEN)
    d.ring(75.5, middle, "Σ")
    d.arrow((77.5, middle), (81.5, middle))
    d.box(88.0, middle, 13, 12, f"× Gₛ sₙ\nGₛ = {gains.gs:g}", GREY)
    d.arrow((94.5, middle), (99.5, middle))
    d.text(97, middle + 1.8, "νᵢ", size=8.5, va="bottom")
    d.text(99.5, middle - 8.0, "then S:\nzero sum", size=6.8, va="top", ha="right", color="#555555")
    d.text(
        50,
        1.5,
        f"w′ = η ẽ x⁻ / (0.05 + |x⁻|²) − γ (w − w0),   η = {gains.eta:g}, γ = {gains.gam:g} 1/s,   "
        f"|ẽ| > {gains.dz:g}, not saturated",
        size=6.8,
        va="bottom",
        color=GREEN,
    )
    return d.figure
