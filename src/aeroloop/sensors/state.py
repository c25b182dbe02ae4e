"""The sixteen measured values of the tilt-rotor paper: positions, angles, tilts, and their time derivatives.

Angle derivatives are Euler rates, not body rates: the paper's gain expects them.
"""

from __future__ import annotations

import numpy as np

from aeroloop.frames import euler_from_quat, euler_rates_from_body
from aeroloop.scenario import Sensors as Config
from aeroloop.signals import SENSOR_COUNT, Sensors, Truth


def ideal(truth: Truth) -> Sensors:
    angles = euler_from_quat(truth.quat_WB)
    rates = euler_rates_from_body(angles[0], angles[1], truth.rate_B)
    return (*truth.pos_W, *angles, *truth.tilt_rad, *truth.vel_W, *rates, *truth.tilt_rate_rad_s)


class StateSensors:
    """`ideal` plus white noise from its own seeded stream."""

    def __init__(self, config: Config, rng: np.random.Generator) -> None:
        self._std = np.array(
            [config.pos_std_m] * 3
            + [config.angle_std_rad] * 3
            + [config.tilt_std_rad] * 2
            + [config.vel_std_m_s] * 3
            + [config.rate_std_rad_s] * 5
        )
        assert self._std.shape == (SENSOR_COUNT,)
        self._noisy = bool(self._std.any())
        self._rng = rng

    def sample(self, truth: Truth) -> Sensors:
        clean = ideal(truth)
        if not self._noisy:
            return clean
        return tuple((self._std * self._rng.standard_normal(SENSOR_COUNT) + clean).tolist())
