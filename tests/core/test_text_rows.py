"""Texts as numbers of a row, and back."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.text_rows import TEXT_BYTES, TEXT_COLUMNS, numbers_of, text_of


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50))
def test_a_text_comes_back_as_far_as_there_is_room(words: str) -> None:
    numbers = numbers_of(words)
    assert len(numbers) == len(TEXT_COLUMNS)
    assert all(number.is_integer() for number in numbers)
    assert text_of(numbers) == words.encode()[:TEXT_BYTES].decode(errors="replace")


@given(st.lists(st.floats(), min_size=len(TEXT_COLUMNS), max_size=len(TEXT_COLUMNS)))
def test_numbers_that_are_no_text_are_read_without_an_error(numbers: list[float]) -> None:
    assert isinstance(text_of([math.floor(n) if math.isfinite(n) else n for n in numbers]), str)
