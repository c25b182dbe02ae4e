"""Templates, made offline: smooth curves through short channels of square cells, with a proof that they stay inside.

In units of a cell. The curve is a clamped B-spline (spline.py); a quadratic programme finds its control points:

    minimise  integral |b'''|^2 + mu integral |b'|^2
    with      both ends given by position, heading and curvature zero (the three outer control points on one line),
              each span of the three times refined curve inside one rectangle: two consecutive cells, less a margin.

A span lies in the hull of its five control points, and those are linear in the unknowns: what satisfies the programme
satisfies the channel everywhere, not only where it was looked at. Which span belongs to which rectangle is a choice
that the programme cannot make: it is solved for neighbouring choices as long as the cost falls.

Curvature is not linear. `flattened` repeats the programme with the curvature linearised about the last solution,
|n.b''| <= t |b'|^2 at points along the curve, and t^2 in the cost: the peak falls and the ramps get steeper. What came
out is then bounded exactly (spline.curvature_bound).

    python -m tools.template_optimiser      writes the library's file anew
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import msgspec
import numpy as np

from aeroloop.planning.spline import DEGREE, Array, basis, curvature_bound, energy, refinement, sampled
from aeroloop.planning.templates import LIBRARY, LONGEST_STEP, Shape

EVENNESS = 0.01
"""mu: without it a straight curve would be degenerate; more of it pulls the curve taut."""
PLACES = 121
"""Points at which the linearised curvature is bounded."""
ROUNDS = 60
SETTLED = 1e-7
TOLERANCE = 1e-4
Owners = tuple[int, ...]
"""For each span of the refined curve, the rectangle that it lies in."""
MOVES = (-3, -2, -1, 1, 2, 3)


@dataclass(frozen=True)
class End:
    x: float
    y: float
    heading_deg: float

    @property
    def tangent(self) -> Array:
        return np.array([math.cos(math.radians(self.heading_deg)), math.sin(math.radians(self.heading_deg))])


@dataclass(frozen=True)
class Problem:
    """A channel of unit cells, given by their centres, and the ends of a curve through it."""

    cells: tuple[tuple[float, float], ...]
    begin: End
    end: End
    margin: float = 0.0
    count: int = 10
    refined: int = 3

    @property
    def spans(self) -> int:
        return (self.count - DEGREE) * self.refined

    def rectangles(self, margin: float) -> list[tuple[float, float, float, float]]:
        """Left, right, bottom and top of each two consecutive cells, less a margin."""
        half = 0.5 - margin
        return [
            (min(ax, bx) - half, max(ax, bx) + half, min(ay, by) - half, max(ay, by) + half)
            for (ax, ay), (bx, by) in zip(self.cells[:-1], self.cells[1:], strict=True)
        ]


class InfeasibleError(Exception):
    """No curve with so many control points lies in the channel."""


class _Programme:
    """The constraints of one problem, with a rectangle chosen for each span, and its solution for a cost."""

    def __init__(self, problem: Problem, owners: Owners) -> None:
        self._problem = problem
        self._rows: list[Array] = []
        self._low: list[float] = []
        self._high: list[float] = []
        for end, order, sign in ((problem.begin, (0, 1, 2), 1.0), (problem.end, (-1, -2, -3), -1.0)):
            self._fix_end(end, order, sign)
        boxes = problem.rectangles(problem.margin)
        for point, weights in enumerate(refinement(problem.count, problem.refined)):
            if point in (0, problem.spans + DEGREE - 1):
                continue  # an end, which is given
            # Of all spans that this control point belongs to.
            inside = [boxes[box] for box in set(owners[max(0, point - DEGREE) : point + 1])]
            for axis in (0, 1):
                row = np.zeros((problem.count, 2))
                row[:, axis] = weights
                self._add(row, max(box[2 * axis] for box in inside), min(box[2 * axis + 1] for box in inside))

    def _add(self, row: Array, low: float, high: float) -> None:
        self._rows.append(row.ravel())
        self._low.append(low)
        self._high.append(high)

    def _fix_end(self, end: End, order: tuple[int, int, int], sign: float) -> None:
        tangent = end.tangent
        normal = np.array([-tangent[1], tangent[0]])
        place = np.array([end.x, end.y])
        for index in order:
            across, along = np.zeros((2, self._problem.count, 2))
            across[index], along[index] = normal, sign * tangent
            self._add(across, float(normal @ place), float(normal @ place))
            least = float(sign * tangent @ place)
            self._add(along, *((least, least) if index == order[0] else (least + 1e-3, math.inf)))

    def solve(self, cost: Array, bounds: Array | None = None, peak_weight: float = 1.0) -> Array:
        """The control points. Rows of `bounds`, each on the control points and on t, stay below 0; t^2 is weighed."""
        problem, size = self._problem, 2 * self._problem.count
        H = np.zeros((size + 1, size + 1))
        H[:size, :size] = 2.0 * np.kron(cost, np.eye(2))
        H[size, size] = 2.0 * peak_weight
        rows = np.hstack([self._rows, np.zeros((len(self._rows), 1))])
        low, high = np.array(self._low), np.array(self._high)
        if bounds is not None:
            rows = np.vstack([rows, bounds])
            low = np.concatenate([low, np.full(len(bounds), -math.inf)])
            high = np.concatenate([high, np.zeros(len(bounds))])
        h, a = ca.DM(H), ca.DM(rows)
        solver = ca.conic("template", "proxqp", {"h": h.sparsity(), "a": a.sparsity()}, {"error_on_fail": False})
        found = (low <= high).all() and solver(h=h, g=np.zeros(size + 1), a=a, lba=low, uba=high)
        x = np.array(found["x"]).ravel() if found and solver.stats()["success"] else np.full(size + 1, math.nan)
        # What the solver calls a success may be the nearest thing to one.
        if not max((rows @ x - high).max(), (low - rows @ x).max()) < TOLERANCE:
            raise InfeasibleError(f"no curve with {problem.count} control points lies in the channel {problem.cells}")
        return self._exact_ends(x[:size].reshape(-1, 2))

    def _exact_ends(self, control: Array) -> Array:
        """The ends to the last digit: neighbouring templates must meet there."""
        for end, order in ((self._problem.begin, (0, 1, 2)), (self._problem.end, (-1, -2, -3))):
            place = np.array([end.x, end.y])
            control[order[0]] = place
            for index in order[1:]:
                control[index] = place + ((control[index] - place) @ end.tangent) * end.tangent
        return control


def _cost(problem: Problem, evenness: float) -> Array:
    return energy(problem.count, 3) + evenness * energy(problem.count, 1)


def smooth(problem: Problem, evenness: float = EVENNESS) -> tuple[Array, Owners]:
    """The control points of the programme's solution, and the rectangle of each span."""
    cost, spans, boxes = _cost(problem, evenness), problem.spans, len(problem.cells) - 1
    tried: dict[tuple[int, ...], tuple[float, Array]] = {}

    def owners(firsts: tuple[int, ...]) -> Owners:
        return tuple(sum(span >= first for first in firsts) for span in range(spans))

    def solved(firsts: tuple[int, ...]) -> float:
        if firsts not in tried:
            try:
                control = _Programme(problem, owners(firsts)).solve(cost)
                tried[firsts] = (float(np.einsum("ik,ij,jk->", control, cost, control)), control)
            except InfeasibleError:
                tried[firsts] = (math.inf, np.zeros((0, 2)))
        return tried[firsts][0]

    def neighbours(firsts: tuple[int, ...]) -> list[tuple[int, ...]]:
        moved = [
            (*firsts[:index], firsts[index] + move, *firsts[index + 1 :])
            for index in range(len(firsts))
            for move in MOVES
        ]
        return [each for each in moved if all(a <= b for a, b in zip((0, *each), (*each, spans), strict=True))]

    best = tuple(spans * box // boxes for box in range(1, boxes))
    while (then := min((best, *neighbours(best)), key=solved)) != best and solved(then) < solved(best) * (1 - 1e-9):
        best = then
    if not math.isfinite(solved(best)):
        raise InfeasibleError(f"no curve with {problem.count} control points lies in the channel {problem.cells}")
    return tried[best][1], owners(best)


def flattened(problem: Problem, evenness: float, peak_weight: float) -> tuple[Array, Owners]:
    """A curve with a lower peak of curvature than that of `smooth`, and the rectangle of each span."""
    cost = _cost(problem, evenness)
    control, owners = smooth(problem, evenness)
    programme = _Programme(problem, owners)
    u = np.linspace(0.0, 1.0, PLACES)
    first, second = basis(problem.count, 1)(u), basis(problem.count, 2)(u)
    for _ in range(ROUNDS if peak_weight else 0):
        velocity = first @ control
        squared = (velocity**2).sum(axis=1, keepdims=True)
        normal = np.stack([-velocity[:, 1], velocity[:, 0]], axis=1) / np.sqrt(squared)
        rows = (second[:, :, None] * normal[:, None, :]).reshape(PLACES, -1)
        found = programme.solve(cost, np.vstack([np.hstack([s * rows, -squared]) for s in (1.0, -1.0)]), peak_weight)
        moved = float(np.abs(found - control).max())
        control = 0.5 * (control + found)  # between two that satisfy the channel; whole steps may swing
        if moved < SETTLED:
            break
    return control, owners


def proven_margin(problem: Problem, control: Array, owners: Owners) -> float:
    """How far from the channel's edge the whole curve is at least: as far as its spans' hulls in their rectangles."""
    fine = refinement(problem.count, problem.refined) @ control
    boxes = problem.rectangles(0.0)
    least = math.inf
    for span, box in enumerate(owners):
        left, right, bottom, top = boxes[box]
        x, y = fine[span : span + DEGREE + 1].T
        least = min(least, float(x.min()) - left, right - float(x.max()), float(y.min()) - bottom, top - float(y.max()))
    return least


MARGIN = 0.18
"""27 of 150 m: what following the path may err by, and turbulence may push."""
COUNT = 12


def _problem(cells: tuple[tuple[float, float], ...], begin: End, end: End) -> Problem:
    return Problem(cells, begin, end, MARGIN, COUNT)


WANTED: dict[str, tuple[Problem, float, float]] = {
    "N-S-N": (_problem(((0, 0), (1, 0)), End(0, 0, 0), End(1, 0, 0)), 1.0, 0.0),
    "N-L-N": (_problem(((0, 0), (1, 0), (1, 1)), End(0, 0, 0), End(1, 1, 90)), 50.0, 100.0),
    "N-L-D": (_problem(((0, 0), (1, 0), (1, 1)), End(0, 0, 0), End(1, 0.5, 45)), 1.0, 0.0),
    "D-L-N": (_problem(((-0.5, 0), (0.5, 0), (0.5, 1)), End(0, 0, 45), End(0.5, 1, 90)), 1.0, 0.0),
    "D-L-D": (_problem(((-0.5, 0), (0.5, 0), (0.5, 1)), End(0, 0, 45), End(0.5, 0.5, 45)), 1.0, 0.0),
}
"""By name: the problem, mu, and the weight of the peak. All come in eastwards and turn left; the rest is mirrored and
turned. Each lies where its first node is the origin."""


def template(name: str) -> Shape:
    """A template as the library's file holds it: the curve, and the numbers of its proof."""
    problem, evenness, peak_weight = WANTED[name]
    control, owners = flattened(problem, evenness, peak_weight)
    control = np.round(control, 12) + 0.0
    samples = sampled(control, LONGEST_STEP)
    return Shape(
        length=round(samples.length, 9),
        margin=math.floor(proven_margin(problem, control, owners) * 1e6) / 1e6,
        kappa_peak=round(float(np.abs(samples.kappa).max()), 6),
        kappa_bound=math.ceil(curvature_bound(control) * 1e6) / 1e6,
        rectangles=owners,
        control=tuple((float(x), float(y)) for x, y in control),
    )


HEADER = """\
# Path templates in units of a cell, made by `python -m tools.template_optimiser`.
#
# margin: no point of the curve is nearer to the channel's edge, proven by the hulls of the refined spans, span i of
# which lies in the rectangle (two consecutive cells) that `rectangles` names. kappa_bound: proven, too.

"""


def written(name: str, shape: Shape) -> str:
    values = msgspec.structs.asdict(shape)
    control = "".join(f"    [{x!r}, {y!r}],\n" for x, y in values.pop("control"))
    lines = "".join(f"{key} = {list(value) if key == 'rectangles' else value}\n" for key, value in values.items())
    return f"[{name}]\n{lines}control = [\n{control}]\n"


def main() -> None:
    tables = "\n".join(written(name, template(name)) for name in WANTED)
    LIBRARY.write_text(HEADER + tables, encoding="utf-8")


if __name__ == "__main__":
    main()
