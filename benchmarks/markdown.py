"""Results as Markdown for benchmarks/README.md: the table of the rows; tables among the notes stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.measure import Aim, Outcome, Spread

COLUMNS = ("what", "value", "peer", "ratio", "aim", "met?")


def document(outcomes: Mapping[str, Outcome]) -> str:
    return "\n".join(_section(name, outcome) for name, outcome in outcomes.items())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Its lines."""
    return [f"| {' | '.join(cells)} |" for cells in (columns, ("---",) * len(columns), *rows)]


def number(of: Spread) -> str:
    """Median, then lowest and highest round where they differ."""
    text = f"{of.median:.3g}" if abs(of.median) < 1000 else f"{of.median:,.0f}"
    if of.low == of.high:
        return text
    style = ".3g" if abs(of.high) < 1000 else ",.0f"
    return f"{text} ({of.low:{style}} to {of.high:{style}})"


def bound(aim: Aim | None) -> str:
    return f"{'≥' if aim.at_least else '≤'} {aim.bound:g}" if aim else ""


def _section(name: str, outcome: Outcome) -> str:
    met = {True: "yes", False: "no", None: ""}
    rows = [
        (
            row.what,
            f"{number(row.value)} {row.unit}",
            f"{row.peer_name}: {number(row.peer)} {row.unit}",
            number(row.ratio),
            bound(row.aim),
            met[row.met],
        )
        for row in outcome.rows
    ]
    lines = [f"### {name}", "", *table(COLUMNS, rows), ""]
    in_table = False
    for note in outcome.notes:
        is_line = note.startswith("|")
        if is_line != in_table:  # a table is a paragraph
            lines.append("")
        lines.append(note if is_line else f"- {note}")
        in_table = is_line
    return "\n".join(lines) + "\n"
