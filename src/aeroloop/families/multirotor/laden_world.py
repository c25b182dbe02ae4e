"""The world of a multirotor that takes up a payload: MuJoCo steps it all the time, in free air too.

The compiled step is that of a body with its centre of mass in the origin. A payload moves the centre and tilts the
principal axes; MuJoCo has both, and its cost does not matter for the few flights with a payload.
"""

from __future__ import annotations

import mujoco
import numpy as np

from aeroloop.actuators.motors import RotorEffort
from aeroloop.control.allocation import effects
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.core.signals import NS, Air
from aeroloop.families.multirotor.payload import Laden, Payload
from aeroloop.models.rotors import Rotors
from aeroloop.world.feet import Feet
from aeroloop.world.rigid import Loads, Rigid


def carry(model: mujoco.MjSpec, together: Laden) -> None:
    """Give the body the mass and inertia of aircraft and payload."""
    frame, inertia = model.body("frame"), together.inertia_kgm2
    frame.mass, frame.ipos = together.mass_kg, together.centre_B_m
    frame.inertia = [0.0, 0.0, 0.0]  # not given: the full matrix is
    frame.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]


class LadenLater(Rigid[RotorEffort]):
    """A world with another model of its body from a time on."""

    def __init__(
        self,
        model: mujoco.MjModel,
        laden_model: mujoco.MjModel,
        loads: Loads[RotorEffort],
        from_s: float,
        feet: Feet | None = None,
    ) -> None:
        super().__init__(model, loads, feet)
        self._laden: mujoco.MjModel | None = laden_model
        self._t_ns, self._from_ns = 0, round(from_s * NS)

    def step(self, effort: RotorEffort, air: Air, gravity_m_s2: float, dt_ns: int) -> None:
        if self._laden is not None and self._t_ns >= self._from_ns:
            self.exchange(self._laden)
            self._laden = None
        super().step(effort, air, gravity_m_s2, dt_ns)
        self._t_ns += dt_ns


def hover_speeds_rad_s(mass_kg: float, payload: Payload, rotors: Rotors, gravity_m_s2: float = GRAVITY_M_S2) -> Vec:
    """(n,) Speeds that hold aircraft and payload level in still air; NaN for a rotor that would have to pull down."""
    m, (x, y, _) = payload.mass_kg, payload.offset_B_m
    wanted = gravity_m_s2 * np.array([mass_kg + m, m * y, -m * x, 0.0])
    per_thrust = effects(rotors.pos_B_m, rotors.spin, rotors.torque_to_thrust_m, rotors.shares)
    thrust = np.linalg.lstsq(per_thrust, wanted, rcond=None)[0]
    speeds: Vec = np.sqrt(np.where(thrust > 0.0, thrust, np.nan) / rotors.thrust_Ns2)
    return speeds


def check(mass_kg: float, payload: Payload, rotors: Rotors, top_rad_s: float) -> None:
    """ConfigError if the rotors cannot hold the payload."""
    needed = hover_speeds_rad_s(mass_kg, payload, rotors)
    if not np.all(needed < top_rad_s):
        why = f"a rotor would have to turn at {np.max(needed):.0f} rad/s" if np.all(needed > 0) else "it would tip over"
        raise ConfigError(
            f"payload: expected a mass and offset that the rotors can hold at up to {top_rad_s:g} rad/s; with "
            f"{payload.mass_kg:g} kg at ({', '.join(f'{axis:g}' for axis in payload.offset_B_m)}) m {why}"
        )
