"""The keys that a sled adds to a scenario file."""

from typing import Annotated

from aeroloop.core.config import Config, meta, note
from aeroloop.core.scenario import FamilyTables, Scenario


class Sled(Config, frozen=True):
    """Which sled."""

    kind: Annotated[str, note("this folder")]
    mass_kg: Annotated[float, meta("kg", "mass", gt=0)] = 2.0
    friction_Ns_m: Annotated[float, meta("N s/m", "friction on the rail", ge=0)] = 0.4
    start_m: Annotated[float, meta("m", "start position")] = 0.0


class World(Config, frozen=True):
    """The rail."""

    step_s: Annotated[float, meta("s", "integration step", gt=0, le=0.1)] = 0.005
    length_m: Annotated[float, meta("m", "half its length; beyond it the sled has fallen off", gt=0)] = 20.0


class Goal(Config, frozen=True):
    """Setpoint of the law."""

    x_m: Annotated[float, meta("m", "where to stop")] = 5.0


class SledTables(FamilyTables, frozen=True, kw_only=True):
    """A sled on a rail."""

    vehicle: Sled
    world: World = World()
    goal: Goal = Goal()


SledScenario = Scenario[SledTables]
