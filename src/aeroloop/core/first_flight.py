"""What `aeroloop new` writes for an own aircraft of a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FirstFlight:
    """A scenario that flies at once, and the shipped airframe that it flies: a family's row names it."""

    file: str
    flight: Callable[[str], str]  # scenario name -> content of `file`
    airframe: Path
