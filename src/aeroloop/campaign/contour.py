"""The line between nodes of a grid that pass and those that fail: a grid refined where they are neighbours, then
marching squares. W. E. Lorensen, H. E. Cline, SIGGRAPH (1987), in two dimensions.

A cell is halved along both axes as long as nodes on its border differ, so what is asked are the nodes of the coarse
grid and those around the line. A line or an island that lies between the nodes of the coarse grid is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

Node = tuple[int, int]  # on the finest grid
Edge = tuple[Node, Node]  # between neighbours that differ: passes, fails
Boundary = list[Edge]
Asked = Callable[[Sequence[Node]], Mapping[Node, bool]]
"""Whether each node passes."""


def refined(cells: Node, levels: int, asked: Asked) -> dict[Node, bool]:
    """The nodes that were asked. `cells`: of the coarse grid along both axes; each is halved at most `levels` times."""
    size = 1 << levels
    coarse = [(size * i, size * j) for i in range(cells[0] + 1) for j in range(cells[1] + 1)]
    known = dict(asked(coarse))
    leaves = {(size * i, size * j): size for i in range(cells[0]) for j in range(cells[1])}
    while mixed := [corner for corner, size in leaves.items() if size > 1 and _differ(known, corner, size)]:
        wanted: dict[Node, None] = {}
        for i, j in mixed:
            half = leaves[i, j] // 2
            wanted |= dict.fromkeys((i + half * a, j + half * b) for a in range(3) for b in range(3))
            leaves |= dict.fromkeys(((i + half * a, j + half * b) for a in range(2) for b in range(2)), half)
        known |= asked([node for node in wanted if node not in known])
    return known


def _differ(known: Mapping[Node, bool], corner: Node, size: int) -> bool:
    """Whether known nodes on the border of a cell do. Its neighbours may be finer."""
    i, j = corner
    steps = range(size + 1)
    border = [*((i + n, j + m) for n in steps for m in (0, size)), *((i + m, j + n) for n in steps for m in (0, size))]
    return len({known[node] for node in border if node in known}) > 1


def lines(known: Mapping[Node, bool]) -> list[Boundary]:
    """Chains of the edges that the boundary crosses; one that is closed ends with its first edge. Where two passing
    corners of a cell are opposite each other, they are taken as apart."""
    neighbours: dict[Edge, list[Edge]] = {}
    for one, other in sorted(_segments(known)):
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    found = []
    for first in sorted(neighbours, key=lambda edge: (len(neighbours[edge]), edge)):  # open lines from their ends
        if not neighbours[first]:
            continue
        line = [first]
        while ways := neighbours[line[-1]]:
            following = ways.pop()
            neighbours[following].remove(line[-1])
            line.append(following)
        found.append(line)
    return found


def _segments(known: Mapping[Node, bool]) -> Iterator[tuple[Edge, Edge]]:
    """Pairs of crossed edges of each cell of the finest grid."""
    for i, j in known:
        corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        if not all(corner in known for corner in corners):
            continue
        sides = [_edge(known, corners[n], corners[(n + 1) % 4]) for n in range(4)]
        crossed = [side for side in sides if side is not None]
        if len(crossed) == 2:
            yield crossed[0], crossed[1]
        elif len(crossed) == 4:
            for n, corner in enumerate(corners):
                if known[corner]:
                    yield crossed[n - 1], crossed[n]


def _edge(known: Mapping[Node, bool], one: Node, other: Node) -> Edge | None:
    if known[one] == known[other]:
        return None
    return (one, other) if known[one] else (other, one)
