"""ArduPilot's binary DataFlash logs (.bin), read in pieces: one pass finds the rows, NumPy decodes whole messages.

    a3 95 | type | fields          every row; length and fields of its type come from a FMT row (type 128) before it

Only the columns that `ardupilot` names are kept, so that memory grows with them and not with the file. Bytes that are
no row are skipped to the next mark and counted; a cut last row is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.flown.ardupilot import COLUMNS, MOST_PARAMETERS, Contents, as_record
from aeroloop.flown.read import Options
from aeroloop.flown.record import Array, FlightRecord

MARK = b"\xa3\x95"
HEAD = 3
FMT = 128
FMT_LENGTH = 89
PIECE_BYTES = 4 * 2**20
PARAMETER, TEXT = "PARM", "MSG"
MOST_TEXTS = 10_000
Raw = NDArray[np.uint8]
Part = tuple[NDArray[Any], float]
"""A column of one piece as it stands in the file, which takes the least memory, and the unit of its numbers."""
TYPES: dict[str, tuple[str, float]] = {
    "a": ("V64", 0.0),
    "n": ("S4", 0.0),
    "N": ("S16", 0.0),
    "Z": ("S64", 0.0),
    "b": ("i1", 1.0),
    "B": ("u1", 1.0),
    "M": ("u1", 1.0),
    "h": ("<i2", 1.0),
    "H": ("<u2", 1.0),
    "i": ("<i4", 1.0),
    "I": ("<u4", 1.0),
    "q": ("<i8", 1.0),
    "Q": ("<u8", 1.0),
    "g": ("<f2", 1.0),
    "f": ("<f4", 1.0),
    "d": ("<f8", 1.0),
    "c": ("<i2", 0.01),
    "C": ("<u2", 0.01),
    "e": ("<i4", 0.01),
    "E": ("<u4", 0.01),
    "L": ("<i4", 1e-7),
}
"""NumPy's type of each format letter, and the unit of its number; 0 where it is text or an array."""


@dataclass(frozen=True)
class Format:
    """A message, as its FMT row describes it."""

    name: str
    length: int  # of a row, with its head
    letters: str
    labels: tuple[str, ...]

    @property
    def layout(self) -> np.dtype[np.void]:
        """Of a row; fields are named by their number, as labels may come twice or be empty."""
        fields = [(str(at), TYPES[letter][0]) for at, letter in enumerate(self.letters)]
        return np.dtype([("head", f"V{HEAD}"), *fields])

    def column(self, rows: NDArray[np.void], label: str) -> NDArray[Any] | None:
        return rows[str(self.labels.index(label))] if label in self.labels else None


def format_of(body: bytes) -> tuple[int, Format] | None:
    """Type and format of a FMT row after its head; None where the row cannot be true."""
    number, length = body[0], body[1]
    name, letters, labels = (_text(body[start:end]) for start, end in ((2, 6), (6, 22), (22, 86)))
    own = tuple(labels.split(",")) if labels else ()
    if not name or len(own) != len(letters) or any(letter not in TYPES for letter in letters):
        return None
    size = HEAD + sum(np.dtype(TYPES[letter][0]).itemsize for letter in letters)
    return (number, Format(name, length, letters, own)) if size == length else None


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("ascii", "replace").strip()


