"""Several aircraft in one simulation: each part of a fleet is a scenario of one family and controller, unchanged from a
flight alone.

A file with `[[aircraft]]` is a fleet (`core/fleet_files.py`); a file with `[vehicle]` is a scenario, a fleet of one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec

from aeroloop.core.scenario import Common, Scenario

AIRCRAFT = "aircraft"
"""The key of a file's array of parts."""
OF_THE_FLEET = ("summary", "open_ended", "pace", "busy_processes")
"""Keys that all parts share; a part's table does not have them."""
OF_A_PART = ("controller", "link", "view", "checks", "faults", "changes")
"""Common keys that each part has separately."""


@dataclass(frozen=True)
class Fleet:
    """Parts with distinct names that fly at the same time, each in its own world."""

    common: Common
    parts: tuple[Scenario, ...]

    @property
    def name(self) -> str:
        return self.common.name

    @property
    def summary(self) -> str:
        return self.common.summary

    @property
    def seed(self) -> int:
        return self.common.seed

    @property
    def open_ended(self) -> bool:
        return self.common.open_ended

    @property
    def pace(self) -> str:
        return self.common.pace

    @property
    def lockstep(self) -> bool:
        return self.common.lockstep

    @property
    def speed(self) -> float:
        return self.common.speed

    @property
    def busy_processes(self) -> int:
        return self.common.busy_processes

    @property
    def duration_s(self) -> float:
        """That of the longest part."""
        return max(part.duration_s for part in self.parts)

    @property
    def loop(self) -> str:
        """The rung; if parts differ, all of them."""
        return "+".join(dict.fromkeys(part.loop for part in self.parts))

    def flat(self) -> dict[str, Any]:
        """As in its file, with every setting."""
        top = {key: value for key, value in msgspec.to_builtins(self.common).items() if key not in OF_A_PART}
        parts = [{k: v for k, v in part.flat().items() if k not in OF_THE_FLEET} for part in self.parts]
        return {**top, AIRCRAFT: parts}


Plan = Scenario | Fleet
"""The content of a scenario file."""


def parts_of(plan: Plan) -> tuple[Scenario, ...]:
    return plan.parts if isinstance(plan, Fleet) else (plan,)


def prefix(plan: Plan, part: Scenario) -> str:
    """Prefix for the names of a part's log channels and processes; empty for a single scenario."""
    return f"{part.name}/" if isinstance(plan, Fleet) else ""


def part_key(fleet: Fleet, part: Scenario) -> str:
    """The key of a part in its file."""
    return f"{AIRCRAFT}[{fleet.parts.index(part)}]"


def seed_of(seed: int, number: int) -> int:
    """The seed of aircraft `number` of several; the first uses the scenario's own."""
    if number == 0:
        return seed
    return int.from_bytes(hashlib.blake2b(f"{seed} vehicle-{number}".encode(), digest_size=6).digest())
