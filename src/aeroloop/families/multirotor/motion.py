"""A multirotor's motion: one call of the compiled step while it is clear of the ground, motors and MuJoCo near it.

The motion and the rotors' speeds are transferred in both directions at `Rigid.low_m`. Both steps have the same
equations and differ only in the last digits. Wind is computed outside: it has its own state and random numbers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from aeroloop.actuators.motors import Motors, RotorEffort, gains
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Air, Place, RigidState, new_tuple
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.blade_loads import BladeLoads
from aeroloop.families.multirotor.step_function import MOTION, Columns, step_function
from aeroloop.models import rotor_aerodynamics
from aeroloop.sensors.rangefinder import beam_ground_m
from aeroloop.sensors.scene import Mat3, body_from_world, times
from aeroloop.world.atmosphere import HIGHEST_M, LOWEST_M, Atmosphere
from aeroloop.world.earth import CELL_M, Earth
from aeroloop.world.flight_model import Runner
from aeroloop.world.rigid import Rigid
from aeroloop.world.surroundings import GroundHeight, Surroundings

Supply = Callable[[RotorEffort, Air], tuple[float, float]]
"""Current of the motors (A) and thrust of all rotors (N)."""

_HALF_CELL_M = CELL_M / 2
_AIR = struct.Struct("5d")


@dataclass(frozen=True)
class Parts:
    """The parts that step near the ground; the compiled step uses their numbers."""

    airframe: Airframe
    motors: Motors
    world: Rigid[RotorEffort]
    around: Surroundings
    earth: Earth
    atmosphere: Atmosphere
    blades: BladeLoads | None = None  # those of `world`, of an airframe with aerodynamics of its rotors


class MultirotorMotion:
    """Motion of a vehicle and its surroundings, as `sim.vehicle` has them."""

    def __init__(self, parts: Parts, run: Callable[[ca.Function], Runner] | None) -> None:
        """`run` makes the step callable, compiled or not; None: motors and MuJoCo step in free air too."""
        self._motors, self._world, self._around = parts.motors, parts.world, parts.around
        self._earth, self._atmosphere = parts.earth, parts.atmosphere
        self._motor, self._empty_kg = parts.airframe.motors, parts.airframe.body.mass_kg
        self._low_m = parts.world.low_m if run is not None else math.inf
        rotors = parts.airframe.rotors.count
        self._at = at = Columns(rotors)
        self._mean, self._spin_up = slice(at.mean, at.spin_up), slice(at.spin_up, at.saturated)
        self._saturated = at.saturated
        function = step_function(rotors, parts.blades is not None)
        self._evaluator = step = (run or Evaluator)(function)  # its `run` does not keep it alive
        self._run = step.run
        self._inputs = dict(zip(function.name_in(), step.inputs, strict=True))
        for name, values in _parameters(parts).items():
            self._inputs[name][:] = values
        self._output = step.outputs[0]
        self._columns, self._unpack = self._output.data, struct.Struct(f"{at.count}d").unpack
        self._before, self._after = self._inputs["state"].data, self._output[: self._at.state].data
        self._commands = struct.Struct(f"{rotors}d")
        self._command, self._air = self._inputs["command"].data, self._inputs["air"].data
        self._dt_ns = 0
        self._two_steps_s = 0.0
        self._wind_W: Vec3 = (0.0, 0.0, 0.0)
        self._cell: Vec3 = (0.0, 0.0, 0.0)  # its middle
        self._high = False
        self._held_ns = -1  # time for which it is still held; below 0 it is free
        self._row: Sequence[float] = self._world.motion
        """The last step's `Columns`; near the ground the motion alone."""

    def drive(self, command: Sequence[float], dt_ns: int) -> RotorEffort:
        if dt_ns != self._dt_ns:
            self._set_step(dt_ns)
        if self._held_ns > 0:
            self._held_ns = max(self._held_ns - dt_ns, 0)
            return self._motors.step(command, dt_ns)
        self._held_ns = -1
        row = self._row
        rises_m_s = row[9]
        # As `Rigid` searches contacts; false for a height that is NaN.
        high = row[2] + (self._two_steps_s * rises_m_s if rises_m_s < 0.0 else 0.0) > self._low_m
        if high is not self._high:
            self._hand_over(high)
        if not high:
            effort = self._motors.step(command, dt_ns)
            self._world.step(effort, self._around.air, self._around.place.gravity_m_s2, dt_ns)
            self._row = self._world.motion
            return effort
        self._before[:] = self._after
        self._commands.pack_into(self._command, 0, *command)
        self._run()
        # As a tuple, in half the time of numpy's list; its slices are tuples too.
        self._row = row = self._unpack(self._columns)
        saturated = self._saturated
        limits = row[saturated] > 0.0, row[saturated + 1] > 0.0
        return new_tuple(RotorEffort, (row[self._mean], row[self._spin_up], *limits))

    @property
    def free(self) -> bool:
        """Whether neither ground nor stand holds it."""
        return self._held_ns <= 0 and (self._high or not self._world.near_ground)

    @property
    def held_air(self) -> tuple[Vec3, float, float]:
        """Wind, density and gravity that the next step holds: those of the last point of the grid."""
        if self._high:
            x, y, z, density_kg_m3, gravity_m_s2 = _AIR.unpack_from(self._air)
            return (x, y, z), density_kg_m3, gravity_m_s2
        air = self._around.air
        return air.wind_W, air.density_kg_m3, self._around.place.gravity_m_s2

    @property
    def held_motion(self) -> Sequence[float]:
        """The motion from which the next step holds its loads, as `Rigid.motion`."""
        return self._row[:MOTION] if self._high else self._world.motion

    @property
    def speed_rad_s(self) -> Sequence[float]:
        """Present speed of each rotor."""
        return self._row[MOTION : self._at.state] if self._high else self._motors.speed_rad_s

    def reset(self, motion: Sequence[float], speed_rad_s: Sequence[float]) -> None:
        """Set another position, with turning rotors, in the present air."""
        self._world.resume(motion)
        self._motors.reset(speed_rad_s)
        self._row, self._high = tuple(motion), False
        x, y, z, _, _, _, _, vx, vy, vz = motion[:10]
        self._around.move(0, 0, (x, y, z), (vx, vy, vz))

    def hold(self, for_ns: int) -> None:
        """Hold the aircraft where it is, at rest, from now on; its rotors may turn."""
        self._held_ns = for_ns or -1

    def carry(self, values: Sequence[float]) -> None:
        """A point mass at the centre of mass from now on, in kg, in place of an earlier one."""
        self._inputs["body"][0] = self._empty_kg + values[0]
        self._world.carry(values)

    def displace(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        """Continue from there; the acceleration of the last step, and what accelerometers measure of it, stays."""
        if not self._high:
            self._world.displace(pos_W, vel_W, rate_B)
            self._row = self._world.motion
            return
        self._row = (*pos_W, *self._row[3:7], *vel_W, *rate_B, *self._row[13:])
        self._output[:3], self._output[7:13] = pos_W, (*vel_W, *rate_B)

    def strike(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        """Continue after an impact; the acceleration of the last step has the change of velocity."""
        if not self._high:
            self._world.strike(pos_W, vel_W, rate_B)
            row = self._world.motion
            row[13:16] = [mean + kick for mean, kick in zip(row[13:16], self._world.kick_W, strict=True)]
            self._row = row
            return
        row, per_s = list(self._row), NS / self._dt_ns
        w, x, y, z = row[3:7]
        kick_W = [(after - before) * per_s for after, before in zip(vel_W, row[7:10], strict=True)]
        row[:3], row[7:13] = pos_W, (*vel_W, *rate_B)
        row[13:16] = [mean + kick for mean, kick in zip(row[13:16], kick_W, strict=True)]
        kick_B = times(body_from_world((w, x, y, z)), *kick_W)
        row[self._at.force_B :] = [force + kick for force, kick in zip(row[self._at.force_B :], kick_B, strict=True)]
        self._row = tuple(row)
        self._output[:3], self._output[7:13] = pos_W, (*vel_W, *rate_B)

    def state(self, t_ns: int) -> RigidState:
        x, y, z, qw, qx, qy, qz, vx, vy, vz, p, q, r, ax, ay, az = self._row[:16]
        return new_tuple(RigidState, (t_ns, (x, y, z), (qw, qx, qy, qz), (vx, vy, vz), (p, q, r), (ax, ay, az)))

    def move(self, t_ns: int, dt_ns: int, pos_W: Vec3, vel_W: Vec3) -> None:
        """Wind at the aircraft's position; the step has already computed the rest of its surroundings."""
        if not self._high:
            self._around.move(t_ns, dt_ns, pos_W, vel_W)
            return
        row, at = self._row, self._at
        cell_x, cell_y, cell_z = self._cell
        x, y, z = pos_W
        if not (
            -_HALF_CELL_M <= x - cell_x < _HALF_CELL_M
            and -_HALF_CELL_M <= y - cell_y < _HALF_CELL_M
            and -_HALF_CELL_M <= z - cell_z < _HALF_CELL_M
        ):
            self._enter_cell(pos_W)
        alt_m = row[at.alt_m]
        if not LOWEST_M <= alt_m <= HIGHEST_M:
            self._atmosphere.at(alt_m)  # raises the error
        self._wind_W = wind_W = self._around.wind_W(t_ns, dt_ns, pos_W, vel_W)
        _AIR.pack_into(self._air, 0, *wind_W, row[at.density_kg_m3], row[at.gravity_m_s2])

    @property
    def place(self) -> Place:
        if not self._high:
            return self._around.place
        lat_deg, lon_deg, alt_m, gravity, x, y, z = self._row[self._at.lat_deg : self._at.pressure_Pa]
        return Place(lat_deg, lon_deg, alt_m, gravity, (x, y, z))

    @property
    def air(self) -> Air:
        return (
            Air(self._wind_W, *self._row[self._at.pressure_Pa : self._at.force_B]) if self._high else self._around.air
        )

    @property
    def ground_m(self) -> float:
        return self._around.ground_m

    def touching(self) -> bool:
        return not self._high and self._held_ns < 0 and self._world.touching

    def force_B(self) -> Vec3:
        """Specific force in the centre of mass."""
        row = self._row
        if self._high:
            x, y, z = row[self._at.force_B :]
            return x, y, z
        w, x, y, z, ax, ay, az = *row[3:7], *row[13:16]
        return times(body_from_world((w, x, y, z)), ax, ay, az + self._around.place.gravity_m_s2)

    def _set_step(self, dt_ns: int) -> None:
        self._dt_ns, dt_s = dt_ns, dt_ns / NS
        self._two_steps_s = 2.0 * dt_s
        up, down = gains(self._motor, dt_ns)
        self._inputs["step"][:] = (dt_s, *up, *down)

    def _hand_over(self, high: bool) -> None:
        if high:
            air, place = self._around.air, self._around.place
            self._output[: self._at.state] = (*self._row, *self._motors.speed_rad_s)
            self._wind_W = air.wind_W
            _AIR.pack_into(self._air, 0, *air.wind_W, air.density_kg_m3, place.gravity_m_s2)
            self._use_cell()
        else:
            self._around.place, self._around.air = self.place, self.air
            self._motors.reset(self._row[MOTION : self._at.state])
            self._world.resume(self._row[:MOTION])
        self._high = high

    def _enter_cell(self, pos_W: Vec3) -> None:
        """The step has computed the field from the previous cell."""
        place, row, at = self._earth.place(pos_W), self._row, self._at.field_W_T
        self._row = (*row[:at], *place.field_W_T, *row[at + 3 :])
        self._use_cell()

    def _use_cell(self) -> None:
        self._inputs["cell"][:] = self._earth.cell
        x, y, z = self._earth.cell[:3]
        self._cell = (x, y, z)


class BladedMotion(MultirotorMotion):
    """Of an airframe with aerodynamics of its rotors, which depend on the height over the ground."""

    def __init__(self, parts: Parts, run: Callable[[ca.Function], Runner] | None, blades: BladeLoads) -> None:
        super().__init__(parts, run)
        self._blades = blades
        self._ground = self._inputs["ground"]

    def drive(self, command: Sequence[float], dt_ns: int) -> RotorEffort:
        self._ground[0] = ground_m = self._around.ground_m
        self._blades.begin(self._row, ground_m, dt_ns)
        return super().drive(command, dt_ns)


def motion(parts: Parts, run: Callable[[ca.Function], Runner] | None) -> MultirotorMotion:
    return MultirotorMotion(parts, run) if parts.blades is None else BladedMotion(parts, run, parts.blades)


class MotionScene:
    """The quantities that the sensors of a multirotor measure. Those of slow sensors are computed on demand."""

    def __init__(self, motion: MultirotorMotion, supply: Supply, ground_m: GroundHeight | None) -> None:
        self._motion, self._supply, self._ground_m = motion, supply, ground_m
        self.state: RigidState
        self.effort: RotorEffort
        self.force_B: Vec3

    @property
    def air(self) -> Air:
        return self._motion.air

    @property
    def place(self) -> Place:
        return self._motion.place

    @property
    def R_BW(self) -> Mat3:
        return body_from_world(self.state.quat_WB)

    @property
    def motor_current_A(self) -> float:
        return self._supply(self.effort, self.air)[0]

    @property
    def thrust_N(self) -> float:
        return self._supply(self.effort, self.air)[1]

    @property
    def rotor_speed_rad_s(self) -> Sequence[float]:
        return self._motion.speed_rad_s

    @property
    def ground_m(self) -> float:
        return self._motion.ground_m

    @property
    def terrain_m(self) -> float:
        return beam_ground_m(self.state, self._ground_m) if self._ground_m is not None else 0.0


def _parameters(parts: Parts) -> dict[str, Sequence[float]]:
    """Constant inputs of the step."""
    body, rotors, motor = parts.airframe.body, parts.airframe.rotors, parts.airframe.motors
    plane = parts.earth.plane
    own = {} if parts.blades is None else {"blades": rotor_aerodynamics.coefficients(rotors)}
    return own | {
        "body": (body.mass_kg, *body.inertia_kgm2, *body.drag_area_m2),
        "rotor_pos_B": [axis for pos in rotors.pos_B_m for axis in pos],
        "rotor_spin": rotors.spin,
        "rotor_share": rotors.shares,
        "rotor": (
            rotors.thrust_Ns2,
            rotors.torque_to_thrust_m,
            rotors.inertia_kgm2,
            rotors.drag_Ns2_m,
            rotors.density_kg_m3,
        ),
        "motor": (motor.speed_idle_rad_s, motor.speed_max_rad_s),
        "plane": (plane.sin_lat, plane.cos_lat, plane.lon_rad, plane.axis_distance_m, plane.z_m),
        "geoid": (parts.earth.geoid_height_m,),
        "day": parts.atmosphere.day,
    }
