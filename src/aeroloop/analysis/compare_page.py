"""The page of a comparison: the runs over one another, and their numbers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from aeroloop.analysis import page
from aeroloop.analysis.board import clock_words
from aeroloop.analysis.compare import Run
from aeroloop.analysis.compare_plots import pictures
from aeroloop.analysis.labels import BOARD_NUMBERS, TRACKING_NUMBERS, load_words
from aeroloop.analysis.page import Document, number
from aeroloop.analysis.rates_section import rates_section
from aeroloop.analysis.section import (
    Column,
    Note,
    Section,
    Table,
    Text,
    bold,
    check_grade,
    code,
    flight_sections,
    grade,
)

Comparison = Mapping[str, Any]


def render(runs: Sequence[Run], comparison: Comparison) -> str:
    """`comparison` is what `compare` made of the runs."""
    heading = f"{', '.join(_names(comparison))} compared"
    return page.render(
        Document(
            title=heading,
            heading=heading,
            subtitle=", ".join(dict.fromkeys(run["scenario"] for run in comparison["runs"])),
            style="passed" if all(run["ok"] for run in comparison["runs"]) else "failed",
            verdict=Section("verdict", "", list(result(comparison))),
            sections=list(sections(runs, comparison)),
        )
    )


def sections(runs: Sequence[Run], comparison: Comparison) -> Iterator[Section]:
    """In the order in which they are read, after the verdict."""
    names = _names(comparison)
    yield from flight_sections(pictures(runs))
    yield _runs(comparison)
    if comparison["rates"]:
        loads = ", ".join(f"{name} {load_words(load)}" for name, load in zip(names, comparison["load"], strict=True))
        rates = [(rate, rate["results"]) for rate in comparison["rates"]]
        yield rates_section(f"Background load: {loads}.", rates, names, several=True)
    if comparison["tracking"]:
        yield Section(
            "tracking", "RMS tracking error (table 3.5 of the thesis)", [_table("", names, _tracking(comparison))]
        )
    yield _differences(comparison)
    yield Section("checks", "Checks", [_table("Metric", names, _checks(comparison))])
    metrics = ((name, *_numbers(values)) for name, values in comparison["metrics"].items())
    yield Section("metrics", "All metrics", [_table("Metric", names, metrics)])
    boards = [board for board in comparison["board"] if board]
    if boards:
        clocks = [Note(clock) for clock in dict.fromkeys(map(clock_words, boards))]
        yield Section(
            "board", "Processor load of the boards", [*clocks, _table("", names, _boards(comparison["board"]))]
        )
    if comparison["settings"]:
        rows = (
            (code(key), *("–" if value is None else str(value) for value in values))
            for key, values in comparison["settings"].items()
        )
        yield Section("settings", "Settings that differ", [_table("Key", names, rows)])
    hashes = [Note(f"{run['label']}: " + code(run["log_sha256"])) for run in comparison["runs"]]
    yield Section("hashes", "Log hashes", hashes)


def result(comparison: Comparison) -> Iterator[Text]:
    """The verdict in words."""
    verdicts = (f"{run['label']}: " + grade(style, word.lower()) for run, style, word in _verdicts(comparison))
    yield Text(Markup(", ").join(verdicts) + ".")
    for difference in comparison["differences"]:
        yield Text(_difference_words(difference))
    equal = comparison["log_hashes_equal"]
    yield Text("All log hashes are equal: the flights are the same to the bit." if equal else "The log hashes differ.")
    yield from map(Text, comparison["remarks"])


def _difference_words(difference: Mapping[str, Any]) -> str:
    run, first, largest_m = difference["label"], difference["to"], difference["position_max_m"]
    if largest_m is None:
        return f"The distance of {run} from {first} is not known."
    if largest_m == 0:
        return bold(run) + " flew exactly where " + bold(first) + " did."
    largest_mm, rms_mm = (number(difference[f"position_{key}_m"], scale=1000, digits=3) for key in ("max", "rms"))
    at_s = number(difference["position_max_at_s"])
    return bold(run) + " was at most " + bold(f"{largest_mm} mm") + f" from {first} (at {at_s} s), RMS {rms_mm} mm."


def _runs(comparison: Comparison) -> Section:
    columns = (
        Column("Run", "name"),
        *(Column(title, "text") for title in ("Verdict", "Folder", "Scenario", "Loop", "Pace")),
        *(Column(title) for title in ("Seed", "Flown (s)")),
    )
    rows = [
        (
            run["label"],
            grade(style, word),
            *(run[key] for key in ("name", "scenario", "loop", "pace")),
            str(run["seed"]),
            number(run["flown_s"]),
        )
        for run, style, word in _verdicts(comparison)
    ]
    return Section("runs", "Runs", [Table(columns, rows)])


def _differences(comparison: Comparison) -> Section:
    first, found = _names(comparison)[0], comparison["differences"]
    rows = ((key, *_numbers(difference[key] for difference in found)) for key in found[0] if key not in ("label", "to"))
    table = _table("Difference", [difference["label"] for difference in found], rows)
    how = (
        f"At the times of {first}'s truth; another's position and angles are interpolated between its own times, "
        "commands are held until the next. Position is the distance in three dimensions."
    )
    return Section("differences", f"Differences to {first}", [table, Note(how)])


def _tracking(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for row in comparison["tracking"]:
        for key, title in TRACKING_NUMBERS.items():
            values = (number(result[key]) if key in (result or {}) else "–" for result in row["results"])
            yield f"{row['modes']} modes, vehicle {row['vehicle']}: {title}", *values


def _checks(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for check in comparison["checks"]:
        yield code(check["name"]), *map(_check, check["results"])


def _check(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return "–"
    return f"{number(result['value'], digits=5)} ({result['limit']}) " + check_grade(result["ok"])


def _boards(boards: Sequence[Mapping[str, Any] | None]) -> Iterator[tuple[str, ...]]:
    """What at least one of them tells."""
    for key, (title, scale) in BOARD_NUMBERS.items():
        if any(key in board for board in boards if board):
            yield title, *(number(board[key], scale=scale) if board and key in board else "–" for board in boards)


def _verdicts(comparison: Comparison) -> list[tuple[Mapping[str, Any], str, str]]:
    """Each run with the style and the word for how it ended."""
    return [(run, *page.verdict(run["exit_code"])) for run in comparison["runs"]]


def _names(comparison: Comparison) -> list[str]:
    return [run["label"] for run in comparison["runs"]]


def _table(first: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    return Table((Column(first, "name"), *map(Column, columns)), list(rows))


def _numbers(values: Iterable[float | None]) -> tuple[str, ...]:
    return tuple(number(value, digits=5) for value in values)
