"""An airframe file as a list of entries: each value with where it comes from, and whether it is known or to fill in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aeroloop.core.config import override

FILL_IN = "FILL IN"


@dataclass(frozen=True)
class Entry:
    key: str  # table and name, as `rotors.spin`
    value: Any  # number, text, or lists of them
    origin: str  # of the value
    known: bool = True  # False: assumed; the user fills it in


def rounded(value: Any) -> Any:
    """Nine digits: those of a file are unchanged, and rounding errors of sums disappear."""
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-15 else float(f"{value:.9g}")
    if hasattr(value, "tolist"):
        return rounded(value.tolist())
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


def as_toml(title: Sequence[str], entries: Iterable[Entry], drawn: Sequence[dict[str, Any]]) -> str:
    """Comments, tables in the order of the entries, then the parts that are drawn."""
    lines, table = [f"# {line}" for line in title], ""
    for entry in entries:
        within, _, key = entry.key.rpartition(".")
        if within != table:
            lines += ["", f"[{within}]"]
            table = within
        mark = "" if entry.known else f"{FILL_IN}: "
        lines.append(f"{_assigned(key, entry.value)} # {mark}{entry.origin}")
    for part in drawn:
        lines += ["", "[[drawn]]", *(_assigned(key, value) for key, value in part.items())]
    return "\n".join([*lines, ""])


def _assigned(key: str, value: Any) -> str:
    _, _, literal = override(key, rounded(value)).partition("=")
    return f"{key} = {literal}"
