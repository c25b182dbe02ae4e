"""Rotors, flapping and engine of the simulated helicopter, in coefficients of thrust and torque and plain floats.

The same physics as `model.py`, written a second time and another way: the world must not be a copy of the design model
(`tests/families/test_helicopter_world.py` holds them together). Over a step the flow is held at its value in the middle
of the step, as `world/rigid.py` gives it; the rotors' own states follow by Runge-Kutta 4, since the inflow of a small
tail rotor settles within 3 ms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from aeroloop.core.frames import Vec3
from aeroloop.families.helicopter.airframe import Helicopter, Rotor, Surface

State = tuple[float, float, float, float, float]
"""Tilt of the disc about x and y, inflow of main and tail rotor, rotor speed."""
SLOW_TIP_M_S = 1.0
"""Below this tip speed a rotor has neither thrust nor coefficients."""


class Flow(NamedTuple):
    """What is held over a step."""

    vel_B: Vec3  # through the air
    rate_B: Vec3
    density_kg_m3: float
    pitches: tuple[float, float, float, float]
    power_W: float


class RotorLoad(NamedTuple):
    thrust_N: float
    torque_Nm: float
    inflow_dot: float
    ratio: float  # flow through the disc over the tip speed


class Blades:
    """One rotor, with its constants computed once."""

    def __init__(self, rotor: Rotor) -> None:
        self.radius_m, self.hub_B_m, self._disc_m2 = rotor.radius_m, rotor.hub_B_m, rotor.disc_m2
        self._lift, self._profile = (
            0.5 * rotor.solidity * rotor.lift_slope,
            0.125 * rotor.solidity * rotor.drag_coefficient,
        )
        self._most, self._wake = rotor.thrust_coefficient_max, 2.0 * rotor.wake_factor
        self._per_mass = 1.0 / (8.0 / (3.0 * math.pi) * rotor.radius_m)

    def load(self, density: float, pitch: float, tip: float, in_plane: float, climb: float, inflow: float) -> RotorLoad:
        """`climb` is the speed of the disc along its thrust."""
        through = climb + inflow
        wake = self._wake * inflow * math.hypot(in_plane, through)
        if tip < SLOW_TIP_M_S:
            return RotorLoad(0.0, 0.0, -self._per_mass * wake, 0.0)
        mu2, ratio = (in_plane / tip) ** 2, through / tip
        thrust = self._lift * (pitch * (1.0 / 3.0 + 0.5 * mu2) - 0.5 * ratio)
        thrust = min(max(thrust, -self._most), self._most)
        torque = thrust * ratio + self._profile * (1.0 + 7.0 / 3.0 * mu2)
        pressure_N = density * self._disc_m2 * tip * tip
        return RotorLoad(
            thrust * pressure_N,
            torque * pressure_N * self.radius_m,
            self._per_mass * (thrust * tip * tip - wake),
            ratio,
        )


def velocity_at(pos_B: Vec3, vel_B: Vec3, rate_B: Vec3) -> Vec3:
    (x, y, z), (u, v, w), (p, q, r) = pos_B, vel_B, rate_B
    return u + q * z - r * y, v + r * x - p * z, w + p * y - q * x


def plate_N(surface: Surface, density: float, along: float, across: float) -> float:
    return -0.5 * density * surface.area_m2 * across * (surface.lift_slope * abs(along) + abs(across))


class RotorSystem:
    """Main and tail rotor on one shaft with the engine."""

    def __init__(self, helicopter: Helicopter, state: State) -> None:
        self._h, self.state = helicopter, state
        self._main, self._tail = Blades(helicopter.main_rotor), Blades(helicopter.tail_rotor)
        self.main = self.tail = RotorLoad(0.0, 0.0, 0.0, 0.0)
        self.tail_broken = False  # its shaft turns no more

    def step(self, flow: Flow, dt_s: float) -> list[float]:
        """Advance by dt; force and torque on the body in the middle of the step."""
        was = self.state
        k1 = self._dot(was, flow)
        k2 = self._dot(_moved(was, k1, dt_s / 2), flow)
        k3 = self._dot(_moved(was, k2, dt_s / 2), flow)
        k4 = self._dot(_moved(was, k3, dt_s), flow)
        change = [(a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        self.state = _moved(was, change, dt_s)
        return self.loads(_moved(was, change, dt_s / 2), flow)

    def _rotors(self, state: State, flow: Flow) -> tuple[RotorLoad, RotorLoad]:
        h, (_, _, inflow, tail_inflow, speed) = self._h, state
        u, v, w = velocity_at(self._main.hub_B_m, flow.vel_B, flow.rate_B)
        collective, _, _, tail_pitch = flow.pitches
        density = flow.density_kg_m3
        tip = speed * self._main.radius_m
        main = self._main.load(density, collective, tip, math.hypot(u, v), w, inflow)
        u, v, w = velocity_at(self._tail.hub_B_m, flow.vel_B, flow.rate_B)
        tip = 0.0 if self.tail_broken else speed * h.drive.tail_gear * self._tail.radius_m
        return main, self._tail.load(density, tail_pitch, tip, math.hypot(u, w), -h.head.spin * v, tail_inflow)

    def _engine_Nm(self, speed: float, flow: Flow) -> float:
        return flow.power_W / max(speed, 1.0)

    def _dot(self, state: State, flow: Flow) -> list[float]:
        h, (tilt_x, tilt_y, _, _, speed) = self._h, state
        main, tail = self._rotors(state, flow)
        p, q, _ = flow.rate_B
        u, v, _ = velocity_at(h.main_rotor.hub_B_m, flow.vel_B, flow.rate_B)
        collective, lateral, longitudinal, _ = flow.pitches
        turning = max(speed, 1.0)
        per_lag = h.head.lock_number * turning / 16.0
        gain = h.head.cyclic_gain * (speed / h.head.speed_rad_s) ** 2
        tip = max(speed * h.main_rotor.radius_m, SLOW_TIP_M_S)
        back = 2.0 * h.head.speed_factor * (4.0 / 3.0 * collective - main.ratio) / tip
        drag_Nm = main.torque_Nm + h.drive.tail_gear * tail.torque_Nm
        return [
            per_lag * (gain * lateral + back * v - tilt_x) - p,
            per_lag * (gain * longitudinal - back * u - tilt_y) - q,
            main.inflow_dot,
            tail.inflow_dot,
            (self._engine_Nm(speed, flow) - drag_Nm) / h.drive.inertia_kgm2,
        ]

    def loads(self, state: State, flow: Flow) -> list[float]:
        """Force and torque on the body; keeps thrust and torque of the rotors for the log."""
        h, (tilt_x, tilt_y, inflow, _, speed) = self._h, state
        main, tail = self.main, self.tail = self._rotors(state, flow)
        density, (u, v, w) = flow.density_kg_m3, flow.vel_B
        w_wake = w + inflow
        pressure = -0.5 * density * math.sqrt(u * u + v * v + w_wake * w_wake)
        area_x, area_y, area_z = h.body.drag_area_m2
        fx, fy, fz = pressure * area_x * u, pressure * area_y * v, pressure * area_z * w_wake
        spin, stiff = h.head.spin, h.head.hub_stiffness_Nm
        tx, ty, tz = stiff * tilt_x, stiff * tilt_y, -spin * self._engine_Nm(speed, flow)
        fin_u, fin_v, _ = velocity_at(h.fin.pos_B_m, flow.vel_B, flow.rate_B)
        plane_u, _, plane_w = velocity_at(h.stabiliser.pos_B_m, flow.vel_B, flow.rate_B)
        for (x, y, z), (ax, ay, az) in (
            (h.main_rotor.hub_B_m, (main.thrust_N * tilt_y, -main.thrust_N * tilt_x, main.thrust_N)),
            (h.tail_rotor.hub_B_m, (0.0, -spin * tail.thrust_N, 0.0)),
            (h.fin.pos_B_m, (0.0, plate_N(h.fin, density, fin_u, fin_v), 0.0)),
            (h.stabiliser.pos_B_m, (0.0, 0.0, plate_N(h.stabiliser, density, plane_u, plane_w))),
        ):
            fx, fy, fz = fx + ax, fy + ay, fz + az
            tx, ty, tz = tx + y * az - z * ay, ty + z * ax - x * az, tz + x * ay - y * ax
        return [fx, fy, fz, tx, ty, tz]


def _moved(state: State, rates: list[float], dt_s: float) -> State:
    a, b, c, d, e = (value + dt_s * rate for value, rate in zip(state, rates, strict=True))
    return a, b, c, d, e
