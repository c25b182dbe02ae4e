"""The plants of the synchronisation tables, and the flights of a selection."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from aeroloop.campaign.plant import NONE, Cell, Plant
from aeroloop.campaign.plant_robot import RRR
from aeroloop.campaign.plant_rotors import QUAD
from aeroloop.core.errors import ConfigError
from aeroloop.core.suggest import did_you_mean

PLANTS = {plant.key: plant for plant in (RRR, QUAD)}


def selected(keys: Sequence[str], laws: Sequence[str] = (), disturbances: Sequence[str] = ()) -> list[Cell]:
    """The flights of some plants' tables. Of a name that one plant does not have, the others fly their cells."""
    plants = [PLANTS[key] for key in keys]
    known_laws = dict.fromkeys(law for plant in plants for law in plant.can_fly)
    known_rows = dict.fromkeys(name for plant in plants for name in plant.rows)
    _check("--laws", laws, tuple(known_laws))
    _check("--disturbances", disturbances, tuple(known_rows))
    found = []
    for plant in plants:
        own = [law for law in laws if law in plant.can_fly], [name for name in disturbances if name in plant.rows]
        if (own[0] or not laws) and (own[1] or not disturbances):
            found += cells(plant, *own)
    if not found:
        raise ConfigError(f"--laws, --disturbances: {' and '.join(keys)} cannot fly this selection")
    return found


def cells(plant: Plant, laws: Sequence[str] = (), disturbances: Sequence[str] = ()) -> list[Cell]:
    """The whole table with its extra cells; or a selection, with the undisturbed flight of each controller."""
    if not laws and not disturbances:
        whole = (*product(plant.laws, plant.disturbances), *plant.extra)
        return [Cell(plant.key, *cell) for cell in whole]
    rows = tuple(dict.fromkeys((NONE, *disturbances))) if disturbances else tuple(plant.disturbances)
    columns = tuple(dict.fromkeys(laws)) or plant.laws
    return [Cell(plant.key, *cell) for cell in product(columns, rows)]


def _check(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            like = did_you_mean(name, known)
            raise ConfigError(f"{option} {name}: unknown{like}, expected some of: {', '.join(known)}")
