"""How many flights a campaign file asks for, and how many at most: counted before any of them is planned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aeroloop.campaign.statistics import RateTest

if TYPE_CHECKING:
    from aeroloop.campaign.definition import Definition

MOST_FLIGHTS = {"bench": 100_000, "batch": 10_000_000}
"""Of one campaign, by engine. The bench plans all of its flights before it flies the first, a scenario of its own for
each; a batch has a number for each parameter of a flight."""


@dataclass(frozen=True)
class Design:
    points: int  # drawn; each is flown at all combinations of the grids, with each of its noise seeds
    combinations: int
    seeds_per_point: int
    remark: str = ""  # for the user, where the number differs from that in the file

    @property
    def flights(self) -> int:
        return self.points * self.combinations * self.seeds_per_point


def design_of(definition: Definition) -> Design:
    if definition.sensitivity is not None:
        return Design(definition.sensitivity.samples * (len(definition.parameter) + 2), 1, 1)
    combinations = math.prod(each.count or 1 for each in definition.parameter)
    each = combinations * definition.seeds_per_point
    if definition.design == "grid" or definition.sweep:  # of a sweep: the fault-free flights
        return Design(1, combinations, definition.seeds_per_point)
    wanted = definition.flights or 0
    points = math.ceil(wanted / each)
    if definition.design == "sobol":
        points = 1 << max(0, points - 1).bit_length()
    design = Design(points, combinations, definition.seeds_per_point)
    if design.flights == wanted:
        return design
    why = "a Sobol design needs a power of two" if definition.design == "sobol" else "each point is flown completely"
    remark = f"{design.flights} flights instead of {wanted}: {why} ({points} points of {each} {_noun(each)})"
    return Design(points, combinations, definition.seeds_per_point, remark)


def check_size(definition: Definition) -> None:
    """ValueError names the key that asks for too many flights. Of a sweep the fault-free ones are counted, of a search
    those of its first points."""
    most = MOST_FLIGHTS[definition.engine]
    if definition.search is not None:
        search = definition.search
        points = math.prod(search.scanned(axis) for axis in search.axes)
        count = points * min(RateTest(search.pass_rate).missing([]), search.most_per_point)
        asked = f"search.scan: its {points} points ask for at least {count} flights"
    else:
        design = design_of(definition)
        count, each = design.flights, design.combinations * design.seeds_per_point
        if definition.sensitivity is not None:
            asked = f"sensitivity.samples: asks for {count} flights with {len(definition.parameter)} parameters"
        elif each > most:
            asked = f"parameter: the grids ask for {count} flights with {design.seeds_per_point} seeds_per_point"
        else:
            asked = f"flights: the design has {count}"
    if count > most:
        raise ValueError(f'{asked}; expected at most {most} with engine = "{definition.engine}"')


def _noun(count: int) -> str:
    return "flight" if count == 1 else "flights"
