"""Builds a tilt-rotor for a flight: multibody world, lagged actuators, sensors and surroundings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from aeroloop.actuators.faults import ActuatorFaults, Channel
from aeroloop.actuators.lagged import Actuators, LaggedActuators
from aeroloop.codegen.host import fastest
from aeroloop.core.bounds import beyond
from aeroloop.core.frames import Vec3, quat_from_euler
from aeroloop.core.signals import NS, Command, Effort, Place, Truth
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.balance import TiltrotorLedger
from aeroloop.families.tiltrotor.batch_channels import CHANNELS
from aeroloop.families.tiltrotor.design import parameters, simulated
from aeroloop.families.tiltrotor.rows import TiltrotorRows
from aeroloop.families.tiltrotor.scenario import ROTORS, SERVOS, TiltrotorScenario
from aeroloop.families.tiltrotor.sensing import Sensing
from aeroloop.families.tiltrotor.start import start_W
from aeroloop.families.tiltrotor.turning_earth import OnTurningEarth
from aeroloop.families.tiltrotor.turning_rotors import TurningRotors
from aeroloop.models.tiltrotor import equilibrium
from aeroloop.sensors.streams import Streams
from aeroloop.sensors.streams import streams as random_streams
from aeroloop.sim.balance import balanced
from aeroloop.sim.collisions import Solid
from aeroloop.sim.recorded_motion import Source, recorded
from aeroloop.sim.touchdown import touch_down
from aeroloop.sim.vehicle import Body, Driven, Motion, Stages, Vehicle
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.feet import Feet
from aeroloop.world.ground import Ground
from aeroloop.world.multibody import Dragged, Multibody
from aeroloop.world.surroundings import GroundHeight, Surroundings
from aeroloop.world.terrain import Flat, terrain
from aeroloop.world.wind import Wind


class _Weighed:
    """The earth with the gravity of the parameter set, which the design uses too."""

    def __init__(self, earth: Earth, gravity_m_s2: float) -> None:
        self._earth, self._gravity_m_s2 = earth, gravity_m_s2

    def place(self, pos_W: Vec3) -> Place:
        return self._earth.place(pos_W)._replace(gravity_m_s2=self._gravity_m_s2)


def build_world(scenario: TiltrotorScenario, ground: Ground | None = None) -> tuple[Multibody, Command]:
    """The aircraft in hover at the start of the flight, and the command that holds it there."""
    p = parameters(scenario.aircraft.vehicle.parameters)
    q_eq, u_eq, _ = equilibrium(p)
    table, scale = scenario.aircraft.world, scenario.aircraft.vehicle.scale
    flown = simulated(scenario)
    strength = scale.thrust_right, scale.thrust_left
    legs = scenario.aircraft.vehicle.legs
    springs = airframe.springs(legs.stiffness_N_m, legs.damping_Ns_m)
    on = Feet(springs, ground) if springs is not None else None
    sprung = springs is not None
    model = airframe.build(flown, table.step_s, ground, in_air=table.has_drag, strength=strength, sprung=sprung)
    turning = flown.rotor_inertia_kgm2 or flown.rotor_drag_Ns2_m
    world = TurningRotors(model, flown, on) if turning else Multibody(model, on)
    attitude = quat_from_euler(float(q_eq[3]), float(q_eq[4]), table.start_yaw_rad)
    pos_W, vel_W = start_W(scenario)
    world.reset(pos_W, attitude, (float(q_eq[6]), float(q_eq[7])), vel_W=vel_W)
    return world, tuple(u_eq.tolist())


def surroundings(
    scenario: TiltrotorScenario, start: Truth, streams: Streams, ground_m: GroundHeight | None
) -> tuple[Surroundings | None, Wind | None]:
    """Earth and air, and their wind; None if neither motion nor sensors depend on them."""
    if not scenario.aircraft.has_surroundings:
        return None, None
    table = scenario.aircraft.world
    earth = _Weighed(Earth(table.home), parameters(scenario.aircraft.vehicle.parameters).gravity_m_s2)
    wind = Wind(table.wind, streams.generator("wind"), fastest)
    return Surroundings(earth, Atmosphere(table.day), wind, start, ground_m), wind


def out_of_control(truth: Truth, bound_m: float) -> bool:
    """Beyond the bound, upside down, or a pod turned a whole turn; written so that NaN counts as lost too."""
    _, qx, qy, _ = truth.quat_WB
    upright = qx * qx + qy * qy < 0.5
    right, left = truth.tilt_rad
    pods_valid = abs(right) < math.pi and abs(left) < math.pi
    return beyond(truth.pos_W, bound_m) or not (upright and pods_valid)


def actuator_faults(limits: Actuators, actuators: LaggedActuators) -> ActuatorFaults:
    """Faults of rotors act on the thrust, those of servos on the torque."""

    def held(index: int) -> Callable[[], float]:
        return lambda: actuators.state[index]

    def weakened(thrust_N: float, fraction: float) -> float:
        return fraction * min(thrust_N, limits.thrust_max_N)

    rotors = [Channel(name, "rotor", held(index), weakened) for index, name in enumerate(ROTORS)]
    servos = [Channel(name, "servo", held(len(ROTORS) + index)) for index, name in enumerate(SERVOS)]
    return ActuatorFaults([*rotors, *servos])


def vehicle(
    scenario: TiltrotorScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[Effort, Truth]:
    table = scenario.aircraft.world
    ground = terrain(table.terrain)
    ground_m = None if isinstance(ground, Flat) else ground.height_m
    world, hover = build_world(scenario, ground)
    start = world.state(0)
    streams = random_streams(scenario.seed, scenario.noise, CHANNELS)
    around, wind = surroundings(scenario, start, streams, ground_m)
    actuators = LaggedActuators(scenario.aircraft.actuators, hover)
    rng = np.random.default_rng([scenario.seed, 1])
    sensing = Sensing(scenario.aircraft, start, around, ground_m, streams=streams, rng=rng)
    body: Body[Effort, Truth] = world
    drag = None
    if around is not None and table.has_drag:
        drag = airframe.drag(parameters(scenario.aircraft.vehicle.parameters))
        body = Dragged(world, drag, around)
    faults = actuator_faults(scenario.aircraft.actuators, actuators)
    changes: dict[str, Callable[[tuple[float, ...]], None]] = {
        "battery.voltage": faults.supply,
        "payload.mass_kg": world.carry,
    }
    if wind is not None and table.has_drag:
        changes["world.wind.steady_W"] = wind.set_steady
    rows = TiltrotorRows(publish, round(scenario.controller.control.period_s * NS), sensing.estimate)
    moved: Motion[Effort, Truth] = Driven(actuators, body)
    turning = None if table.turn_W is None else OnTurningEarth(moved, world, table.turn_W)
    ledger = None
    if scenario.log.balance:
        ledger = TiltrotorLedger(world, None if around is None else (around, drag), table.turn_W, turning)
    motion, sense = recorded(
        balanced(turning or moved, ledger, rows.balance),
        sensing.sense,
        sensing.history,
        Source(around, sensing.accel_W, None),
    )
    stages = Stages(
        motion=motion,
        surroundings=around,
        sense=sense,
        lost=lambda truth: out_of_control(truth, table.bound_m),
        contact=touch_down(lambda: world.touching, world.feet, publish["event"]),
        switch=sensing.switch,
        rows=rows,
        measure=sensing.measure,
        actuators=faults,
        changes=changes,
        solid=Solid(lambda: world.mass_properties, world.strike),
        see=sensing.see,
    )
    step_ns = round(table.step_s * NS)
    return Vehicle(stages, step_ns=step_ns, command=hover, first_effort=actuators.step(hover, 0))
