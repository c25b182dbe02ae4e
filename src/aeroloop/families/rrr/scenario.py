"""The keys that a 3-RRR robot adds to a scenario file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aeroloop.control.synchronisation_gains import LawName, SynchronisationTable
from aeroloop.core.config import Config, meta, note
from aeroloop.core.scenario import FamilyTables, Scenario
from aeroloop.families.rrr.disturbances import Disturbance
from aeroloop.families.rrr.plants import STEP_S
from aeroloop.families.rrr.reference import Reference
from aeroloop.families.rrr.robot import ROBOTS, Robot, RobotName
from aeroloop.sensors.noise import Errors


class RobotKind(Config, frozen=True):
    """Which robot."""

    kind: Annotated[Literal["rrr"], note("`rrr`, a planar parallel robot with three legs of two links")]
    robot: Annotated[
        RobotName,
        note(
            "`small`: triangles of 0.595 and 0.2 m, links of 0.2 m; `large`: triangles of 0.9 and 0.08 m, links of "
            "0.4 m"
        ),
    ] = "small"


class World(Config, frozen=True):
    """The simulated world, a horizontal plane."""

    step_s: Annotated[
        float,
        meta("s", "integration step (Runge-Kutta 4); the order of its error: docs/simulation.md", gt=0, le=STEP_S),
    ] = STEP_S
    model: Annotated[
        Literal["bodies", "reduced"],
        note(
            "`bodies`: links in MuJoCo, loops closed by constraints; `reduced`: equations in the platform's coordinates"
        ),
    ] = "bodies"


class EncoderErrors(Errors, frozen=True):
    """Errors of the encoders, in rad; `disturbance.kind` may add noise."""


class Sensors(Config, frozen=True):
    """Errors of what is measured once a control period."""

    encoders: Annotated[EncoderErrors, note("angles of the driven joints")] = EncoderErrors()


class Control(Config, frozen=True):
    """The board's control period."""

    period_s: Annotated[float, meta("s", "control period", ge=0.0005, le=0.004)] = 0.001


class JointSynchronisation(SynchronisationTable, frozen=True):
    """Law of the torques of the driven joints."""

    law: Annotated[LawName, note("as for rotors; a robot without feedback is not flown, so not `none`")] = (
        "smc-sync-pidnn"
    )
    evaluate_from_s: Annotated[float, meta("s", "metrics of the joints count from this time", ge=0, le=86400)] = 1.0


class RobotTables(FamilyTables, frozen=True, kw_only=True):
    """A 3-RRR robot."""

    vehicle: Annotated[RobotKind, note("which robot")]
    robot: Annotated[Robot, note("its dimensions, masses and motors")] = Robot()
    world: Annotated[World, note("the simulated world")] = World()
    sensors: Annotated[Sensors, note("the sensors")] = Sensors()
    control: Annotated[Control, note("the board's control period")] = Control()
    synchronisation: Annotated[JointSynchronisation, note("the law of the joints")] = JointSynchronisation()
    reference: Annotated[Reference, note("the path of the platform")] = Reference()
    disturbance: Annotated[Disturbance, note("what disturbs it")] = Disturbance()

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        vehicle, robot = table.get("vehicle"), table.get("robot", {})
        name: Any = vehicle.get("robot", "small") if isinstance(vehicle, dict) else None
        named = ROBOTS.get(name, {}) if name in tuple(ROBOTS) else {}  # of a tuple: it may be a list
        return {**table, "robot": {**named, **robot}} if isinstance(robot, dict) else table


RobotScenario = Scenario[RobotTables]
