"""XML as a tree, from any file: bounded in size, depth and number of elements, without DOCTYPE and so without entities.

`xml.etree` expands entities and keeps no line numbers; this uses the same expat with handlers of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from aeroloop.core.errors import ConfigError

MOST_BYTES = 16 * 2**20
MOST_ELEMENTS = 100_000
DEEPEST = 64
LONGEST_NAME = 200


@dataclass(eq=False)
class Node:
    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Node] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.source}: line {self.line}: <{self.tag}>"

    def all(self, tag: str) -> Iterator[Node]:
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Node | None:
        return next(self.all(tag), None)

    def below(self, tag: str) -> Iterator[Node]:
        """Descendants at any depth."""
        for child in self.children:
            if child.tag == tag:
                yield child
            yield from child.below(tag)

    def name(self) -> str:
        """Its attribute `name`: one line of printable characters, since it is printed and written to files."""
        return checked_name(self.attributes.get("name", ""), f"{self.where}: attribute name")

    def value(self, tag: str) -> str:
        """Text of a child, or empty."""
        child = self.first(tag)
        return child.text if child is not None else ""

    def number(self, tag: str) -> float | None:
        """The number in a child."""
        child = self.first(tag)
        return None if child is None else numbers(child.text, 1, child.where)[0]


def checked_name(text: str, what: str) -> str:
    if not text or len(text) > LONGEST_NAME or not text.isprintable():
        raise ConfigError(f"{what}: expected a name of printable characters, at most {LONGEST_NAME}, not {text[:40]!r}")
    return text


def numbers(text: str, count: int, where: str) -> tuple[float, ...]:
    """So many finite numbers."""
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        values = ()
    if len(values) != count or not all(abs(value) < 1e15 for value in values):  # NaN is not less either
        many = "a number" if count == 1 else f"{count} numbers"
        raise ConfigError(f"{where}: expected {many}, not {text[:60]!r}")
    return values


def parse(content: bytes, source: str) -> Node:
    """The root element; ConfigError if it is not XML or beyond the bounds."""
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{source}: larger than {MOST_BYTES / 2**20:g} MiB; expected a smaller file")
    top = Node("", {}, 0, source)
    path, count = [top], 0
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(path) > DEEPEST:
            raise ConfigError(f"{source}: line {parser.CurrentLineNumber}: elements are nested deeper than {DEEPEST}")
        if count > MOST_ELEMENTS:
            raise ConfigError(f"{source}: more than {MOST_ELEMENTS} elements")
        node = Node(tag, attributes, parser.CurrentLineNumber, source)
        path[-1].children.append(node)
        path.append(node)

    def doctype(*_: object) -> None:
        raise ConfigError(
            f"{source}: line {parser.CurrentLineNumber}: a DOCTYPE may define entities, and is not read; remove it"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    parser.CharacterDataHandler = lambda text: path[-1].pieces.append(text)
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ConfigError(f"{source}: not valid XML: {error}") from None
    except (LookupError, ValueError):  # its declaration names an encoding that nobody knows
        raise ConfigError(f"{source}: not valid XML: unknown encoding; expected UTF-8") from None
    return top.children[0]
