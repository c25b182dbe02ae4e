"""Sections of the report of a batch: agreement with the bench, Sobol indices, a rare failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aeroloop.analysis.section import Block, Column, Note, Section, Table, Text, check_grade
from aeroloop.campaign.agreement import Agreement
from aeroloop.campaign.rare import RareRate
from aeroloop.campaign.sobol import Index


def sections(agreement: Agreement, indices: Sequence[Index], rare: RareRate | None) -> Iterator[Section]:
    yield Section("agreement", "Agreement with the bench", list(_agreement(agreement)))
    if indices:
        yield Section("indices", "Sobol indices", list(_indices(indices)))
    if rare is not None:
        yield Section("rare", "Rare failure", list(_rare(rare)))


def _agreement(agreement: Agreement) -> Iterator[Block]:
    yield Text(f"{agreement.words}.")
    rows = [
        (
            *(str(each.number), each.batch, each.bench),
            *(", ".join(each.beyond) or "none", check_grade(each.agrees)),
        )
        for each in agreement.compared
    ]
    columns = ("verdict in the batch", "on the bench", "metrics beyond their margin", "agrees")
    if rows:
        yield Table([Column("flight", "name"), *(Column(name, "text") for name in columns)], rows)
    if agreement.largest:
        differences = [(name, f"{value:.3g}") for name, value in agreement.largest.items()]
        yield Table([Column("metric", "name"), Column("largest difference")], differences)
    yield Note(
        "The flights with the smallest margins, two in the middle and three at random, flown again with their own "
        "noise. Of a flight that is lost in both only the verdict is compared."
    )


def _indices(indices: Sequence[Index]) -> Iterator[Block]:
    rows = [
        (
            *(each.metric, each.key, f"{each.first:.3f}", _range(each.first_interval)),
            *(f"{each.total:.3f}", _range(each.total_interval)),
        )
        for each in sorted(indices, key=lambda each: (each.metric, -each.total))
    ]
    names = ("first", "95 % interval", "total", "95 % interval")
    yield Table([Column("metric", "name"), Column("parameter", "text"), *map(Column, names)], rows)
    yield Note("First: share of the variance that the parameter causes alone. Total: with its interactions. Bootstrap.")


def _rare(rare: RareRate) -> Iterator[Block]:
    yield Text(f"{rare.words}.")
    rows = [
        (str(n), str(level.flights), f"{level.margin:.4g}", str(level.failed)) for n, level in enumerate(rare.levels)
    ]
    yield Table([Column("level", "name"), *map(Column, ("flights", "margin of the nearest part", "failed"))], rows)
    yield Note(
        "Rates, pictures and lists of this report are of the flights of the shifted distribution; only the estimate "
        "above has their weights."
    )


def _range(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"
