"""The section of a campaign's report that names the parameters which separate failed flights from passed ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aeroloop.analysis.section import Block, Column, Note, Table, Text
from aeroloop.campaign.judgement import Judged, percent
from aeroloop.campaign.regression_tree import Column as Values
from aeroloop.campaign.regression_tree import Side, Tree, tree

LIKELY = 0.05
MOST_FLIGHTS = 5000
"""Of a tree; more are taken evenly spread, since its permutations cost too much."""


def failure_tree(judged: Judged) -> Tree | None:
    columns: dict[str, Values] = {}
    every = max(1, math.ceil(len(judged.flown) / MOST_FLIGHTS))
    for key in judged.varied:
        if judged.texts(key):
            columns[key] = [str(row.values.get(key)) for row in judged.flown][::every]
        else:
            columns[key] = judged.column(key)[::every]
    return tree(columns, ~judged.passed[::every])


def tree_blocks(judged: Judged) -> Iterator[Block]:
    grown = failure_tree(judged)
    if grown is None or grown.root.split is None:
        return
    yield Text(words_of(grown))
    columns = [Column("flights with", "name"), Column("flights"), Column("failed"), Column("rate")]
    yield Table(columns, list(_rows(grown.root)))
    yield Note(
        f"A regression tree of the failures, {percent(grown.root.split.gain)} of whose sum of squares the first split "
        "explains. Chance: share of 199 permutations of the failures whose best first split was as good."
    )


def words_of(grown: Tree) -> str:
    assert grown.root.split is not None
    sides = sorted(grown.root.split.sides, key=lambda side: -side.rate)
    told = " against ".join(f"{side.failed} of {side.flights} failed where {side.words}" for side in sides)
    chance = f"by chance a split is as good with probability {grown.chance:.3g}"
    if grown.chance > LIKELY:
        return f"No parameter separates failed flights clearly. Best split: {told}; {chance}."
    return f"Best split of failed and passed flights: {told}; {chance}."


def _rows(side: Side, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str, str]]:
    """Sides with their conditions, the worse first."""
    if side.split is None:
        return
    for own in sorted(side.split.sides, key=lambda each: -each.rate):
        conditions = (*path, own.words)
        yield " and ".join(conditions), str(own.flights), str(own.failed), percent(own.rate)
        yield from _rows(own, conditions)
