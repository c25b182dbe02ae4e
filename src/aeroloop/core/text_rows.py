"""A text of an autopilot (STATUSTEXT) as numbers: rows of a stream contain numbers only, six bytes of UTF-8 each."""

from __future__ import annotations

import math

TEXT_BYTES = 54
BYTES_EACH = 6
TEXT_COLUMNS = tuple(f"text_{number}" for number in range(1, TEXT_BYTES // BYTES_EACH + 1))
_LARGEST = 256**BYTES_EACH


def numbers_of(words: str) -> tuple[float, ...]:
    """Texts longer than a STATUSTEXT are cut."""
    data = words.encode()[:TEXT_BYTES].ljust(TEXT_BYTES, b"\0")
    return tuple(float(int.from_bytes(data[at : at + BYTES_EACH])) for at in range(0, TEXT_BYTES, BYTES_EACH))


def text_of(numbers: tuple[float, ...] | list[float]) -> str:
    valid = [math.isfinite(number) and 0 <= number < _LARGEST for number in numbers]
    data = b"".join(int(number).to_bytes(BYTES_EACH) if ok else b"" for number, ok in zip(numbers, valid, strict=True))
    return data.rstrip(b"\0").decode(errors="replace")
