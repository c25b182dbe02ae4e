"""The step of a multirotor in free air as one CasADi function: motors, body, earth, air and an ideal accelerometer.

Everything that depends on the aircraft, the position or the day is an input, so that one compiled function serves all
aircraft with the same number of rotors.
"""

from __future__ import annotations

from functools import cache

import casadi as ca

from aeroloop.models import multirotor_step as model
from aeroloop.models import rotor_aerodynamics
from aeroloop.models.rigid_body import rotation
from aeroloop.world import expressions

MOTION = 19
"""Position, quaternion, velocity, body rates, then the mean change of the last six over the last step."""


class Columns:
    """Layout of the function's output."""

    def __init__(self, rotors: int) -> None:
        self.state = MOTION + rotors  # the motion, then the speed of each rotor: the next step's first input
        self.mean = self.state  # speed of each rotor over the step
        self.spin_up = self.mean + rotors
        self.saturated = self.spin_up + rotors
        self.not_finite = self.saturated + 1
        self.lat_deg = self.not_finite + 1
        self.alt_m, self.gravity_m_s2 = self.lat_deg + 2, self.lat_deg + 3
        self.field_W_T = self.lat_deg + 4
        self.pressure_Pa = self.field_W_T + 3
        self.density_kg_m3 = self.pressure_Pa + 2
        self.force_B = self.pressure_Pa + 3  # specific force, the output of an ideal accelerometer
        self.count = self.force_B + 3


@cache
def step_function(rotors: int, blades: bool = False) -> ca.Function:
    """(state, command, inputs that change in flight, parameters) -> one row of `Columns`. With `blades` the rotors are
    those of `rotor_aerodynamics`."""
    size = {
        "state": MOTION + rotors,
        "command": rotors,
        "air": 5,  # wind_W (m/s), density (kg/m3), gravity (m/s2), held over the step
        "step": 5,  # its length (s), the motors' gains: up, up on average, down, down on average
        "cell": 15,  # of the magnetic field, as `Earth.cell`
        "body": 7,  # mass (kg), principal moments of inertia (kg m2), drag areas (m2)
        "rotor_pos_B": 3 * rotors,
        "rotor_spin": rotors,
        "rotor_share": rotors,  # of a free rotor's thrust
        "rotor": 5,  # thrust, torque over thrust, inertia, drag, density, as `models.rotors.Rotors`
        "motor": 2,  # idle and top speed (rad/s)
        "plane": 5,  # as `expressions.PlaneSymbols`
        "geoid": 1,  # height of mean sea level over the ellipsoid (m)
        "day": 6,  # as `Atmosphere.day`
    }
    if blades:
        # Height of the ground (m), then `rotor_aerodynamics.coefficients`.
        size |= {"ground": 1, "blades": len(rotor_aerodynamics.BladeSymbols._fields)}
    symbols = {name: ca.SX.sym(name, count) for name, count in size.items()}
    state, air, step, body = (symbols[name] for name in ("state", "air", "step", "body"))
    dt_s, wind_W, density, gravity = step[0], air[0:3], air[3], air[4]
    pos_B_m, spin, each = ca.reshape(symbols["rotor_pos_B"], 3, rotors), symbols["rotor_spin"], symbols["rotor"]

    before = model.Motion(state[0:3], state[3:7], state[7:10], state[10:13], state[13:16], state[16:19])
    gains = model.MotorGains(step[1], step[2], step[3], step[4])
    motor = symbols["motor"]
    effort = model.motors(state[MOTION:], symbols["command"], dt_s, gains, motor[0], motor[1])
    vel_air_B, rate_B = model.mid_step_air_B(before, wind_W, dt_s)
    rotor = model.RotorSymbols(pos_B_m, spin, symbols["rotor_share"], each[0], each[1], each[2], each[3], each[4])
    ground = None
    if blades:
        rotor = rotor._replace(blades=rotor_aerodynamics.symbols(symbols["blades"]))
        ground = model.mid_step_ground(before, symbols["ground"], dt_s)
    force_B, torque_B = model.held_loads_B(vel_air_B, rate_B, effort, density, body[4:7], rotor, ground)
    after = model.rigid_step(before, force_B, torque_B, gravity, body[0], body[1:4], dt_s)

    plane, day = symbols["plane"], symbols["day"]
    symbolic_plane = expressions.PlaneSymbols(plane[0], plane[1], plane[2], plane[3], plane[4])
    lat_deg, lon_deg, height_m, gravity_after = expressions.geodetic(symbolic_plane, after.pos_W)
    alt_m = height_m - symbols["geoid"]
    symbolic_day = expressions.DaySymbols(day[0], day[1], day[2], day[3], day[4], day[5])
    field_W_T = expressions.field_T(symbols["cell"], after.pos_W)
    felt_B = rotation(after.quat_WB).T @ (after.accel_W + ca.vertcat(0, 0, gravity_after))
    row = ca.vertcat(
        *after,
        *effort,
        *(lat_deg, lon_deg, alt_m, gravity_after, field_W_T),
        *expressions.air(symbolic_day, alt_m),
        felt_B,
    )
    name = f"multirotor_step_{rotors}{'_blades' if blades else ''}"
    return ca.Function(name, list(symbols.values()), [row], list(symbols), ["row"])
