"""The servos of `servos.py` as symbols, for batches."""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.actuators.servos import STILL_PA, Limits


def servos(limits: Limits, at: Any, command: Any, dt_s: float, pressure_Pa: Any = None) -> tuple[Any, Any, Any]:
    """(positions (4,), finite command (4,)) -> positions after `dt_s`, their means, and whether a command was beyond a
    limit. The dynamic pressure counts where the surfaces have hinge moments."""
    after, mean, beyond = [], [], ca.SX(0)
    lows, highs = _reach(limits, pressure_Pa)
    for index, (low, high, rate, lag) in enumerate(zip(lows, highs, limits.rate_per_s, limits.lag_s, strict=True)):
        begin, setpoint = at[index], command[index]
        target = ca.fmin(ca.fmax(setpoint, low), high)
        beyond = ca.logic_or(beyond, ca.logic_or(setpoint < low, setpoint > high))
        way = target - begin
        run_s = ca.fmin(ca.fmax(ca.fabs(way) / rate - lag, 0), dt_s)  # at the rate limit
        run = ca.if_else(way < 0, -rate, rate) * run_s
        swept = (begin + run / 2) * run_s
        way, left_s = way - run, dt_s - run_s
        rest = way * ca.exp(-left_s / lag) if lag > 0.0 else ca.if_else(left_s > 0, 0, way)
        after.append(target - rest)
        mean.append((swept + target * left_s - (way - rest) * lag) / dt_s)
    return ca.vertcat(*after), ca.vertcat(*mean), beyond


def _reach(limits: Limits, pressure_Pa: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if limits.hinges is None:
        return limits.low, limits.high
    held = [value / ca.fmax(pressure_Pa, STILL_PA) for value in limits.hinges.held_rad_Pa]
    low = [ca.fmax(value, -most) for value, most in zip(limits.low, held, strict=False)]
    high = [ca.fmin(value, most) for value, most in zip(limits.high, held, strict=False)]
    return (*low, limits.low[-1]), (*high, limits.high[-1])
