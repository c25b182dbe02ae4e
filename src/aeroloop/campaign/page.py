"""The report of a campaign: tables, bars, checks, and where the law is not better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis import page
from aeroloop.analysis.drawing import WIDTH_IN, Picture, colors, legend_above, picture
from aeroloop.analysis.page import Document
from aeroloop.analysis.section import Block, Column, Facts, Figures, Note, Section, Table, Text, check_grade
from aeroloop.campaign import tables
from aeroloop.campaign.plant import FULL, LAWS
from aeroloop.campaign.plants import PLANTS
from aeroloop.campaign.results import Check, Results
from aeroloop.campaign.statements import Statement
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK

_SHOWN = ("pid", "smc", "smc-sync", FULL, "pid-equal", "pid-high", "esc")
_ORDER = (*_SHOWN, *(law for law in LAWS if law not in _SHOWN))
COLOR = dict(zip(_ORDER, colors(len(_ORDER)), strict=False))
"""The same in both pictures."""
IDEAL = (
    "Ideal loop: the numbers of a simulation of law and plant alone, without sensors, link and estimator, for which "
    "the limits were set."
)


def render(results: Results, checks: Sequence[Check], found: Sequence[Statement]) -> str:
    every = tables.all_checks(checks, found)
    failed = [check for check in every if not check.ok]
    style, word = page.verdict(EXIT_CHECK_FAILED if failed else EXIT_OK)
    flights = f"{len(results.numbers)} flights, seed {results.seed}."
    failures = [f"{check.name} is {tables.shown(check.value)}, expected {check.limit}." for check in failed]
    verdict: list[Block] = [Text(f"{word}. {len(every) - len(failed)} of {len(every)} checks passed. {flights}")]
    verdict += [Facts(failures)] if failures else []
    return page.render(
        Document(
            title="Synchronisation: controllers and disturbances",
            heading="Synchronisation: controllers and disturbances",
            subtitle=", ".join(PLANTS[plant].title for plant in results.plants),
            style=style,
            verdict=Section("verdict", "", verdict),
            sections=list(sections(results, checks, found)),
        )
    )


def sections(results: Results, checks: Sequence[Check], found: Sequence[Statement]) -> Iterator[Section]:
    for plant in results.plants:
        yield _table(results, plant)
    if found:
        yield _not_better(found)
    yield Section("ideal", "Where the bench differs from an ideal loop", list(_differences(results)))
    yield Section("checks", "Checks", [_checks(tables.all_checks(checks, found)), Note(IDEAL)])


def _table(results: Results, plant: str) -> Section:
    of = PLANTS[plant]
    titles = [Column(f"{column.key} ({tables.unit(of, column)})") for column in of.columns]
    lines = [(cell.disturbance, cell.law, *tables.cell_numbers(results, cell)) for cell in tables.rows(results, plant)]
    meanings = "; ".join(f"{column.key}: {column.meaning}" for column in of.columns)
    return Section(
        plant,
        of.title,
        [
            Text(of.meaning),
            Figures([controllers(results, plant)]),
            Table([Column("disturbance", "name"), Column("controller", "text"), *titles], lines),
            Note(f"{meanings}. Disturbances from {of.start_s:g} s on, numbers from {of.evaluate_from_s:g} s on."),
        ],
    )


def controllers(results: Results, plant: str) -> Picture:
    """Bars of sync and rms by disturbance and controller, on a logarithmic axis."""
    name = f"controllers-{plant}"
    return picture(
        name,
        f"Controllers: {PLANTS[plant].title}",
        "Synchronisation error and error of the axes, RMS, by disturbance.",
        lambda: _bars(results, plant),
    )


def _bars(results: Results, plant: str) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.4), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    laws, disturbances = results.laws(plant), results.disturbances(plant)
    places, width = np.arange(len(disturbances)), 0.8 / max(1, len(laws))
    for panel, key in zip(panels, ("sync", "rms"), strict=True):
        for index, law in enumerate(laws):
            heights = [results.of(plant, law, disturbance, key) for disturbance in disturbances]
            at = places + (index - (len(laws) - 1) / 2) * width
            panel.bar(at, heights, width, label=law, color=COLOR[law])
        panel.set_yscale("log")
        panel.set(ylabel=f"{key} ({PLANTS[plant].unit})")
    panels[-1].set_xticks(places, disturbances)
    legend_above(panels[0])
    return figure


def _not_better(found: Sequence[Statement]) -> Section:
    rows = [(f"{one.number}", one.title, " ".join(one.words), check_grade(one.holds)) for one in found]
    titles = [Column("", "name"), Column("statement", "text"), Column("measured here", "text"), Column("holds", "text")]
    return Section("not-better", "Where it is not better", [Table(titles, rows)])


def _differences(results: Results) -> Iterator[Block]:
    for plant in results.plants:
        yield Text(PLANTS[plant].differs)
        titles = [Column("disturbance", "name"), Column("number", "text"), Column("bench (ideal loop)", "text")]
        yield Table(titles, tables.differing(results, plant) or [tables.NOTHING])


def _checks(every: Sequence[Check]) -> Table:
    titles = [
        Column("check", "name"),
        Column("value"),
        Column("limit", "text"),
        Column("ideal loop"),
        Column("", "text"),
    ]
    lines = [
        (
            check.name,
            tables.shown(check.value),
            check.limit,
            tables.ABSENT if check.ideal is None else tables.shown(check.ideal),
            check_grade(check.ok),
        )
        for check in every
    ]
    return Table(titles, lines)
