"""What a part of the firmware takes of an image: the functions of one of its files, by the image's symbols.

Global symbols do not name their file: the functions of a file are its local ones, and the global ones with the prefix
that all of them have.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aeroloop.core.errors import AeroloopError

MAGIC = b"\x7fELF\x01\x01"  # 32 bits, little endian
HEADER = struct.Struct("<16s2H5I6H")
SECTION = struct.Struct("<10I")
SYMBOL = struct.Struct("<3I2BH")
SYMBOLS, EMPTY, IN_MEMORY = 2, 8, 2
"""Section types SYMTAB and NOBITS, and the flag ALLOC."""
FUNCTION, FILE = 2, 4
GLOBAL = 1


@dataclass(frozen=True)
class Share:
    """Bytes of a part, and of the whole image in flash."""

    part_B: int
    flash_B: int

    @property
    def pct(self) -> float:
        return 100.0 * self.part_B / self.flash_B


@dataclass(frozen=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def share(elf: Path, file: str, prefix: str) -> Share:
    """Of the functions of a file such as `kernel.c`, whose global functions begin with the prefix."""
    data = elf.read_bytes()
    try:
        sections = _sections(data)
        flash_B = sum(each.size for each in sections if each.flags & IN_MEMORY and each.kind != EMPTY)
        sizes = {
            name: size
            for name, of_file, size in _functions(data, sections)
            if (name.startswith(prefix) if of_file is None else of_file == file)
        }
    except (struct.error, IndexError, ValueError):
        raise AeroloopError(f"{elf}: not an image with symbols; expected an ELF file of 32 bits") from None
    return Share(sum(sizes.values()), flash_B)


def _sections(data: bytes) -> list[_Section]:
    if not data.startswith(MAGIC):
        raise ValueError("no ELF file")
    header = HEADER.unpack_from(data)
    at, entry, count = header[6], header[11], header[12]
    rows = [SECTION.unpack_from(data, at + entry * index) for index in range(count)]
    return [_Section(row[1], row[2], row[4], row[5], row[6]) for row in rows]


def _functions(data: bytes, sections: list[_Section]) -> Iterator[tuple[str, str | None, int]]:
    """Name, file (None: a global function) and size."""
    [table] = [each for each in sections if each.kind == SYMBOLS]
    names, file = sections[table.link].offset, ""
    for at in range(table.offset, table.offset + table.size, SYMBOL.size):
        name_at, _, size, info, _, _ = SYMBOL.unpack_from(data, at)
        name = data[names + name_at : data.index(b"\0", names + name_at)].decode("ascii", "replace")
        if info & 0xF == FILE:
            file = name
        elif info & 0xF == FUNCTION:
            yield name, None if info >> 4 == GLOBAL else file, size
