"""Moments for sensors to measure, shared by their tests."""

from __future__ import annotations

from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import NS, Air, Place, RigidState
from aeroloop.sensors.scene import Scene, StateScene, body_from_world

G = 9.80665
FIELD_W_T = (1.2e-6, 21.4e-6, -42.8e-6)  # east, north, up: as in Zurich
AIR = Air(wind_W=(0.0, 0.0, 0.0), pressure_Pa=95_600.0, temperature_K=285.0, density_kg_m3=1.168)
PLACE = Place(lat_deg=47.397742, lon_deg=8.545594, alt_m=488.0, gravity_m_s2=G, field_W_T=FIELD_W_T)
LEVEL: Quat = (1.0, 0.0, 0.0, 0.0)
ZERO: Vec3 = (0.0, 0.0, 0.0)


def state(
    t_ns: int = 0,
    *,
    pos_W: Vec3 = ZERO,
    quat_WB: Quat = LEVEL,
    vel_W: Vec3 = ZERO,
    rate_B: Vec3 = ZERO,
    accel_W: Vec3 = ZERO,
) -> RigidState:
    return RigidState(t_ns, pos_W, quat_WB, vel_W, rate_B, accel_W)


def scene(truth: RigidState | None = None, air: Air = AIR, place: Place = PLACE, **more: float) -> Scene:
    truth = truth or state()
    return StateScene(truth, air, place, body_from_world(truth.quat_WB), **more)


def seconds(t_s: float) -> int:
    return round(t_s * NS)
