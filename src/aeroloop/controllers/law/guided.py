"""A multirotor's estimator and control law on one board: sensors and setpoints in, rotor commands out.

    imu, magnetometer, barometer, gnss ─▶ navigator ─▶ believed motion ─┐
                                              setpoint ─────────────────┴▶ cascade or own law ─▶ rotors

It requires a family's `airframe`. Rotors are stopped until the estimator is aligned and the plan starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca

from aeroloop.control import cascade
from aeroloop.control.board_law import BoardLaw, BoardRun, Group, Row, TelemetryRow
from aeroloop.control.clipping import nan_shown, within
from aeroloop.control.host_law import Build
from aeroloop.control.quad_toolkit import SETPOINT, STATE, YAW
from aeroloop.controllers.law import guided_nonlinear
from aeroloop.controllers.law.guided_design import Design, own_law
from aeroloop.controllers.law.guided_host import GuidedHost
from aeroloop.controllers.law.guided_tables import GuidedScenario
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.core.tables import offered
from aeroloop.estimation import board_filter
from aeroloop.estimation.board_filter import BELIEVED, SENSORS, Field, navigator
from aeroloop.estimation.config import NavigationConfig
from aeroloop.ground.flight_plan import planned
from aeroloop.ground.trajectories import build
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sim.vehicle import Vehicle
from aeroloop.world.earth import Earth

TELEMETRY_HZ = 50.0
WANTED = SETPOINT + 1
"""The setpoint, then 1 while the rotors may turn."""
DESCENDS_M_S, LEFT_BEHIND_M, AT_REST_M_S = -0.1, 0.4, 0.15
ESTIMATED, ASKED_FOR, ATTITUDE = BELIEVED - 3, 6, 4
"""Columns of the streams `estimate` (no rates) and `setpoint`: position and velocity; roll, pitch, yaw and fraction of
full thrust, if the law has an attitude loop."""


def board_law(scenario: GuidedScenario) -> BoardLaw:
    control = scenario.controller.control
    design, inner = designed(scenario)
    start_m = start_W(scenario)[2] if scenario.aircraft.starts_in_air else 0.0
    estimator = navigator(NavigationConfig(), field_at(scenario), control.period_s, start_m)
    aboard = scenario.aircraft.aboard
    slow = (aboard.magnetometer, aboard.barometer, aboard.gnss)
    rates_hz = (0.0, *(sensor.rate_hz for sensor in slow if sensor is not None), control.setpoint_hz)
    every = max(1, round(1 / (TELEMETRY_HZ * control.period_s)))
    host: Callable[[Build], BoardRun] | None = None
    parts: tuple[ca.Function, ...] = ()
    if control.host_only:
        law = guided_nonlinear.host_law(design, control.nmpc, inner)
        believe = believed(estimator)
        inner = two_outputs(inner)  # the attitude setpoint would be the fallback's
        host, parts = partial(GuidedHost, believe, law), (believe, *law.parts, law.fallback)
    function = composed(inner, estimator)
    return BoardLaw(
        function,
        control.period_s,
        groups=tuple(Group(size, rate_hz) for size, rate_hz in zip((*SENSORS, WANTED), rates_hz, strict=True)),
        tells=(TelemetryRow("estimate", ESTIMATED, every), _asked_for(function, every)),
        source=partial(Readings, scenario),
        logs=(),  # the vehicle logs samples and commands
        host=host,
        parts=parts,
    )


def designed(scenario: GuidedScenario) -> tuple[Design, ca.Function]:
    """The design model of a law, and the law flown: (state, setpoint, memory) -> (motors, memory, ...)."""
    control = scenario.controller.control
    design = Design(offered(scenario.kind, "airframe", scenario), control.period_s)
    return design, own_law(Path(control.law_file), design) if control.law_file else built_in(design)


def _asked_for(function: ca.Function, every: int) -> TelemetryRow:
    told = function.size1_out(2) - ESTIMATED
    return TelemetryRow("setpoint", told, every, unknown=ASKED_FOR + ATTITUDE - told)


def built_in(design: Design) -> ca.Function:
    """The cascade with its default gains: (state, setpoint, memory) -> (motors, memory, attitude setpoint)."""
    law = cascade.law(design.frame, design.period_s)
    state, setpoint, memory = (
        ca.SX.sym(*it) for it in (("state", STATE), ("setpoint", SETPOINT), ("memory", cascade.MEMORY))
    )
    row = ca.vertcat(setpoint[0:10], 0, 0, 0, 1, 1, setpoint[10])
    motors, asked, memory_next = law(state, row, memory, ca.DM(cascade.DEFAULTS))
    return nan_shown(ca.Function("cascade", [state, setpoint, memory], [motors, memory_next, asked]))


def two_outputs(inner: ca.Function) -> ca.Function:
    """The law without the attitude that it asks for."""
    symbols = [ca.MX.sym(name, inner.size1_in(i)) for i, name in enumerate(("state", "setpoint", "memory"))]
    return ca.Function("law", symbols, inner.call(symbols)[:2])


def composed(inner: ca.Function, estimator: ca.Function) -> ca.Function:
    """The whole board: (measured, fresh, memory) -> (command, memory, telemetry)."""
    sizes = (*SENSORS, WANTED)
    measured, fresh = ca.MX.sym("measured", sum(sizes)), ca.MX.sym("fresh", len(sizes))
    memory = ca.MX.sym("memory", board_filter.MEMORY + 1 + inner.size1_in(2))
    samples = ca.vertsplit(measured, [sum(sizes[:i]) for i in range(len(sizes) + 1)])
    wanted = samples.pop()
    believed, ready, estimator_after = estimator(*samples, fresh[: len(SENSORS)], memory[: board_filter.MEMORY])
    setpoint, armed = wanted[:SETPOINT], wanted[SETPOINT] > 0.5
    down = touched_down(believed, setpoint, memory[board_filter.MEMORY])
    flies = ca.logic_and(ca.logic_and(armed, ready > 0.5), ca.logic_not(down))
    rest = memory[board_filter.MEMORY + 1 :]
    motors, rest_after, *asked = inner.call([believed[:STATE], setpoint, rest])
    level = ca.vertcat(0, 0, setpoint[YAW], 0)
    attitude = [ca.if_else(flies, row, level) for row in asked]
    told = ca.vertcat(believed[0:10], believed[13:17], setpoint[0:6], *attitude)
    after = ca.vertcat(estimator_after, down, ca.if_else(flies, rest_after, ca.MX.zeros(rest.shape)))
    return ca.Function("guided", [measured, fresh, memory], [ca.if_else(flies, within(motors, 0, 1), 0), after, told])


def believed(estimator: ca.Function) -> ca.Function:
    """The board without its law: (measured, fresh, memory) -> (state, setpoint, flies or not, memory, telemetry)."""
    sizes = (*SENSORS, WANTED)
    measured, fresh = ca.MX.sym("measured", sum(sizes)), ca.MX.sym("fresh", len(sizes))
    memory = ca.MX.sym("memory", board_filter.MEMORY + 1)
    samples = ca.vertsplit(measured, [sum(sizes[:i]) for i in range(len(sizes) + 1)])
    wanted = samples.pop()
    motion, ready, after = estimator(*samples, fresh[: len(SENSORS)], memory[: board_filter.MEMORY])
    setpoint, armed = wanted[:SETPOINT], wanted[SETPOINT] > 0.5
    down = touched_down(motion, setpoint, memory[board_filter.MEMORY])
    flies = ca.logic_and(ca.logic_and(armed, ready > 0.5), ca.logic_not(down))
    told = ca.vertcat(motion[0:10], motion[13:17], setpoint[0:6])
    outputs = [motion[:STATE], setpoint, flies, ca.vertcat(after, down), told]
    return ca.Function("believed", [measured, fresh, memory], [ca.densify(output) for output in outputs])


def touched_down(believed: Any, setpoint: Any, before: Any) -> Any:
    """On the ground: a descent is commanded, but the aircraft is at rest above its setpoint, whatever its estimated
    height."""
    descends = setpoint[5] < DESCENDS_M_S
    left_behind = ca.logic_and(believed[2] - setpoint[2] > LEFT_BEHIND_M, ca.fabs(believed[5]) < AT_REST_M_S)
    return ca.logic_and(descends, ca.logic_or(before > 0.5, left_behind))


def field_at(scenario: GuidedScenario) -> Field:
    x, y, z = Earth(scenario.aircraft.home).field_W_T((0.0, 0.0, 0.0))
    return Field(math.atan2(y, x), math.hypot(x, y, z))


def start_W(scenario: GuidedScenario) -> Vec3:
    """Where a plan begins in the air, and where the board takes itself to be: at the trajectory's first point."""
    return build(scenario.controller.ground.trajectory)(0.0).pos_W


