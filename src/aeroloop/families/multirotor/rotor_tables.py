"""Scenario tables of the rotors: how the motors differ, and the law that makes them keep together."""

from __future__ import annotations

from typing import Annotated

from aeroloop.control.synchronisation_gains import SynchronisationTable
from aeroloop.core.config import Config, meta, note

Factor = Annotated[float, meta("-", "factor", gt=0, le=10)]


class Spread(Config, frozen=True):
    """Differences between the motors, one number for each rotor; empty: none."""

    gain: Annotated[tuple[Factor, ...], meta("-", "speed reached per commanded speed")] = ()
    lag: Annotated[tuple[Factor, ...], meta("-", "factor on the airframe's lags, up and down")] = ()


class Load(Config, frozen=True):
    """A load on one motor from a time on: constant, or times sin(2 pi f (t - from_s))."""

    rotor: Annotated[int, meta("-", "number of the rotor, from 1", ge=1, le=8)]
    deceleration_rad_s2: Annotated[float, meta("rad/s2", "deceleration", ge=-1e4, le=1e4)]
    frequency_hz: Annotated[float, meta("Hz", "0: constant", ge=0, le=50)] = 0.0
    from_s: Annotated[float, meta("s", "start", ge=0, le=86400)] = 0.0


class MotorsTable(Config, frozen=True):
    """How the motors differ from the airframe's."""

    spread: Annotated[Spread, note("constant differences")] = Spread()
    loads: Annotated[tuple[Load, ...], note("loads over time; so are faults `load` and `load_sine`")] = ()


class RotorSynchronisation(SynchronisationTable, frozen=True):
    """Law between the speeds that the controller asks for and the motors; it runs at the IMU's rate."""

    nominal_lag_s: Annotated[float, meta("s", "lag of the law's model of a motor", gt=0, le=1)] = 0.018
    evaluate_from_s: Annotated[float, meta("s", "metrics of the rotors count from this time", ge=0, le=86400)] = 0.0
