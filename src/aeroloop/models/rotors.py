"""Forces and torques of spinning rotors on the body, for any number of upright rotors.

Rotor i at r_i turns at w_i >= 0 (rad/s), s_i = +1 counter-clockwise seen from above. In the body frame (z up), with
v_i the velocity of its hub through the air, in the rotor plane, and k and c in proportion to the density of the air:

    F_i = e_i k w_i^2 e_z - c w_i v_i                                        thrust; induced and profile drag
    T_i = r_i x F_i - s_i (b k w_i^2 + J w_i') e_z - w_B x (J s_i w_i e_z)   reaction to drag and spin-up; gyroscopic

Thrust does not depend on the inflow, blades do not flap, and the ground has no effect on the air: controllers are
designed with this. `rotor_aerodynamics.py` has these effects for the simulated aircraft. A rotor in the wash of another
one has less thrust (e_i) for the same torque.
"""

from __future__ import annotations

from typing import Annotated, Literal

import casadi as ca

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.models.rotor_aerodynamics import RotorAerodynamics

Spin = Literal[1, -1]
Share = Annotated[float, meta("-", "above 0, at most 1", gt=0, le=1)]


class Rotors(Config, frozen=True):
    """Positions and coefficients of the rotors; all are equal except for position and direction."""

    pos_B_m: Annotated[tuple[Vec3, ...], meta("m", "hubs from the centre of mass, in the order of the motor outputs")]
    spin: Annotated[tuple[Spin, ...], meta("-", "1 counter-clockwise seen from above, -1 clockwise")]
    thrust_Ns2: Annotated[float, meta("N s2", "thrust over squared speed (rad/s)", gt=0)]
    torque_to_thrust_m: Annotated[float, meta("m", "drag torque over thrust", gt=0)]
    inertia_kgm2: Annotated[float, meta("kg m2", "inertia of a rotor with all rotating parts, about its axis", ge=0)]
    drag_Ns2_m: Annotated[float, meta("N s2/m", "drag over speed (rad/s) and velocity in the rotor plane", ge=0)]
    density_kg_m3: Annotated[float, meta("kg/m3", "air density for which these coefficients hold", gt=0)]
    thrust_share: Annotated[
        tuple[Share, ...],
        meta("-", "thrust of each rotor over that of a free one, less than 1 in the wash of another; empty: 1 for all"),
    ] = ()
    aerodynamics: Annotated[
        RotorAerodynamics | None, note("blades, and effects of the air on them; left out: none")
    ] = None

    @property
    def count(self) -> int:
        return len(self.pos_B_m)

    @property
    def shares(self) -> tuple[float, ...]:
        """`thrust_share` of every rotor."""
        return self.thrust_share or (1.0,) * self.count


def wrench_B(
    vel_air_B: ca.SX,
    rate_B: ca.SX,
    speed_rad_s: ca.SX,
    spin_up_rad_s2: ca.SX,
    density_kg_m3: ca.SX,
    rotors: Rotors,
) -> tuple[ca.SX, ca.SX]:
    """Force and torque about the centre of mass."""
    up = ca.DM([0, 0, 1])
    ratio = density_kg_m3 / rotors.density_kg_m3
    force, torque = ca.SX.zeros(3), ca.SX.zeros(3)
    for i, (pos, spin) in enumerate(zip(rotors.pos_B_m, rotors.spin, strict=True)):
        lever, w = ca.DM(pos), speed_rad_s[i]
        hub = vel_air_B + ca.cross(rate_B, lever)
        thrust = ratio * rotors.thrust_Ns2 * w * w
        push = rotors.shares[i] * thrust * up - ratio * rotors.drag_Ns2_m * w * ca.vertcat(hub[0], hub[1], 0)
        reaction = rotors.torque_to_thrust_m * thrust + rotors.inertia_kgm2 * spin_up_rad_s2[i]
        momentum = rotors.inertia_kgm2 * spin * w * up
        force += push
        torque += ca.cross(lever, push) - spin * reaction * up - ca.cross(rate_B, momentum)
    return force, torque