class Readings:
    """Sensor samples since the previous period, and the plan's setpoint when due; a `Source`."""

    def __init__(self, scenario: GuidedScenario, vehicle: Vehicle[Any, Any]) -> None:
        self._inbox = vehicle.tap()
        self._earth = Earth(scenario.aircraft.home)
        on_ground_W: Vec3 = (*vehicle.state.pos_W[:2], 0.0)
        first_W = start_W(scenario) if scenario.aircraft.starts_in_air else on_ground_W
        self._wanted = planned(scenario.controller.ground, first_W)
        self._every_ns = round(NS / scenario.controller.control.setpoint_hz)
        self._due_ns = 0
        self._begun = False

    def __call__(self, t_ns: int) -> list[Row | None] | None:
        samples, imu = list(self._inbox), []
        self._inbox.clear()
        found: dict[type, Row] = {}
        for sample in samples:
            match sample:
                case ImuSample():
                    imu.append((*sample.rate_B, *sample.accel_B))
                case MagnetometerSample():
                    found[MagnetometerSample] = sample.field_B_T
                case BarometerSample():
                    found[BarometerSample] = (sample.pressure_altitude_m,)
                case GnssSample() if sample.fix:
                    place_W = self._earth.pos_W(sample.lat_deg, sample.lon_deg, sample.alt_m)
                    age_s = (t_ns - sample.t_ns) / NS
                    found[GnssSample] = (age_s, *place_W, *sample.vel_W, sample.eph_m, sample.epv_m)
        self._begun = self._begun or bool(imu)
        if not self._begun:
            return None
        mean = tuple(sum(column) / len(imu) for column in zip(*imu, strict=True)) if imu else None
        slow = (found.get(kind) for kind in (MagnetometerSample, BarometerSample, GnssSample))
        return [mean, *slow, self._setpoint(t_ns)]

    def _setpoint(self, t_ns: int) -> Row | None:
        if t_ns < self._due_ns:
            return None
        self._due_ns = t_ns + self._every_ns
        point, accel_W, armed = self._wanted(t_ns / NS)
        return (*point.pos_W, *point.vel_W, *accel_W, point.yaw_rad, point.yaw_rate_rad_s, float(armed))
