"""The content of pages: sections as data, in reading order. `page.html.j2` renders every block.

Texts and cells are escaped when rendered; `bold`, `code` and `grade` add markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from markupsafe import Markup

if TYPE_CHECKING:
    from aeroloop.analysis.drawing import Picture


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    words: str
    kind: ClassVar[str] = "note"


@dataclass(frozen=True)
class Facts:
    """Short statements, side by side if there is space."""

    items: Sequence[str]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Listing:
    """Preformatted text."""

    text: str
    kind: ClassVar[str] = "listing"


@dataclass(frozen=True)
class Column:
    title: str
    kind: Literal["name", "text", "number"] = "number"  # a name is its row's heading; numbers are right-aligned


@dataclass(frozen=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]  # a cell for each column
    kind: ClassVar[str] = "table"

    @property
    def cells(self) -> list[list[tuple[Column, str]]]:
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Figures:
    pictures: Sequence[Picture]
    kind: ClassVar[str] = "figures"


Block = Text | Note | Facts | Listing | Table | Figures


@dataclass(frozen=True)
class Section:
    key: str  # its anchor in the page
    title: str
    blocks: Sequence[Block]


TRAJECTORY = "flown-path"
"""Key of the section with maps and paths, which comes before every table."""
PATHS = ("map", "trajectory", "top-and-altitude")
"""Names of its figures."""


def flight_sections(pictures: Sequence[Picture]) -> list[Section]:
    """Maps and trajectories, then everything else over time."""
    paths = [picture for picture in pictures if picture.name in PATHS]
    others = [picture for picture in pictures if picture.name not in PATHS]
    groups = ((TRAJECTORY, "Trajectory", paths), ("figures", "Signals over time", others))
    return [Section(key, title, [Figures(drawn)]) for key, title, drawn in groups if drawn]


def bold(words: str) -> Markup:
    return Markup("<b>{}</b>").format(words)


def code(words: str) -> Markup:
    return Markup("<code>{}</code>").format(words)


def grade(style: str, word: str) -> Markup:
    """In the colour of a verdict: passed, failed or interrupted."""
    return Markup('<span class="{}">{}</span>').format(style, word)


def check_grade(ok: bool) -> Markup:
    word = "passed" if ok else "failed"
    return grade(word, word)
