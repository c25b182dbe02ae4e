"""The rocket's vehicle: motor, body, ground and sensors as stages of the bench's vehicle."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
from rocket.airframe import Motor, Rocket, flown
from rocket.guidance import reference
from rocket.law import PERIOD_S
from rocket.model import MASS, step
from rocket.scenario import RocketScenario, Sensors, World

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import fastest
from aeroloop.core.bounds import beyond
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import Offer, of_actuators
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.frames import GRAVITY_M_S2, Quat, Vec3
from aeroloop.core.signals import NS
from aeroloop.sensors import noise
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Driven, Stages, TouchDown, Vehicle

MOTORS, GIMBALS = ("motor",), ("gimbal_x", "gimbal_y")
"""Elements of the command, in this order, each of which can fail."""


@dataclass(frozen=True, slots=True)
class State:
    pos_W: Vec3
    quat_WB: Quat
    vel_W: Vec3
    rate_B: Vec3
    mass_kg: float


@dataclass(frozen=True, slots=True)
class Effort:
    thrust_N: float
    gimbal_rad: tuple[float, float]


class GimballedMotor:
    """Thrust and both angles follow their commands with first-order lags, within their limits."""

    def __init__(self, motor: Motor) -> None:
        self._motor = motor
        self._now = (0.0, 0.0, 0.0)

    def step(self, command: tuple[float, ...], dt_ns: int) -> Effort:
        motor, dt_s = self._motor, dt_ns / NS
        throttle, gimbal_x, gimbal_y = command
        burning = min(max(throttle, motor.throttle_min), 1.0) if throttle > 0.0 else 0.0
        most = motor.gimbal_max_rad
        wanted = (burning, min(max(gimbal_x, -most), most), min(max(gimbal_y, -most), most))
        lags_s = (motor.throttle_lag_s, motor.gimbal_lag_s, motor.gimbal_lag_s)
        ways = (-math.expm1(-dt_s / lag_s) for lag_s in lags_s)
        x, y, z = (now + way * (to - now) for now, to, way in zip(self._now, wanted, ways, strict=True))
        self._now = (x, y, z)
        return Effort(x * motor.thrust_max_N, (y, z))


class Hull:
    """The body in the air and on its legs. A touchdown within the limits of the legs leaves it upright."""

    def __init__(self, rocket: Rocket, world: World) -> None:
        self._rocket, self._air = rocket, (*world.wind_W, world.density_kg_m3)
        self._run = fastest(step(rocket))
        self._state = [0.0, 0.0, rocket.body.legs_m, 1.0, *(0.0,) * 9, rocket.full_kg]
        self.standing, self.wrecked = True, False

    def step(self, effort: Effort, dt_ns: int) -> None:
        body, mass_kg, run = self._rocket.body, self._state[MASS], self._run
        lifts = effort.thrust_N > mass_kg * GRAVITY_M_S2 and mass_kg > body.dry_kg
        run.inputs[0][:] = self._state
        run.inputs[1][:] = (effort.thrust_N, *effort.gimbal_rad, *self._air)
        run.inputs[2][:] = dt_ns / NS
        run()
        after = run.outputs[0].tolist()
        length = math.hypot(*after[3:7])
        after[3:7] = [part / length for part in after[3:7]]
        if self.standing and not lifts:
            after = [*self._state[:2], body.legs_m, 1.0, *(0.0,) * 9, after[MASS]]
        elif after[2] <= body.legs_m and after[9] < 0.0:
            self.standing, self.wrecked = True, self._too_hard(after)
        else:
            self.standing = False
        self._state = after

    def _too_hard(self, at: list[float]) -> bool:
        landing = self._rocket.landing
        lean_rad = 2.0 * math.asin(min(1.0, math.hypot(at[4], at[5])))
        return math.hypot(*at[7:10]) > landing.speed_max_m_s or lean_rad > landing.tilt_max_rad

    def state(self, t_ns: int) -> State:
        x, y, z, qw, qx, qy, qz, vx, vy, vz, p, q, r, mass_kg = self._state
        return State((x, y, z), (qw, qx, qy, qz), (vx, vy, vz), (p, q, r), mass_kg)


class Instruments:
    """What the board is sent once a control period, each channel with its own errors."""

    def __init__(self, sensors: Sensors, streams: noise.Streams) -> None:
        def channel(name: str, errors: noise.Errors) -> noise.Channel:
            return noise.Channel(errors, PERIOD_S, 3, streams.child(name))

        self._position = channel("position", sensors.position)
        self._velocity = channel("velocity", sensors.velocity)
        self._attitude = channel("attitude", sensors.attitude)
        self._rate = channel("rate", sensors.rate)

    def measure(self, state: State) -> tuple[float, ...]:
        pos_W = self._position.measure3(*state.pos_W, 1)
        vel_W = self._velocity.measure3(*state.vel_W, 1)
        quat_WB = _turned(state.quat_WB, self._attitude.measure3(0.0, 0.0, 0.0, 1))
        return (*pos_W, *vel_W, *quat_WB, *self._rate.measure3(*state.rate_B, 1))


def _turned(quat: Quat, angle_B: Vec3) -> Quat:
    """By a small rotation vector in body axes."""
    w, x, y, z = quat
    a, b, c = (angle / 2 for angle in angle_B)
    return w - x * a - y * b - z * c, x + w * a + y * c - z * b, y + w * b + z * a - x * c, z + w * c + x * b - y * a


class Rows(CommonRows):
    def __init__(self, publish: Mapping[str, Callable[..., None]], scenario: RocketScenario) -> None:
        super().__init__(publish)
        t_s = ca.SX.sym("t_s")
        self._reference = Evaluator(ca.Function("reference", [t_s], [ca.vertcat(*reference(scenario, t_s)[:2])]))

    def step(self, vehicle: Vehicle[Effort, State], effort: Effort, samples: list[Any]) -> None:
        t_s, state, wanted = vehicle.t_ns / NS, vehicle.state, self._reference
        wanted.inputs[0][:] = t_s
        wanted()
        self._publish["truth"](t_s, *state.pos_W, *state.vel_W, *state.quat_WB, *state.rate_B)
        self._publish["setpoint"](t_s, *wanted.outputs[0].tolist())
        self._publish["effort"](t_s, effort.thrust_N, *effort.gimbal_rad, state.mass_kg)


def no_sensor_faults(switch: Switch) -> Switched:
    raise ConfigError(f"{switch.target}: of a rocket only the motor and its gimbal fail")


def fault_offers(scenario: RocketScenario) -> tuple[Offer, ...]:
    return of_actuators(MOTORS, GIMBALS)


def vehicle(
    scenario: RocketScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[Effort, State]:
    rocket, world = flown(scenario), scenario.aircraft.world
    hull = Hull(rocket, world)
    streams = noise.Streams(scenario.seed)
    touch_down = TouchDown(lambda: hull.standing)
    stages = Stages(
        motion=Driven(GimballedMotor(rocket.motor), hull),
        surroundings=None,
        sense=lambda state, effort: [],
        lost=lambda state: beyond(state.pos_W, world.bound_m),
        contact=lambda t_ns, state: "crashed" if hull.wrecked else touch_down(t_ns, state),
        switch=no_sensor_faults,
        rows=Rows(publish, scenario),
        measure=Instruments(scenario.aircraft.sensors, streams).measure,
        actuators=ActuatorFaults([*(Channel(n, "rotor") for n in MOTORS), *(Channel(n, "servo") for n in GIMBALS)]),
    )
    off = Effort(0.0, (0.0, 0.0))
    return Vehicle(stages, step_ns=round(world.step_s * NS), command=(0.0, 0.0, 0.0), first_effort=off)
