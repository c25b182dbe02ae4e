"""Pages: HTML files that need nothing else, from the templates beside this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED, AeroloopError

if TYPE_CHECKING:
    from aeroloop.analysis.drawing import Picture

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
class Section:
    """A part of a report that has pictures of its own."""

    key: str  # its anchor
    title: str
    pictures: Sequence[Picture]


def render(template: str, folder: Path = TEMPLATES, **contents: Any) -> str:
    """The page as text; equal input gives equal text. `folder` holds the template, and may extend those beside us."""
    pages = Environment(
        loader=FileSystemLoader((folder, TEMPLATES)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["number"] = number
    pages.filters["svg"] = lambda picture: Markup(picture.svg)
    contents.setdefault("sections", ())
    return pages.get_template(template).render(**contents)


def write(path: Path, html: str, what: str) -> None:
    unfinished = path.with_name(f"{path.name}.part")  # a full disk must not cost the page of before
    try:
        unfinished.write_text(html, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise AeroloopError(f"{path}: the {what} cannot be written: {error.strerror}") from None


def verdict(exit_code: int) -> tuple[str, str]:
    """The style class and the word for how a flight ended."""
    return VERDICTS.get(exit_code, BROKEN)


def number(value: float | None, scale: float = 1.0, digits: int = 4) -> str:
    """`digits` significant digits, but never fewer than the whole part has."""
    if value is None:
        return NOT_MEASURED
    scaled = value * scale
    return f"{scaled:.0f}" if abs(scaled) >= 10**digits else f"{scaled:.{digits}g}"
