"""The tables of a campaign as Markdown, CSV and JSON. Equal results give equal text."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aeroloop.analysis.summary import json_safe, versions
from aeroloop.campaign.ideal import moved
from aeroloop.campaign.plant import FULL, Cell, Column, Plant
from aeroloop.campaign.plants import PLANTS
from aeroloop.campaign.results import Check, Results
from aeroloop.campaign.statements import Statement

ABSENT = "-"
NOTHING = ("no number", ABSENT, ABSENT)
"""Row of a table without rows."""


def unit(plant: Plant, column: Column) -> str:
    return column.unit or plant.unit


def shown(value: float, digits: int = 3) -> str:
    """Significant digits without an exponent."""
    if math.isnan(value):
        return ABSENT
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 5)}f}"


def cell_numbers(results: Results, cell: Cell) -> list[str]:
    own = results.numbers[cell]
    return [shown(own.get(column.key, math.nan)) for column in PLANTS[cell.plant].columns]


def rows(results: Results, plant: str) -> Iterator[Cell]:
    """Cells of the plant's table, disturbance by disturbance."""
    for disturbance in results.disturbances(plant):
        for law in results.laws(plant):
            if (cell := Cell(plant, law, disturbance)) in results.numbers:
                yield cell


def markdown_table(results: Results, plant: str) -> list[str]:
    """A row for each disturbance, a column for each controller."""
    of, laws = PLANTS[plant], results.laws(plant)
    heading = " / ".join(f"{column.key} ({unit(of, column)})" for column in of.columns)
    lines = [f"| {heading} | {' | '.join(laws)} |", f"|{'---|' * (len(laws) + 1)}"]
    for disturbance in results.disturbances(plant):
        cells = [Cell(plant, law, disturbance) for law in laws]
        told = [" / ".join(cell_numbers(results, cell)) if cell in results.numbers else ABSENT for cell in cells]
        lines.append(f"| {disturbance} | {' | '.join(told)} |")
    return lines


def markdown(results: Results, checks: Sequence[Check], found: Sequence[Statement]) -> str:
    lines = ["# Controllers and disturbances", ""]
    for plant in results.plants:
        of = PLANTS[plant]
        lines += [f"## {of.title}", "", *markdown_table(results, plant), ""]
        lines += [f"- {column.key}: {column.meaning}, {unit(of, column)}" for column in of.columns]
        lines.append("")
    if found:
        lines += ["## Where it is not better", ""]
        for statement in found:
            lines.append(f"{statement.number}. **{statement.title}.** {' '.join(statement.words)}")
        lines.append("")
    lines += _differences(results)
    lines += ["## Checks", "", "| check | value | limit | ideal loop | |", "|---|---|---|---|---|"]
    for check in all_checks(checks, found):
        ideal = ABSENT if check.ideal is None else shown(check.ideal)
        lines.append(f"| {check.name} | {shown(check.value)} | {check.limit} | {ideal} | {_word(check)} |")
    return "\n".join([*lines, ""])


def _differences(results: Results) -> list[str]:
    """Numbers that are farther from the ideal loop's than the tolerance, and why."""
    lines = ["## Where the bench differs from an ideal loop", ""]
    for plant in results.plants:
        lines += [PLANTS[plant].differs, ""]
        lines += ["| disturbance | number | bench (ideal loop) |", "|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in differing(results, plant) or [NOTHING]]
        lines.append("")
    return lines


def differing(results: Results, plant: str) -> list[tuple[str, str, str]]:
    """Disturbance, number, and of each controller its value with the ideal loop's."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in results.disturbances(plant):
        for one in moved(results):
            if (one.cell.plant, one.cell.disturbance) == (plant, row):
                told = f"{one.cell.law} {shown(one.value)} ({one.ideal:g})"
                found.setdefault((row, one.key), []).append(told)
    return [(row, key, ", ".join(told)) for (row, key), told in found.items()]


def all_checks(checks: Sequence[Check], found: Sequence[Statement]) -> list[Check]:
    """The acceptance, then the limits of the statements."""
    return [*checks, *(check for statement in found for check in statement.checks)]


def csv_text(results: Results, plant: str) -> str:
    """Every cell that was flown, those of the statements too."""
    out = io.StringIO()
    of = PLANTS[plant]
    writer = csv.writer(out, lineterminator="\n")
    units = [unit(of, column).replace("/", "_").replace(" ", "").replace("%", "pct") for column in of.columns]
    names = [f"{column.key}_{units[index]}" for index, column in enumerate(of.columns)]
    writer.writerow(["disturbance", "controller", "ended", *names])
    for cell, numbers in results.numbers.items():
        if cell.plant == plant:
            values = (numbers.get(column.key, math.nan) for column in of.columns)
            told = ("" if math.isnan(value) else f"{value:.6g}" for value in values)
            writer.writerow([cell.disturbance, cell.law, results.ended.get(cell, ""), *told])
    return out.getvalue()


def summary(results: Results, checks: Sequence[Check], found: Sequence[Statement]) -> dict[str, Any]:
    every = all_checks(checks, found)
    cells = [
        {
            "plant": cell.plant,
            "controller": cell.law,
            "disturbance": cell.disturbance,
            "ended": results.ended.get(cell, ""),
            "numbers": dict(numbers),
        }
        for cell, numbers in results.numbers.items()
    ]
    told: dict[str, Any] = json_safe(
        {
            "ok": all(check.ok for check in every),
            "seed": results.seed,
            "law": FULL,
            "checks": [
                {"name": one.name, "value": one.value, "limit": one.limit, "ideal": one.ideal, "ok": one.ok}
                for one in every
            ],
            "not_better": [
                {"number": one.number, "title": one.title, "words": list(one.words), "holds": one.holds}
                for one in found
            ],
            "cells": cells,
            "versions": versions(),
        }
    )
    return told


def results_of(told: Mapping[str, Any]) -> Results:
    """The results that a summary was made of."""
    numbers, ended = {}, {}
    for one in told["cells"]:
        cell = Cell(one["plant"], one["controller"], one["disturbance"])
        ended[cell] = str(one["ended"])
        numbers[cell] = {key: math.nan if value is None else float(value) for key, value in one["numbers"].items()}
    return Results(int(told["seed"]), numbers, ended)


def _word(check: Check) -> str:
    return "passed" if check.ok else "failed"