class _Scan:
    """Where reading stands between two pieces."""

    def __init__(self) -> None:
        self.contents = Contents()
        self.skipped = 0
        self.kept: dict[str, dict[str, list[Part]]] = {}
        self._formats: dict[int, Format] = {}
        self._lengths = [0] * 256
        self._lengths[FMT] = FMT_LENGTH

    def piece(self, piece: bytes, last: bool) -> int:
        """Takes in the rows of a piece of the file; how many bytes of it are done with."""
        at, size, rows = 0, len(piece), 0
        starts: list[list[int]] = [[] for _ in range(256)]
        raw = np.frombuffer(piece, np.uint8)
        lengths = self._lengths
        first, second = MARK
        while at <= size - HEAD:
            kind = piece[at + 2]
            length = lengths[kind]
            if not length or piece[at] != first or piece[at + 1] != second:
                found = piece.find(MARK, at + 1)
                beyond = found if found >= 0 else size if last else size - 1  # its last byte may begin a mark
                self.skipped += beyond - at
                at = beyond
                continue
            if at + length > size:
                break
            if kind == FMT:
                self._describe(piece[at + HEAD : at + length], raw, starts)
            else:
                starts[kind].append(at)
            rows += 1
            at += length
        self.contents.rows += rows
        for kind, of_kind in enumerate(starts):
            self._take(kind, raw, of_kind)
        if last and at < size:
            if piece[at:].startswith(MARK[: size - at]):
                self.contents.remarks.append("The log is truncated: its last row is cut.")
            else:
                self.skipped += size - at
            return size
        return at

    def _describe(self, body: bytes, raw: Raw, starts: list[list[int]]) -> None:
        described = format_of(body)
        if described is None:
            return
        kind, own = described
        if kind == FMT or self._formats.get(kind) == own:
            return
        self._take(kind, raw, starts[kind])  # rows so far are of the format of before
        starts[kind].clear()
        self._formats[kind] = own
        self._lengths[kind] = own.length

    def _take(self, kind: int, raw: Raw, starts: list[int]) -> None:
        """Decodes the rows of one type that begin there, as far as anything of them is wanted."""
        if not starts:
            return
        own = self._formats[kind]
        columns = COLUMNS.get(own.name, frozenset())
        wanted = [at for at, label in enumerate(own.labels) if label in columns and own.labels.index(label) == at]
        if not wanted and own.name not in (PARAMETER, TEXT):
            return
        rows = raw[np.array(starts)[:, np.newaxis] + np.arange(own.length)].view(own.layout)[:, 0]
        if own.name == PARAMETER:
            self._parameters(own.column(rows, "Name"), own.column(rows, "Value"))
        elif own.name == TEXT:
            self._texts(own.column(rows, "Message"))
        kept = self.kept.setdefault(own.name, {})
        for at in wanted:
            unit = TYPES[own.letters[at]][1]
            if unit:
                kept.setdefault(own.labels[at], []).append((rows[str(at)].copy(), unit))

    def _parameters(self, names: NDArray[Any] | None, values: NDArray[Any] | None) -> None:
        parameters = self.contents.parameters
        if names is None or values is None or names.dtype.kind != "S" or values.dtype.kind not in "fiu":
            return
        for name, value in zip(names.tolist(), values.tolist(), strict=True):
            if len(parameters) < MOST_PARAMETERS:
                parameters[_text(name)] = float(value)

    def _texts(self, texts: NDArray[Any] | None) -> None:
        if texts is not None and texts.dtype.kind == "S" and len(self.contents.texts) < MOST_TEXTS:
            self.contents.texts += map(_text, texts.tolist())


def read(path: Path, options: Options) -> FlightRecord:
    try:
        with path.open("rb") as file:
            contents = parse(file, path.stat().st_size, options)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return as_record(path, "ArduPilot .bin", contents)


def parse(file: BinaryIO, size: int, options: Options = Options()) -> Contents:  # noqa: B008  frozen
    """Any bytes are taken: what is no row is skipped."""
    scan = _Scan()
    rest, done = b"", 0
    while True:
        new = file.read(PIECE_BYTES)
        piece = rest + new
        rest = piece[scan.piece(piece, last=not new) :]
        done += len(new)
        if options.progress is not None:
            options.progress(done, size)
        if not new:
            break
    contents = scan.contents
    for name, columns in scan.kept.items():
        rows = max(map(_rows, columns.values()), default=0)
        whole = [label for label, parts in columns.items() if _rows(parts) == rows]
        contents.columns[name] = {label: _joined(columns.pop(label)) for label in whole}
    if scan.skipped:
        contents.remarks.append(f"{scan.skipped} of {size} bytes belong to no row and were skipped.")
    return contents


def _rows(parts: list[Part]) -> int:
    return sum(len(values) for values, _ in parts)


def _joined(parts: list[Part]) -> Array:
    joined = np.empty(_rows(parts))
    at = 0
    for values, unit in parts:
        np.multiply(values, unit, out=joined[at : at + len(values)])
        at += len(values)
    return joined
