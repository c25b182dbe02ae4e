"""The fixed wing's flight as a batch: a loop of functions, a cycle for each plant step.

    ground ─▶ wind and air ─▶ sensors ─▶ metrics ─▶ control, every period ─▶ servos, Runge-Kutta 4

A cycle begins at the aircraft's present time, with what the bench does at the end of the step before: equal order,
equal numbers. Positions, heights and pressures are differences from the middle of the flight (`batch_local.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import casadi as ca
import numpy as np

from aeroloop.actuators.servo_function import servos
from aeroloop.batch.layout import Layout
from aeroloop.batch.loop import Call, Item, Lookup, Loop, Repeat
from aeroloop.core.signals import NS
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.airframe import scaled
from aeroloop.families.fixedwing.batch_board import Board
from aeroloop.families.fixedwing.batch_ground import BatchTerrain
from aeroloop.families.fixedwing.batch_local import Local
from aeroloop.families.fixedwing.batch_sampling import WIND, WIND_DRAWS, before, sensors, steps
from aeroloop.families.fixedwing.batch_table import Row, fix_count
from aeroloop.families.fixedwing.build import level_flight
from aeroloop.families.fixedwing.rows import TRUTH_PERIOD_NS
from aeroloop.families.fixedwing.scenario import FixedWingScenario, Scale
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.models import fixedwing
from aeroloop.models.rigid_body import QUAT, RATE, STATES, VEL, rotation
from aeroloop.sensors.error_functions import limited
from aeroloop.world import dryden

SCALES = Scale.__struct_fields__
STEADY, W20, OFFSET = "world.wind.steady_W", "world.wind.turbulence.w20_m_s", "world.start_offset_W"
PARAMETERS = (
    *(f"vehicle.scale.{name}" for name in SCALES),
    *(f"{STEADY}[{axis}]" for axis in range(3)),
    W20,
    *(f"{OFFSET}[{axis}]" for axis in range(3)),
)
"""Keys of the scenario that may differ between flights."""

METRICS = (
    "altitude_error_rms_m",
    "airspeed_error_rms_m_s",
    "cross_track_loiter_rms_m",
    "est_pos_rms_m",
    "est_height_rms_m",
    "altitude_error_max_m",
    "airspeed_error_max_m_s",
    "cross_track_loiter_max_m",
    "roll_max_deg",
    "clearance_min_m",
    "over_blocked_cells",
    "saturated_steps",
    "diverged",
    "ground_contacts",
    "flown_s",
)
"""Names of summary.json."""

STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))
"""Runge-Kutta 4: position of the next stage, and weight of this one."""
DRYDEN_STATES = 7
FIX = 6


class WingLoop:
    def __init__(self, scenario: FixedWingScenario) -> None:
        self._scenario = scenario
        world, mission = scenario.aircraft.world, scenario.aircraft.mission
        self._step_s = world.step_s
        self._airframe = airframes.load(scenario.aircraft.vehicle.airframe)
        centre_W = (*places(scenario).start_m, mission.height_m)
        self._local, self._ground = Local(world.home, world.day, centre_W), BatchTerrain(scenario, centre_W)
        self._board = Board(scenario, self._local)
        self._sensors = sensors(scenario)
        self._before = before(self._sensors)
        self._period = steps("board.period_s", scenario.controller.board.period_s, world.step_s)
        self._fixes = fix_count(scenario)
        self._params = ca.SX.sym("params", len(PARAMETERS))
        self._own = dict(zip(PARAMETERS, ca.vertsplit(self._params), strict=True))
        self._row = ca.SX.sym("table", len(Row._fields))
        self._now = Row(*cast(Any, ca.vertsplit(self._row)))
        noise = {f"{name}_errors": sensor.memory for name, sensor in self._sensors.items() if sensor.memory}
        self._parts = Layout(
            {
                "x": STATES,  # at the present time
                "stage": STATES,  # where the next derivative is taken
                "slope": STATES,  # weighted mean of the derivatives
                "accel_W": 3,  # mean over the last step
                "servos": 4,
                "controls": 4,  # mean over this step
                "beyond": 1,  # a command of the last step was beyond a limit
                "command": 4,
                "place": 1,
                "part": 2,
                "corners": 4,
                "ground": 1,  # height below the aircraft
                "cell": 1,
                "blocked": 1,
                "dryden": DRYDEN_STATES,
                "wind_W": 3,
                "density": 1,
                "imu": 6,  # sum since the last control period
                "field": 3,
                "static": 1,
                "dynamic": 1,
                "fixes": FIX * self._fixes,  # newest first
                **noise,
                **self._board.sizes,
                "squares": 5,
                "largest": 5,
                "counted": 2,
                "over_blocked": 1,
                "saturated": 1,
                "alive": 1,
                "diverged": 1,
                "crashed": 1,
                "flown": 1,
            }
        )

    def loop(self) -> Loop:
        lead, place = self._before, self._parts.at
        truth_every = steps("world.step_s", TRUTH_PERIOD_NS / NS, self._step_s)
        stages = tuple((c * self._step_s, w) for c, w in STAGES)
        sampling = {
            "imu": self._imu,
            "magnetometer": self._magnetometer,
            "barometer": self._barometer,
            "airspeed": self._airspeed,
            "gnss": self._gnss,
        }
        sampled = [
            Call(self._sampled(name, changes), every=sensor.every, phase=sensor.origin, stream=sensor.stream)
            for (name, changes), sensor in ((item, self._sensors[item[0]]) for item in sampling.items())
        ]
        cycle: tuple[Item, ...] = (
            Lookup(self._ground.heights, place("place"), place("corners"), self._ground.corners),
            Lookup(self._ground.blocked, place("cell"), place("blocked")),
            Call(self._surround(), phase=lead - 1, stream=WIND),
            *sampled,
            Call(self._count(), every=truth_every, phase=lead),
            Call(self._control(), every=self._period, phase=lead),
            Call(self._begin(), phase=lead),
            Repeat(len(STAGES), (Call(self._stage(), phase=lead, rows=stages),)),
            Call(self._end(), phase=lead),
        )
        return Loop(self._start(), cycle, self._finish(), PARAMETERS, METRICS, len(Row._fields), 1)

    def _several(self, key: str) -> Any:
        return ca.vertcat(*(self._own[f"{key}[{axis}]"] for axis in range(3)))

    def _start(self) -> ca.Function:
        """On the circle, east of its centre, flying straight north in trim; the aircraft moves with the steady wind."""
        tables = self._scenario.aircraft
        at = level_flight(tables)
        x = ca.SX(ca.DM(at.state((tables.mission.loiter_radius_m, 0.0, 0.0), math.pi / 2)))
        x[:3] += self._several(OFFSET)
        x[VEL] += self._several(STEADY)
        s = self._parts
        parts: dict[str, Any] = {name: ca.SX.zeros(size) for name, size in s.sizes.items()}
        place, part = self._ground.place(x)
        parts |= {"x": x, "servos": at.controls, "command": at.controls, "path": self._board.initial_path()}
        parts |= {"place": place, "part": part, "cell": self._ground.cell(x), "alive": 1}
        parts["largest"][4] = -1e9  # of the ground over the aircraft
        state = s.whole(
            {name: ca.SX(ca.vertcat(*value) if isinstance(value, tuple) else value) for name, value in parts.items()}
        )
        return ca.Function("start", [self._params], [state], ["params"], ["state"])

    def _surround(self) -> ca.Function:
        """Ground, wind and air at the present position, and whether the flight goes on."""
        s, now = self._parts, self._now
        normals = ca.SX.sym("normals", WIND_DRAWS)
        x, ground = s["x"], self._ground.height_m(s["corners"], s["part"])
        turbulence = self._scenario.aircraft.world.wind.turbulence
        over_m, steady_W = x[2] - ground, self._several(STEADY)
        moment = ca.vertcat(now.dt_s, ca.fmax(over_m, 0), x[VEL] - steady_W, normals)
        setting = ca.vertcat(self._own[W20], turbulence.min_airspeed_m_s)
        row = dryden.step_function()(s["dryden"], moment, setting)
        initial = ca.vertcat(*dryden.stationary(*ca.vertsplit(normals)), 0, 0)
        _, density = self._local.air(self._local.altitude_m(x[:3]))
        absolute = x[:3] + ca.DM(self._local.centre_W)
        inside = ca.sumsqr(absolute) < self._scenario.aircraft.world.reach_m**2
        alive = s["alive"]
        diverged, crashed = ca.logic_and(alive, ca.logic_not(inside)), ca.logic_and(alive, over_m <= 0)
        changes = {
            "dryden": ca.if_else(now.begun, row[:DRYDEN_STATES], initial),
            "wind_W": steady_W + row[DRYDEN_STATES:],
            "density": density,
            "ground": ground,
            "alive": ca.logic_and(alive, ca.logic_and(inside, over_m > 0)),
            "diverged": ca.logic_or(s["diverged"], diverged),
            "crashed": ca.logic_or(s["crashed"], ca.logic_and(inside, crashed)),
            "flown": s["flown"] + ca.logic_and(alive, now.dt_s > 0),  # steps
        }
        return s.event("surround", {"params": self._params, "table": self._row, "normals": normals}, changes)

    def _sampled(self, name: str, changes: Callable[[Mapping[str, Any]], dict[str, Any]]) -> ca.Function:
        """An event of a sensor; `changes` gives the parts of the state that it writes, from the errors by channel."""
        s, sensor = self._parts, self._sensors[name]
        normals = ca.SX.sym("normals", sensor.first_count)
        kept = s[f"{name}_errors"] if sensor.memory else ca.SX(0, 1)
        errors, after = sensor.sample(normals, kept)
        parts = changes(errors)
        if sensor.memory:
            parts[f"{name}_errors"] = ca.if_else(self._now.begun, after, sensor.first(normals))
        inputs = {"table": self._row, **({"normals": normals} if sensor.first_count else {})}
        return s.event(name, inputs, parts)

    def _imu(self, errors: Mapping[str, Any]) -> dict[str, Any]:
        s, config = self._parts, self._scenario.aircraft.aboard.imu
        assert config is not None
        gravity = self._local.gravity_m_s2(s["x"][:3])
        force_B = rotation(s["x"][QUAT]).T @ (s["accel_W"] + ca.vertcat(0, 0, gravity))
        rate = limited(_response(config.gyro.response(), s["x"][RATE]) + errors["gyro"], config.gyro.errors)
        accel = limited(_response(config.accel.response(), force_B) + errors["accel"], config.accel.errors)
        return {"imu": ca.if_else(self._now.begun, s["imu"] + ca.vertcat(rate, accel), s["imu"])}

    def _magnetometer(self, errors: Mapping[str, Any]) -> dict[str, Any]:
        s, config = self._parts, self._scenario.aircraft.aboard.magnetometer
        assert config is not None
        field_B = rotation(s["x"][QUAT]).T @ self._local.field_W_T(s["x"][:3])
        seen = ca.DM(np.array(config.soft_iron)) @ field_B + ca.DM(config.hard_iron_B_T)
        return {"field": limited(seen + errors["field"], config.errors)}

    def _barometer(self, errors: Mapping[str, Any]) -> dict[str, Any]:
        """The pressure from the local one, in the resolution of the message to the board."""
        s, config, local = self._parts, self._scenario.aircraft.aboard.barometer, self._local
        assert config is not None
        pressure, density = local.air(local.altitude_m(s["x"][:3]))
        if config.port_coefficient:
            pressure += config.port_coefficient * 0.5 * density * ca.sumsqr(s["x"][VEL] - s["wind_W"])
        seen = pressure + errors["pressure"]
        if config.pressure.quantum or config.pressure.range:
            seen = limited(local.pressure_Pa + seen, config.pressure) - local.pressure_Pa
        step_Pa = local.pressure_step_Pa
        return {"static": ca.floor(seen / step_Pa + 0.5) * step_Pa}

    def _airspeed(self, errors: Mapping[str, Any]) -> dict[str, Any]:
        s, config = self._parts, self._scenario.aircraft.aboard.airspeed
        assert config is not None
        ahead = ca.dot(rotation(s["x"][QUAT])[:, 0], s["x"][VEL] - s["wind_W"])
        true = 0.5 * s["density"] * ahead * ca.fabs(ahead)
        return {"dynamic": limited(true + errors["pressure"], config.pressure)}

    def _gnss(self, errors: Mapping[str, Any]) -> dict[str, Any]:
        s, config = self._parts, self._scenario.aircraft.aboard.gnss
        assert config is not None
        pos = self._local.fix(s["x"][:3] + errors["position"])
        vel = limited(s["x"][VEL] + errors["velocity"], config.velocity)
        return {"fixes": ca.vertcat(pos, vel, s["fixes"][: FIX * (self._fixes - 1)])}

    def _control(self) -> ca.Function:
        s, now = self._parts, self._now
        fixes = ca.vertsplit(s["fixes"], FIX)
        fix = fixes[0]
        for index, older in enumerate(fixes[1:], start=1):
            fix = ca.if_else(now.fix > index - 0.5, older, fix)
        mean = s["imu"] * now.imu_share
        sensed = {"gyro": mean[:3], "accel": mean[3:], "field": s["field"], "static": s["static"]}
        sensed |= {"dynamic": s["dynamic"], "fresh": now.fresh, "fix": fix}
        own = {name: s[name] for name in self._board.sizes}
        command, estimate, after = self._board.step(own, sensed, now.first)
        changes = {name: ca.if_else(now.ready, value, s[name]) for name, value in after.items()}
        changes["command"] = ca.if_else(now.ready, command, ca.DM(self._board.trim))
        off = estimate[:3] - s["x"][:3]
        radius_m = self._scenario.aircraft.mission.loiter_radius_m
        across_m = radius_m - ca.sqrt(ca.sumsqr(s["x"][:2] - after["centre"]))
        counted = ca.logic_and(s["alive"], now.compared)
        squares = ca.vertcat(0, 0, across_m**2, ca.sumsqr(off[:2]), off[2] ** 2)
        changes["squares"] = s["squares"] + ca.if_else(counted, squares, 0)
        across = ca.vertcat(0, 0, ca.if_else(counted, ca.fabs(across_m), 0), 0)
        changes["largest"] = ca.vertcat(ca.fmax(s["largest"][:4], across), s["largest"][4])
        changes["counted"] = s["counted"] + ca.vertcat(0, counted)
        changes["imu"] = ca.SX.zeros(6)
        return s.event("control", {"table": self._row}, changes)

    def _count(self) -> ca.Function:
        """A row of the truth: what the bench computes from its log."""
        s, now = self._parts, self._now
        x, alive = s["x"], s["alive"]
        speed = ca.sqrt(ca.sumsqr(x[VEL] - s["wind_W"]))
        off = ca.vertcat(x[2], speed - self._scenario.aircraft.mission.airspeed_m_s)
        settled = ca.logic_and(alive, now.settled)
        R = rotation(x[QUAT])
        roll = ca.fabs(ca.atan2(R[2, 1], R[2, 2]))
        errors = ca.vertcat(ca.if_else(settled, ca.fabs(off), 0), 0, ca.if_else(alive, roll, 0))
        over = ca.if_else(alive, s["ground"] - x[2], -1e9)
        changes = {
            "squares": s["squares"] + ca.vertcat(ca.if_else(settled, off * off, 0), ca.SX.zeros(3)),
            "largest": ca.fmax(s["largest"], ca.vertcat(errors, over)),
            "counted": s["counted"] + ca.vertcat(settled, 0),
            "over_blocked": s["over_blocked"] + ca.logic_and(alive, s["blocked"]),
            "saturated": s["saturated"] + ca.logic_and(alive, s["beyond"]),
        }
        return s.event("count", {"table": self._row}, changes)

    def _begin(self) -> ca.Function:
        s = self._parts
        pressure_Pa = 0.5 * s["density"] * ca.sumsqr(s["x"][VEL] - s["wind_W"])
        after, mean, beyond = servos(self._airframe.servos, s["servos"], s["command"], self._step_s, pressure_Pa)
        zero = ca.SX.zeros(STATES)
        changes = {"servos": after, "controls": mean, "beyond": beyond, "stage": s["x"], "slope": zero}
        return s.event("begin", {}, changes)

    def _stage(self) -> ca.Function:
        """One stage of Runge-Kutta; wind, density and gravity are those at the beginning of the step."""
        s, row = self._parts, ca.SX.sym("row", 2)
        flown = scaled(self._airframe, *(self._own[f"vehicle.scale.{name}"] for name in SCALES))
        gravity = self._local.gravity_m_s2(s["x"][:3])
        slope = fixedwing.derivative(flown, s["stage"], s["controls"], s["wind_W"], s["density"], gravity)
        changes = {"stage": s["x"] + row[0] * slope, "slope": s["slope"] + row[1] * slope}
        return s.event("stage", {"params": self._params, "row": row}, changes)

    def _end(self) -> ca.Function:
        s = self._parts
        x = s["x"] + self._step_s * s["slope"]
        x[QUAT] /= ca.sqrt(ca.sumsqr(x[QUAT]))
        place, part = self._ground.place(x)
        changes = {"x": x, "accel_W": s["slope"][VEL], "place": place, "part": part, "cell": self._ground.cell(x)}
        return s.event("end", {}, changes)

    def _finish(self) -> ca.Function:
        s = self._parts
        rows, periods = ca.vertsplit(ca.fmax(s["counted"], 1))
        made = ca.vertcat(
            ca.sqrt(s["squares"] / ca.vertcat(rows, rows, periods, periods, periods)),
            s["largest"][:3],
            180 / math.pi * s["largest"][3],
            -s["largest"][4],
            *(s[name] for name in ("over_blocked", "saturated", "diverged", "crashed")),
            self._step_s * s["flown"],
        )
        return ca.Function("finish", [s.symbol], [made], ["state"], ["metrics"])


def _response(matrix: Any, value: Any) -> Any:
    return value if matrix is None else ca.DM(np.array(matrix)) @ value
