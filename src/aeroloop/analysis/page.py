"""Pages: self-contained HTML files, from the template beside this module."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from aeroloop.analysis.section import Section
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED, not_written

VERDICTS = {
    EXIT_OK: ("passed", "Passed"),
    EXIT_CHECK_FAILED: ("failed", "Failed"),
    EXIT_INTERRUPTED: ("interrupted", "Interrupted"),
    EXIT_TERMINATED: ("interrupted", "Interrupted"),
}
BROKEN = ("failed", "Did not finish")
NOT_MEASURED = "not measured"
TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class Document:
    """A page: its verdict is in a card above the sections."""

    title: str  # of the browser's tab
    heading: str
    subtitle: str
    style: str  # of the verdict: passed, failed or interrupted
    verdict: Section
    sections: Sequence[Section]


def render(document: Document) -> str:
    """The page as text; equal input gives equal text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # slow to import, and many flights draw no page

    pages = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["svg"] = lambda picture: Markup(picture.svg)
    script = Markup((TEMPLATES / "figures.js").read_text(encoding="utf-8"))
    return pages.get_template("page.html.j2").render(document=document, script=script)


def write(path: Path, html: str, what: str) -> None:
    # Written to another file first: if the disk is full, the previous page is kept.
    unfinished = path.with_name(f"{path.name}.part")
    try:
        unfinished.write_text(html, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise not_written(path, error, what) from None


def verdict(exit_code: int) -> tuple[str, str]:
    """The style class and the text for the end of a flight."""
    return VERDICTS.get(exit_code, BROKEN)


def number(value: float | None, scale: float = 1.0, digits: int = 4) -> str:
    """`digits` significant digits, but never fewer than the integer part has."""
    if value is None or math.isnan(value):
        return NOT_MEASURED
    scaled = value * scale
    return f"{scaled:.0f}" if abs(scaled) >= 10**digits else f"{scaled:.{digits}g}"
