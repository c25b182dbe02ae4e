"""Distance of a vehicle from the waypoints of its mission, and from the straight lines between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.statistics import Array
from aeroloop.analysis.track import POSITION
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis.flight import MISSION, Flight
from aeroloop.ground.pilot_commands import PilotConfig


@dataclass(frozen=True)
class Passes:
    """Where each waypoint was passed, in the order of the mission."""

    points_W: Array  # (k, 3) m
    index: NDArray[np.int_]  # (k,) sample of truth that is nearest to it
    miss_m: Array  # (k,) distance then


def passes(flight: Flight, scenario: Scenario) -> Passes:
    """From the scenario's mission; if it has none, from the items that the autopilot reports as reached."""
    pilot = value_at(scenario, "pilot")
    if not flight.t_s.size:
        return _none()
    if isinstance(pilot, PilotConfig) and pilot.waypoints:
        points_W = np.array([waypoint.pos_m for waypoint in pilot.waypoints]) + flight.pos_W[0]
        return _closest_in_order(flight, points_W)
    return _at_the_setpoints(flight)


def cross_track_m(flight: Flight, passed: Passes) -> Array:
    """Distance from the line between two waypoints, for every sample of truth between them."""
    legs = zip(passed.points_W, passed.points_W[1:], passed.index, passed.index[1:], strict=False)
    return np.concatenate(
        [np.empty(0), *(_from_segment(flight.pos_W[i : j + 1], start, end) for start, end, i, j in legs)]
    )


def _closest_in_order(flight: Flight, points_W: Array) -> Passes:
    """Times in the order of the mission whose distances have the least sum of squares.

    Dynamic programming over waypoints: the least cost of having passed all previous ones by then, plus that of passing
    this one now. So a path that crosses itself is no shortcut, and a skipped waypoint counts with its distance.
    """
    by_itself = flight.in_modes(MISSION, flight.t_s) if flight.has_autopilot else True  # not known from the log
    aloft = np.flatnonzero(flight.airborne(flight.t_s) & by_itself)
    if not aloft.size:
        return _none()
    squares = np.stack([np.sum((flight.pos_W[aloft] - point) ** 2, axis=1) for point in points_W])
    so_far = np.zeros(len(aloft))
    costs = []
    for square in squares:
        so_far = np.minimum.accumulate(so_far) + square
        costs.append(so_far)
    index = np.empty(len(points_W), dtype=int)
    end = len(aloft)
    for number in reversed(range(len(points_W))):
        index[number] = np.argmin(costs[number][:end])
        end = index[number] + 1
    return Passes(points_W, aloft[index], np.sqrt(squares[np.arange(len(points_W)), index]))


def _at_the_setpoints(flight: Flight) -> Passes:
    """The setpoint when a waypoint was reported as reached, and the nearest truth until the next one."""
    codes = flight.column("board_event", "code")
    reached_s = flight.column("board_event", "t_s")[codes == Event.WAYPOINT_REACHED]
    wanted_s, reference_W = flight.column("setpoint", "t_s"), flight.columns("setpoint", POSITION)
    if not (reached_s.size and wanted_s.size):
        return _none()
    points_W = reference_W[np.clip(np.searchsorted(wanted_s, reached_s, side="right") - 1, 0, None)]
    limits_s = np.concatenate([[-np.inf], reached_s, [np.inf]])
    index, miss_m, kept = [], [], []
    for number, point in enumerate(points_W):
        near = np.flatnonzero((flight.t_s >= limits_s[number]) & (flight.t_s <= limits_s[number + 2]))
        distance_m = np.linalg.norm(flight.pos_W[near] - point, axis=1)
        if near.size and np.isfinite(distance_m).all():
            index.append(near[np.argmin(distance_m)])
            miss_m.append(np.min(distance_m))
            kept.append(number)
    return Passes(points_W[kept], np.array(index, dtype=int), np.array(miss_m))


def _from_segment(pos_W: Array, start_W: Array, end_W: Array) -> Array:
    along = end_W - start_W
    length2 = float(along @ along)
    part = np.clip((pos_W - start_W) @ along / length2, 0, 1) if length2 else np.zeros(len(pos_W))
    return np.asarray(np.linalg.norm(pos_W - start_W - part[:, None] * along, axis=1))


def _none() -> Passes:
    return Passes(np.empty((0, 3)), np.empty(0, dtype=int), np.empty(0))
