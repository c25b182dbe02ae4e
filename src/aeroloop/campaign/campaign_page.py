"""The report of a campaign: verdict, distributions against their limits, scatter, sensitivities, the worst flights."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from aeroloop.analysis import page
from aeroloop.analysis.page import Document
from aeroloop.analysis.section import Block, Column, Facts, Figures, Note, Section, Table, Text, check_grade, code
from aeroloop.analysis.summary import versions
from aeroloop.campaign import fault_page, kept
from aeroloop.campaign.design_size import design_of
from aeroloop.campaign.judgement import Judged, percent
from aeroloop.campaign.store import Row
from aeroloop.campaign.tree_section import tree_blocks
from aeroloop.core.errors import EXIT_CHECK_FAILED

if TYPE_CHECKING:
    from aeroloop.analysis.drawing import Picture

BLOCK_DESIGNS = {"sobol": "Sobol points", "lhs": "a Latin hypercube"}
MOST_ABORTED = 100


def render(judged: Judged, folder: Path) -> str:
    definition = judged.definition
    style, word = page.verdict(judged.exit_code)
    scenario = definition.scenario if isinstance(definition.scenario, str) else "a scenario in code"
    flown = f"{len(judged.flown)} of {judged.total} flights"
    verdict: list[Block] = [Text(f"{word}. {flown}. Passed: {judged.rate().words}.")]
    if judged.faults is not None:
        verdict = [Text(f"{flown} flown."), Text(fault_page.summary_words(judged.faults))]
        style = "failed" if judged.faults.silent else style
    verdict += [Text(f"{words[0].upper()}{words[1:]}.") for words in judged.remarks]
    told = [check.words for check in judged.checks if not check.ok]
    told += [judged.boundary.words] if judged.boundary else []
    verdict += [Facts(told)] if told else []
    return page.render(
        Document(
            title=f"Campaign {definition.name}",
            heading=f"Campaign {definition.name}",
            subtitle=definition.summary or f"{Path(scenario).stem}, {_design(judged)}",
            style=style if judged.exit_code <= EXIT_CHECK_FAILED else "failed",
            verdict=Section("verdict", "", verdict),
            sections=[section for section in sections(judged, folder) if section.blocks],
        )
    )


def _design(judged: Judged) -> str:
    return "sweep of faults" if judged.definition.sweep else f"{judged.definition.design} design"


def sections(judged: Judged, folder: Path) -> Iterator[Section]:
    from aeroloop.campaign import boundary_page  # drawing is slow to import
    from aeroloop.campaign import campaign_plots as plots

    if judged.faults is not None:
        yield from fault_page.sections(judged.faults, folder)
    yield Section(
        "checks", "Checks of the campaign", list(_checks(judged)) if judged.checks or not judged.faults else []
    )
    if judged.boundary is not None:
        yield Section("boundary", "Boundary", list(boundary_page.blocks(judged.boundary)))
    yield from judged.extra_sections()
    yield Section("distributions", "Checked metrics", [Figures(plots.distributions(judged))])
    pictures, left_out = plots.scatters(judged)
    notes = [Note(left_out)] if left_out else []
    yield Section("scatter", "Parameters of passed and failed flights", [Figures(pictures), *notes])
    yield Section("sensitivity", "Sensitivity", list(_sensitivity(judged, plots.sensitivity(judged))))
    yield Section("failures", "Regression tree of failed flights", [] if judged.faults else list(tree_blocks(judged)))
    yield Section("worst", "Worst flights", [] if judged.faults else list(_worst(judged, folder)))
    yield Section("aborted", "Flights that could not be flown", list(_aborted(judged, folder)))
    yield Section("about", "About this campaign", list(_about(judged)))


def _checks(judged: Judged) -> Iterator[Block]:
    columns = ["rate", "passed", "95 % interval", "lower bound", "confidence", "at least", "n", ""]
    rows = [
        (
            *(each.check.rate, percent(each.rate.value), " to ".join(map(percent, each.rate.interval))),
            *(percent(each.bound), percent(each.check.confidence), percent(each.check.at_least)),
            *(str(each.rate.count), check_grade(each.ok)),
        )
        for each in judged.checks
    ]
    if rows:
        yield Table([Column(columns[0], "name"), *map(Column, columns[1:-1]), Column("", "text")], rows)
    interval = "Intervals are those of Clopper and Pearson (exact)."
    if (design := judged.definition.design) in BLOCK_DESIGNS:
        interval += f" With {BLOCK_DESIGNS[design]} they are wider than needed."
    if judged.aborted:
        interval += " Flights that were aborted count as not passed."
    yield Note(interval)


def _sensitivity(judged: Judged, pictures: Sequence[Picture]) -> Iterator[Block]:
    found = judged.sensitivities
    if not found:
        return
    yield Figures(pictures)
    columns = [
        Column("metric", "name"),
        Column("parameter", "text"),
        Column("rank correlation"),
        Column("95 % interval"),
    ]
    rows = [
        (each.metric, each.key, f"{each.correlation:.2f}", f"{each.interval[0]:.2f} to {each.interval[1]:.2f}")
        for each in sorted(found, key=lambda each: -abs(each.correlation))
    ]
    yield Table(columns, rows)
    yield Note(
        "Spearman's rank correlation: it detects monotone influence only. Choices of text count in the order of the "
        "alphabet."
    )


def _worst(judged: Judged, folder: Path) -> Iterator[Block]:
    found = judged.worst()
    names = ("value", "limit", "margin", "flight", "seed")
    columns = [
        Column("check", "name"),
        *map(Column, names),
        Column("parameters", "text"),
        Column("fly it again", "text"),
    ]
    rows = [
        (
            *(each.metric, short(each.value), each.limit, _margin(each.margin), str(each.row.number)),
            *(str(each.row.seed), values_of(each.row), code(replay_command(folder, each.row))),
        )
        for each in found
    ]
    if rows:
        yield Table(columns, rows)
        yield Note(
            "Margin: (limit - value) / limit; below zero the check failed. Checks that all flights meet equally are "
            "left out."
        )


def _aborted(judged: Judged, folder: Path) -> Iterator[Block]:
    if not judged.aborted:
        return
    texts = ("why", "parameters", "kept", "fly it again")
    columns = [Column("flight", "name"), Column("attempts"), *(Column(name, "text") for name in texts)]
    shown = judged.aborted[:MOST_ABORTED]
    rows = [
        (
            *(str(row.number), str(row.attempt), row.why or "", values_of(row)),
            *(code(str(left)) if left.is_dir() else "", code(replay_command(folder, row))),
        )
        for row, left in ((row, kept.place(folder, row.number)) for row in shown)
    ]
    yield Table(columns, rows)
    if len(shown) < len(judged.aborted):
        yield Note(f"The first {len(shown)} of {len(judged.aborted)}.")


def _about(judged: Judged) -> Iterator[Block]:
    definition = judged.definition
    facts = [_design(judged), f"seed {definition.seed}", f"edition {judged.edition}"]
    if definition.search is None and not definition.sweep:
        design = design_of(definition)
        facts.append(f"{design.points} points x {design.combinations} x {design.seeds_per_point} seeds")
    others, designs = judged.not_counted
    facts += [f"{others} flights of other editions, not counted"] if others else []
    facts += [f"{designs} flights of other designs, not counted"] if designs else []
    yield Facts(facts)
    rows = [
        (each.key, json.dumps({key: value for key, value in _given(each).items() if key != "key"}))
        for each in definition.parameter
    ]
    if rows:
        yield Table([Column("parameter", "name"), Column("values", "text")], rows)
    yield Table([Column("package", "name"), Column("version", "text")], list(versions().items()))


def _given(parameter: object) -> dict[str, object]:
    table: dict[str, object] = msgspec.to_builtins(parameter)
    return {key: value for key, value in table.items() if value is not None}


def short(value: float) -> str:
    return page.number(value)


def _margin(margin: float) -> str:
    return f"{100 * margin:.3g} %" if math.isfinite(margin) else "not measured"


def values_of(row: Row) -> str:
    shown = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in row.values.items()}
    return ", ".join(f"{key} = {value}" for key, value in shown.items())


def replay_command(folder: Path, row: Row) -> str:
    return f"aeroloop campaign replay {folder} {row.number}"
