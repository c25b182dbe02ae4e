"""The failure matrix of several boards as text, JSON and a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aeroloop.analysis import page
from aeroloop.analysis.page import Document, number
from aeroloop.analysis.section import Block, Column, Facts, Note, Section, Table, Text
from aeroloop.campaign.redundancy_failures import COMBINATIONS
from aeroloop.campaign.redundancy_matrix import Result, worst
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, not_written
from aeroloop.core.redundancy import board_name
from aeroloop.flight.results import REPORT, SUMMARY, as_text

NUMBERS = (
    "Each cell is the worst of the flights with the failure, of board.1 or as its name says, against the undisturbed "
    "flight of the same boards; the time is that of the worst flight, each number the largest of all. Targets: no more "
    "than one control period without a command, 1 mm and 0.1 deg, and a continuous command: one that differs by at "
    "most 0.1 N in the five control periods after the failure. Two boards cannot tell which of them is wrong: that "
    "is detected, not resolved."
)


def title(mode: str, boards: int) -> str:
    return f"{mode}, {boards} boards"


def short(result: Result) -> str:
    return result.outcome if result.ok else f"{result.outcome} (not as expected)"


def write(folder: Path, results: Sequence[Result], about: str) -> Path:
    """Returns the path of the page."""
    texts = {SUMMARY: as_text(summary(results, about)), REPORT: render(results, about)}
    for name, text in texts.items():
        try:
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise not_written(folder / name, error) from None
    return folder / REPORT


def summary(results: Sequence[Result], about: str) -> dict[str, object]:
    """`cells`: the worst of each failure and combination, with the time of it; `flights`: all."""
    return {
        "about": about,
        "passed": all(one.ok for one in results),
        "cells": [_plain(one) for one in worst(results)],
        "flights": [_plain(one) for one in results],
    }


def _plain(one: Result) -> dict[str, object]:
    return {
        "failure": one.cell.failure,
        "mode": one.cell.mode,
        "boards": one.cell.boards,
        "at_s": one.cell.at_s,
        "outcome": one.outcome,
        "command_jump_N": one.jump_N,
        "continuous": one.continuous,
        "cycles_held": one.held,
        "apart_m": one.apart_m,
        "apart_deg": one.apart_deg,
        "checks_pass": one.checks_pass,
        "identified": [board_name(board) for board in one.identified],
        "right_identified": one.right,
        "ok": one.ok,
        "why": one.why,
    }


def render(results: Sequence[Result], about: str) -> str:
    cells = worst(results)
    failed = [one for one in cells if not one.ok]
    style, word = page.verdict(EXIT_CHECK_FAILED if failed else EXIT_OK)
    verdict: list[Block] = [Text(f"{word}. {len(cells) - len(failed)} of {len(cells)} cells are as expected. {about}")]
    if failed:
        verdict.append(Facts([f"{_called(one)}: {one.outcome}{one.why and f', {one.why}'}" for one in failed]))
    return page.render(
        Document(
            title="Failures of several boards",
            heading="Failures of several boards",
            subtitle="standby and vote of two and three boards",
            style=style,
            verdict=Section("verdict", "", verdict),
            sections=[_matrix(cells), *(_numbers(cells, mode, boards) for mode, boards in COMBINATIONS)],
        )
    )


def _called(one: Result) -> str:
    return f"{one.cell.failure} at {one.cell.at_s:g} s, {title(*one.cell[:2])}"


def _matrix(cells: Sequence[Result]) -> Section:
    by_name = {one.cell[:3]: one for one in cells}
    names = list(dict.fromkeys(one.cell.failure for one in cells))
    columns = [Column("Failure", "name"), *(Column(title(*each), "text") for each in COMBINATIONS)]
    rows = [(name, *(short(by_name[*each, name]) for each in COMBINATIONS)) for name in names]
    return Section("matrix", "Outcome", [Table(columns, rows), Note(NUMBERS)])


def _numbers(cells: Sequence[Result], mode: str, boards: int) -> Section:
    columns = [
        Column("Failure", "name"),
        Column("Worst at (s)"),
        Column("Command differs (N)"),
        Column("Continuous", "text"),
        Column("Periods held"),
        Column("Apart (mm)"),
        Column("Apart (deg)"),
        Column("Checks", "text"),
        Column("Identified as faulty", "text"),
        Column("Right", "text"),
        Column("Outcome", "text"),
    ]
    rows = [
        (
            one.cell.failure,
            number(one.cell.at_s),
            number(one.jump_N, digits=3),
            _word(one.continuous),
            number(one.held),
            number(one.apart_m, 1e3, digits=3),
            number(one.apart_deg, digits=3),
            "pass" if one.checks_pass else "–",
            ", ".join(board_name(board) for board in one.identified) or "–",
            _word(one.right),
            short(one),
        )
        for one in cells
        if one.cell[:2] == (mode, boards)
    ]
    return Section(f"{mode}-{boards}", title(mode, boards).capitalize(), [Table(columns, rows)])


def _word(yes: bool) -> str:
    return "yes" if yes else "no"
