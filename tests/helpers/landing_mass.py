"""A point mass that lands on the pad by filter and states alone; the detector's error model stands in for images.

Lean lag, drag, wind with gusts, a biased and drifting position, a wrong attitude, a late camera. Wind, camera and start
each have their own random stream: the same seed gives the same wind with and without vision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from aeroloop.perception.landing_filter import FilterSettings, PadEstimate, sighting_sigma_m, update
from aeroloop.perception.landing_states import LandingSettings, Seen, State, begin, step

DT = 0.01
FRAME = 1.0 / 30.0
LAG_S, DRAG = 0.12, 0.25
WIND_M_S, GUST_M_S, GUST_S = 4.0, 1.2, 2.0
BIAS_M, WALK = 0.6, 0.03
ATTITUDE_RAD = math.radians(0.3)
CAMERA_M = 0.035  # above the pad when landed
POSITION_GAIN, VELOCITY_GAIN, INTEGRAL_GAIN = 1.3, 3.2, 2.2
MOST_S = 120.0


class Landing(NamedTuple):
    off_m: float
    time_s: float
    aborts: int
    state: State


def fly(
    seed: int,
    *,
    vision: bool = True,
    latency_s: float = 0.08,
    hidden: Callable[[float], bool] = lambda t_s: False,
    filter_settings: FilterSettings | None = None,
) -> Landing:
    """Lands at the origin. Without vision it descends where its position says that it is."""
    settings, filtering = LandingSettings(), filter_settings or FilterSettings()
    start, air, eye = (np.random.default_rng([seed, n]) for n in range(3))
    pos = np.array([*start.normal(0.0, 1.2 / math.sqrt(2), 2), 10.0])
    vel, lean, integral = np.zeros(3), np.zeros(2), np.zeros(2)
    bias, attitude = start.normal(0.0, BIAS_M, 3), start.normal(0.0, ATTITUDE_RAD, 2)
    side = start.uniform(-math.pi, math.pi)
    mean_wind = WIND_M_S * np.array([math.cos(side), math.sin(side)])
    gust = np.zeros(2)
    estimate: PadEstimate | None = None
    waiting: list[tuple[float, float, np.ndarray, float]] = []
    frames: tuple[bool, ...] = ()
    memory = begin(0.0, (0.0, 0.0))
    t, next_frame = 0.0, 0.0
    climb = 0.0
    while t < MOST_S:
        t += DT
        bias = bias + WALK * math.sqrt(DT) * start.standard_normal(3)
        gust += -gust * DT / GUST_S + GUST_M_S * math.sqrt(2 * DT / GUST_S) * air.standard_normal(2)
        own = pos + bias
        height = pos[2] + CAMERA_M
        if vision and t >= next_frame:
            next_frame += FRAME
            lateral, vertical = sighting_sigma_m(height)
            noise = eye.standard_normal(3) * [lateral, lateral, vertical]
            in_view = math.hypot(pos[0], pos[1]) < 0.5 * height and height > 0.04 and eye.random() < 0.985
            if in_view and not hidden(t):
                off = np.array([*(-pos[:2] + attitude * height), -height]) + noise
                waiting.append((t + latency_s, t, own + off, height))
            frames = (*frames, in_view and not hidden(t))[-8:]
        while waiting and waiting[0][0] <= t:
            _, t_img, pad, seen_from = waiting.pop(0)
            estimate = update(estimate, t_img, tuple(pad), seen_from, filtering).estimate
        if vision:
            place = None if estimate is None else estimate.at(t)
            seen = Seen(
                t,
                (own[0], own[1]),
                math.hypot(vel[0], vel[1]),
                own[2] - bias[2] + CAMERA_M if place is None else own[2] - place[2],
                None if place is None else place[:2],
                math.inf if estimate is None else t - estimate.t_s,
                frames,
            )
            memory, (target, climb) = step(memory, seen, settings)
            if memory.state is State.GIVEN_UP:
                climb = -0.7
        else:
            target, climb = (0.0, 0.0), -min(1.2, 0.25 + 0.35 * pos[2])
        toward = POSITION_GAIN * (np.array(target) - own[:2])
        toward *= min(1.0, 3.0 / max(1e-9, math.hypot(*toward)))
        wrong = toward - vel[:2]
        integral = np.clip(integral + INTEGRAL_GAIN * wrong * DT, -3.0, 3.0)
        asked = np.clip(VELOCITY_GAIN * wrong + integral, -5.0, 5.0)
        lean += (asked - lean) * DT / LAG_S
        vel[:2] += (lean - DRAG * (vel[:2] - mean_wind - gust)) * DT
        vel[2] += (climb - vel[2]) * DT / 0.2
        pos = pos + vel * DT
        if pos[2] <= 0.0:
            return Landing(math.hypot(pos[0], pos[1]), t, memory.aborts, memory.state)
    return Landing(math.inf, t, memory.aborts, memory.state)
