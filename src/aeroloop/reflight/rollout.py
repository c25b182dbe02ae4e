"""Many steps of a multirotor in one call: the family's own compiled step, behind a command delay and a control law.

    drive ─▶ law (or recorded commands) ─▶ delay ─▶ motors, rotors, rigid body (`families.multirotor.step_function`)

The numbers that a fit changes (`numbers.Plant`) are inputs, so that one compiled function serves the whole fit. A delay
mixes the commands of the two steps about it in proportion: the mean over a step of a held command that is delayed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import fastest
from aeroloop.core.frames import Vec
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.step_function import MOTION, Columns, step_function
from aeroloop.models import quadrotor
from aeroloop.reflight.numbers import DELAY_MOST_S, Plant
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth
from aeroloop.world.expressions import DaySymbols

STEP_S = 0.002
"""Length of a step, and the period of the control law: 250 Hz, as the virtual Pixhawk's."""
CHUNK = 250
"""Steps of one call."""

MOVED, TURNED = 0, 1
"""Columns of a drive: 1 where position and velocity, or attitude and rates, are set to those of the drive."""
POS, VEL, QUAT, RATE = slice(2, 5), slice(5, 8), slice(8, 12), slice(12, 15)
DENSITY, GRAVITY = 15, 16
INPUT = 17
"""The first column of what drives: motor commands, or the setpoint of the law (`signals.Setpoint.row`)."""
SETPOINT = 16
LEAD_S = 0.01
"""Recorded commands are read this much ahead, so that a delay may be negative: a log may stamp them late."""
HISTORY = math.ceil((DELAY_MOST_S + LEAD_S) / STEP_S) + 1
"""Commands that a delay reaches back to."""


@dataclass(frozen=True)
class Law:
    """A control law: (nav, setpoint, memory, gains) -> (motors, ..., memory), as `control.cascade.law`."""

    function: ca.Function
    gains: tuple[float, ...]

    @property
    def memory(self) -> int:
        return int(self.function.size1_in(2))


@dataclass(frozen=True)
class Site:
    """Where on earth and in which air."""

    earth: Earth
    atmosphere: Atmosphere


class Rollout:
    """Runs a drive, row by row, from its first row's motion."""

    def __init__(self, airframe: Airframe, site: Site, law: Law | None) -> None:
        """No law: the drive has motor commands."""
        self.rotors, self._law = airframe.rotors.count, law
        self._at = Columns(self.rotors)
        self._constants = _constants(airframe, site)
        self._airframe = airframe
        step = _step(self.rotors, law, len(self._constants))
        self._call: Evaluator = fastest(step.mapaccum(f"{step.name()}_{CHUNK}", CHUNK))
        self._rows_in = self._call.inputs[1].reshape(CHUNK, -1)
        self._rows_out = self._call.outputs[1].reshape(CHUNK, -1)
        self._states_out = self._call.outputs[0].reshape(CHUNK, -1)

    @property
    def width(self) -> int:
        """Columns of a drive."""
        return INPUT + (self.rotors if self._law is None else SETPOINT)

    def __call__(self, drive: Vec, plant: Plant) -> Vec:
        """(steps, `Columns` and then the motor commands before the delay), after each step."""
        if plant.setpoint_delay_s:
            drive = _late(drive, plant.setpoint_delay_s)
        state, rows_in, rows_out = self._begin(drive, plant), self._rows_in, self._rows_out
        out = np.empty((len(drive), rows_out.shape[1]))
        for at in range(0, len(drive), CHUNK):
            part = drive[at : at + CHUNK]
            rows_in[: len(part)], rows_in[len(part) :] = part, part[-1]
            self._call.inputs[0][:] = state
            self._call()
            out[at : at + CHUNK] = rows_out[: len(part)]
            state = self._states_out[-1]
        return out

    def _begin(self, drive: Vec, plant: Plant) -> Vec:
        first, motor = drive[0], self._airframe.motors
        speeds = quadrotor.hover_speeds_rad_s(self._airframe.flight) * math.sqrt(
            plant.mass_kg / self._airframe.body.mass_kg * self._airframe.rotors.density_kg_m3 / first[DENSITY]
        )
        speeds = np.clip(speeds, motor.speed_idle_rad_s, motor.speed_max_rad_s)
        commands = (speeds - motor.speed_idle_rad_s) / (motor.speed_max_rad_s - motor.speed_idle_rad_s)
        if self._law is None:
            commands = first[INPUT : INPUT + self.rotors]
            speeds = motor.speed_idle_rad_s + (motor.speed_max_rad_s - motor.speed_idle_rad_s) * commands
        motion = np.concatenate((first[POS], first[QUAT], first[VEL], first[RATE], np.zeros(6)))
        memory = np.zeros(self._law.memory) if self._law else np.zeros(0)
        gains = np.array(self._law.gains) if self._law else np.zeros(0)
        history = np.tile(commands, HISTORY)
        return np.concatenate((motion, speeds, memory, history, plant.row(), gains, self._constants))


