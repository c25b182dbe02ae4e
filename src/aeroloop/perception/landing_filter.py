"""Where the pad is in the autopilot's local frame: a Kalman filter of constant velocity over single sightings.

State: x, y, vx, vy, and the height z of the pad. The axes are independent and have the same covariance, so that of one
axis is kept. A sighting applies to the time of its image, which is past when it arrives: readers predict forward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from aeroloop.core.frames import Vec3

XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FilterSettings:
    sigma_m: float = 0.004
    sigma_per_height: float = 0.012  # m of error for each m of height: the attitude's error above all
    process_pos: float = 0.03  # m/sqrt(s)
    process_vel: float = 0.0  # m/s/sqrt(s); 0: pad at rest
    start_vel_std: float = 0.0  # m/s; 0: pad at rest
    gate_chi2: float = 16.0
    restart_s: float = 1.0  # nothing accepted for so long: start anew


MOVING = FilterSettings(process_vel=0.22, start_vel_std=0.7)


class PadEstimate(NamedTuple):
    t_s: float  # of the last accepted sighting
    pos_W: XY
    vel_W: XY
    z_W: float
    var_pos: float
    cov_pos_vel: float
    var_vel: float
    var_z: float

    def at(self, t_s: float) -> Vec3:
        """The pad's place at another time; m."""
        dt = t_s - self.t_s
        return self.pos_W[0] + self.vel_W[0] * dt, self.pos_W[1] + self.vel_W[1] * dt, self.z_W


class Update(NamedTuple):
    estimate: PadEstimate | None
    accepted: bool
    innovation_m: float  # NaN when there was nothing to compare with


def update(
    estimate: PadEstimate | None, t_img_s: float, pad_W: Vec3, height_m: float, settings: FilterSettings
) -> Update:
    """`pad_W`: as seen in the image of time `t_img_s` from `height_m`. Sightings that are not finite, out of order or
    outside of the gate are refused."""
    if not all(map(math.isfinite, (t_img_s, *pad_W, height_m))):
        return Update(estimate, False, math.nan)
    noise = (settings.sigma_m + settings.sigma_per_height * max(0.0, height_m)) ** 2
    if estimate is None or t_img_s - estimate.t_s > settings.restart_s:
        var_vel = settings.start_vel_std**2
        begun = PadEstimate(t_img_s, pad_W[:2], (0.0, 0.0), pad_W[2], noise, 0.0, var_vel, noise)
        return Update(begun, True, math.nan)
    dt = t_img_s - estimate.t_s
    if dt <= 0.0:
        return Update(estimate, False, math.nan)
    x, y, z = estimate.at(t_img_s)
    # Covariance at the image's time.
    q_pos, q_vel = settings.process_pos**2, settings.process_vel**2
    var_pos = (
        estimate.var_pos + dt * (2.0 * estimate.cov_pos_vel + dt * estimate.var_vel) + q_pos * dt + q_vel * dt**3 / 3
    )
    cov = estimate.cov_pos_vel + dt * estimate.var_vel + q_vel * dt**2 / 2
    var_vel = estimate.var_vel + q_vel * dt
    var_z = estimate.var_z + q_pos * dt
    dx, dy = pad_W[0] - x, pad_W[1] - y
    total = var_pos + noise
    innovation_m = math.hypot(dx, dy)
    if innovation_m**2 / total > settings.gate_chi2:
        return Update(estimate, False, innovation_m)
    k_pos, k_vel, k_z = var_pos / total, cov / total, var_z / (var_z + noise)
    corrected = PadEstimate(
        t_img_s,
        (x + k_pos * dx, y + k_pos * dy),
        (estimate.vel_W[0] + k_vel * dx, estimate.vel_W[1] + k_vel * dy),
        z + k_z * (pad_W[2] - z),
        (1.0 - k_pos) * var_pos,
        (1.0 - k_pos) * cov,
        var_vel - k_vel * cov,
        (1.0 - k_z) * var_z,
    )
    return Update(corrected, True, innovation_m)


def sighting_sigma_m(height_m: float) -> tuple[float, float]:
    """Errors of the detector over camera height, lateral (each axis) and vertical, in place of images in tests. Fitted
    to errors measured with rendered images, 0.1 to 15 m."""
    lateral_m = 2e-5 + 1e-4 * max(0.0, height_m) ** 1.9
    return lateral_m, 6.0 * lateral_m
