"""The robot with its motors, encoders and references, as stages of the bench's vehicle. It has no air and no ground."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ROBOT_TARGETS, Switch, Switched
from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import NS
from aeroloop.families.rrr import disturbances
from aeroloop.families.rrr.balance import EnergyLedger
from aeroloop.families.rrr.disturbances import Acting
from aeroloop.families.rrr.faults import MOTORS, BodyFaults, EncoderFaults
from aeroloop.families.rrr.kinematics import Kinematics, Pose, Reached
from aeroloop.families.rrr.plants import Multibody, Plant, Reduced
from aeroloop.families.rrr.reference import Wanted
from aeroloop.families.rrr.robot import LEGS, PLANE_M, Robot
from aeroloop.families.rrr.scenario import RobotScenario
from aeroloop.sensors import noise
from aeroloop.sim.balance import balanced
from aeroloop.sim.exchange import Row
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Stages, Vehicle

Effort = tuple[float, ...]
WORLDS: Mapping[str, Callable[[Robot, Sequence[float]], Plant]] = {"bodies": Multibody, "reduced": Reduced}


@dataclass(frozen=True, slots=True)
class State:
    """Of the platform and the legs."""

    t_s: float
    pose: Pose
    rate: tuple[float, float, float]
    q: tuple[float, ...]
    reached: Reached
    broken: bool  # the simulation has no finite state any more; this is the last one

    @property
    def pos_W(self) -> Vec3:
        return self.pose[0], self.pose[1], PLANE_M

    @property
    def vel_W(self) -> Vec3:
        return self.rate[0], self.rate[1], 0.0

    @property
    def quat_WB(self) -> Quat:
        return math.cos(self.pose[2] / 2), 0.0, 0.0, math.sin(self.pose[2] / 2)


class RobotMotion:
    """Motors and bodies, with what disturbs them."""

    def __init__(self, scenario: RobotScenario, plant: Plant) -> None:
        tables = scenario.aircraft
        self._robot, self._disturbance, self._plant = tables.robot, tables.disturbance, plant
        self._kinematics = Kinematics(tables.robot)
        self._faults = BodyFaults()
        self._t_ns = 0
        self._now = self._looked(0, plant)

    def drive(self, command: Row, dt_ns: int) -> Effort:
        most = self._robot.torque_max_Nm
        acts = self.acting()
        self._plant.step([min(max(torque, -most), most) for torque in command], acts, dt_ns / NS)
        self._t_ns += dt_ns
        return tuple(share * torque for share, torque in zip(acts.shares, self._plant.torque, strict=True))

    def acting(self) -> Acting:
        """What acts in the next step."""
        return disturbances.acting(self._robot, self._disturbance, self._t_ns / NS, self._faults.added)

    def switch(self, switch: Switch) -> Switched:
        return self._faults.switch(switch, self._t_ns / NS)

    def state(self, t_ns: int) -> State:
        self._now = self._looked(t_ns, self._plant)
        return self._now

    def _looked(self, t_ns: int, plant: Plant) -> State:
        x, y, angle, *rate = motion = plant.motion
        q = tuple(plant.q)
        if not all(map(math.isfinite, (*motion, *q))):
            was = self._now
            return State(t_ns / NS, was.pose, was.rate, was.q, was.reached, broken=True)
        pose = x, y, angle
        return State(t_ns / NS, pose, (rate[0], rate[1], rate[2]), q, self._kinematics.at(pose), broken=False)


def lost(state: State) -> bool:
    """Outside the workspace, or past a guard of a singularity."""
    return state.broken or bool(state.reached.problem)


class Encoders:
    """What the board is sent once a control period: measured angles, then the references."""

    def __init__(self, scenario: RobotScenario, wanted: Wanted) -> None:
        tables, streams = scenario.aircraft, noise.Streams(scenario.seed)
        self._wanted = wanted
        self._channels = [
            noise.Channel(errors, tables.control.period_s, LEGS, streams.child(name))
            for name, errors in (
                ("encoders", tables.sensors.encoders),
                ("disturbance", noise.Errors(white_std=tables.disturbance.encoder_noise_rad)),
            )
        ]
        self.faults = EncoderFaults(self._channels[0])
        self._last: Vec3 | None = None

    def measure(self, state: State) -> Row:
        a, b, c = state.q
        for channel in self._channels:
            a, b, c = channel.measure3(a, b, c, 1)
        if self.faults.frozen and self._last is not None:
            a, b, c = self._last
        self._last = a, b, c
        return (a, b, c, *self._wanted.at(state.t_s)[1])


class Rows(CommonRows):
    def __init__(self, publish: Mapping[str, Callable[..., None]], wanted: Wanted) -> None:
        super().__init__(publish)
        self._wanted = wanted

    def step(self, vehicle: Vehicle[Effort, State], effort: Effort, samples: list[Any]) -> None:
        t_s, state = vehicle.t_ns / NS, vehicle.state
        (x, y, angle, vx, vy, _), joints = self._wanted.at(t_s)
        errors = [wanted - q for wanted, q in zip(joints[:LEGS], state.q, strict=True)]
        mean = sum(errors) / LEGS
        # A leg that does not reach the platform any more has no direction.
        distal = (angle if math.isfinite(angle) else 0.0 for angle in state.reached.distal)
        publish = self._publish
        publish["truth"](t_s, *state.pos_W, *state.vel_W, *state.quat_WB, 0.0, 0.0, state.rate[2], state.pose[2])
        publish["setpoint"](t_s, x, y, PLANE_M, vx, vy, 0.0, angle)
        publish["joints"](t_s, *state.q, *distal, *errors, *(error - mean for error in errors))
        publish["effort"](t_s, *effort)


def switcher(motion: RobotMotion, encoders: Encoders) -> Callable[[Switch], Switched]:
    """Switches the faults that are not the motors'."""

    def switch(switch: Switch) -> Switched:
        if switch.target == "encoder":
            return encoders.faults.switch(switch)
        if switch.target in ROBOT_TARGETS:
            return motion.switch(switch)
        raise ConfigError(f"{switch.target}: this robot has none; expected one of: rotor, joint, platform, encoder")

    return switch


def vehicle(scenario: RobotScenario, number: int, publish: Mapping[str, Callable[..., None]]) -> Vehicle[Effort, State]:
    tables = scenario.aircraft
    wanted = Wanted(tables.robot, tables.reference)
    plant = WORLDS[tables.world.model](tables.robot, wanted.at(0.0)[0])
    motion, encoders = RobotMotion(scenario, plant), Encoders(scenario, wanted)
    rows = Rows(publish, wanted)
    ledger = EnergyLedger(plant, motion.acting, tables.robot.torque_lag_s) if scenario.log.balance else None
    stages = Stages(
        motion=balanced(motion, ledger, rows.balance),
        surroundings=None,
        sense=lambda state, effort: [],
        lost=lost,
        contact=lambda t_ns, state: None,
        switch=switcher(motion, encoders),
        rows=rows,
        measure=encoders.measure,
        actuators=ActuatorFaults([Channel(name, "rotor") for name in MOTORS]),
    )
    still = (0.0,) * LEGS
    return Vehicle(stages, step_ns=round(tables.world.step_s * NS), command=still, first_effort=still)
