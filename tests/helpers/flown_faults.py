"""Flights with faults that are planned, and with the same switches as from somebody at the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from aeroloop.core.faults import PlannedFault
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.flight.inline import InlineFlight
from aeroloop.recording.log import log_sha256
from aeroloop.sim.loop import Craft

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "aircraft"
SLED = str(EXAMPLES / "sled.toml")


def opened(name: str, duration_s: float, *overrides: str) -> Scenario:
    path = Path(name) if name.endswith(".toml") else find(name)
    return load(path, (f"duration_s={duration_s}", "checks=[]", *overrides))


def by_hand(faults: Sequence[PlannedFault]) -> Callable[[Sequence[Craft]], None]:
    """The same switches as from somebody at the page, in the plan since some time of the flight."""
    switches = [(round(f.from_s * NS), 1, f.switch(on=True)) for f in faults]
    switches += [(round(f.to_s * NS), 0, f.switch(on=False)) for f in faults if f.to_s is not None]
    waiting = sorted(switches, key=lambda item: item[:2])

    def attend(fleet: Sequence[Craft]) -> None:
        while waiting:
            at_ns, _, switch = waiting.pop(0)
            fleet[0].plan.add(at_ns, switch)

    return attend


def sha(flight: InlineFlight) -> str:
    return log_sha256(flight.logs[0])
