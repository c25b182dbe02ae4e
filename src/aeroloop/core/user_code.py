"""Errors in a user's Python file in one sentence: file, line and reason."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType


def place(error: BaseException, belongs: Callable[[FrameType], bool]) -> str:
    """`FILE, line N` of the innermost call in the user's own code, or of a syntax error; empty if there is none."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}, line {error.lineno}"
    found, at = "", error.__traceback__
    while at:
        if belongs(at.tb_frame):
            found = f"{at.tb_frame.f_code.co_filename}, line {at.tb_lineno}"
        at = at.tb_next
    return found


def reason(error: BaseException) -> str:
    """Type and text of an error on one line, without CasADi's own source positions (`.../x.cpp:12: what`)."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((i for i in reversed(range(len(lines))) if lines[i].startswith(".../")), 0)
    told = " ".join(lines[first:])
    if told.startswith(".../"):
        told = told.partition(": ")[2]
    return f"{type(error).__name__}: {told}"