def _step(rotors: int, law: Law | None, constants: int) -> ca.Function:
    """(state, row of the drive) -> (next state, output). The state ends with numbers that do not change."""
    memory, gains = (law.memory, len(law.gains)) if law else (0, 0)
    sizes = (MOTION + rotors, memory, HISTORY * rotors, len(Plant.NAMES), gains, constants)
    parts = [ca.SX.sym(f"part_{i}", size) for i, size in enumerate(sizes)]
    body, law_memory, history, plant, law_gains, fixed = parts
    row = ca.SX.sym("row", INPUT + (SETPOINT if law else rotors))
    body = _restarted(body, row)
    if law:
        nav = ca.vertcat(body[0:3], body[7:10], body[3:7], body[10:13])
        command, *_, law_memory = law.function.call([nav, row[INPUT:], law_memory, law_gains])
    else:
        command = row[INPUT:]
    mass, inertia, lag_up, lag_down, delay_s, trim = (
        *(plant[0], plant[1:4], plant[4], plant[5], plant[6]),
        plant[7:10],
    )
    history = ca.vertcat(command, history[: (HISTORY - 1) * rotors])
    delayed, back_by = ca.SX.zeros(rotors), (delay_s + (0.0 if law else LEAD_S)) / STEP_S
    for back in range(HISTORY):
        delayed += ca.fmax(0, 1 - ca.fabs(back_by - back)) * history[back * rotors : (back + 1) * rotors]
    air = ca.vertcat(0, 0, 0, row[DENSITY], row[GRAVITY])
    step = ca.vertcat(STEP_S, *_gains(lag_up), *_gains(lag_down))
    drag_area, cell, rest = fixed[0:3], fixed[3:18], fixed[18:]
    whole = ca.vertcat(mass, inertia, drag_area)
    pos_B, spin, share_of = rest[: 3 * rotors], rest[3 * rotors : 4 * rotors], rest[4 * rotors : 5 * rotors]
    tail = ca.vertsplit(rest[5 * rotors :], [0, 5, 7, 12, 13, 13 + len(DaySymbols._fields)])
    out = step_function(rotors).call([body, delayed, air, step, cell, whole, pos_B, spin, share_of, *tail])[0]
    after = out[: MOTION + rotors]
    after[10:13] += STEP_S * trim
    after_state = ca.vertcat(after, law_memory, history, plant, law_gains, fixed)
    name = f"multirotor_rollout_{rotors}{'_law' if law else ''}"
    return ca.Function(name, [ca.vertcat(*parts), row], [after_state, ca.vertcat(out, command)])


def _late(drive: Vec, delay_s: float) -> Vec:
    """With setpoints that come later."""
    drive, steps = drive.copy(), np.arange(len(drive))
    for column in drive.T[INPUT:]:
        column[:] = np.interp(steps - delay_s / STEP_S, steps, column)
    return drive


def _restarted(body: Any, row: Any) -> Any:
    """The motion, or that of the drive where it says so."""
    moved, turned = row[MOVED] > 0.5, row[TURNED] > 0.5
    return ca.vertcat(
        ca.if_else(moved, row[POS], body[0:3]),
        ca.if_else(turned, row[QUAT], body[3:7]),
        ca.if_else(moved, row[VEL], body[7:10]),
        ca.if_else(turned, row[RATE], body[10:13]),
        body[13:16],
        ca.if_else(turned, 0, body[16:19]),
        body[19:],
    )


def _gains(lag_s: Any) -> tuple[Any, Any]:
    """As `actuators.motors.gains`, of a symbol."""
    x = STEP_S / ca.fmax(lag_s, 1e-6)
    end = 1 - ca.exp(-x)
    return end, 1 - end / x


def _constants(airframe: Airframe, site: Site) -> Vec:
    rotors, motor, plane = airframe.rotors, airframe.motors, site.earth.plane
    site.earth.place((0.0, 0.0, 0.0))  # enters the cell of the magnetic field
    return np.array(
        [
            *airframe.body.drag_area_m2,
            *site.earth.cell,
            *(axis for pos in rotors.pos_B_m for axis in pos),
            *rotors.spin,
            *rotors.shares,
            *(rotors.thrust_Ns2, rotors.torque_to_thrust_m, rotors.inertia_kgm2, rotors.drag_Ns2_m),
            rotors.density_kg_m3,
            *(motor.speed_idle_rad_s, motor.speed_max_rad_s),
            *(plane.sin_lat, plane.cos_lat, plane.lon_rad, plane.axis_distance_m, plane.z_m),
            site.earth.geoid_height_m,
            *site.atmosphere.day,
        ]
    )
