"""The fixed wing's board in Python, rung mil: the paper's tasks, once a control period, by their priorities.

    HILS_Rx ─▶ ESTI_Atti ─▶ ESTI_Nav ─▶ CNTR ─▶ HILS_Tx
                                         └─▶ PFOL ─▶ COMM_Tx ─▶ PMAN ─▶ PPLAN ─▶ PGEN

CNTR runs before PFOL: its roll setpoint is that of path following in the previous period.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control.path_following import initial as follow_from
from aeroloop.control.path_following import tuning
from aeroloop.core.geodesy import local
from aeroloop.core.signals import Event, Origin
from aeroloop.core.wing_signals import BoardParameter, WingCommand, WingSensors
from aeroloop.estimation.wing import initial as estimate_from
from aeroloop.families.fixedwing.autopilot_planning import SlowPlanning
from aeroloop.families.fixedwing.design import flight_law
from aeroloop.families.fixedwing.law import WingLaw
from aeroloop.families.fixedwing.operating import Parameters, console, goal_check
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.user_task import UserTask
from aeroloop.planning.cells import Cell
from aeroloop.planning.mission import Mission, MissionSettings
from aeroloop.planning.mission_messages import Result, tangent
from aeroloop.planning.mission_telemetry import Row
from aeroloop.planning.path import PathPoint
from aeroloop.planning.planner import Planner
from aeroloop.protocols.wing import UserMessage
from aeroloop.world.earth import Earth

X, Y, ROLL, COURSE, GROUND_SPEED = 0, 1, 6, 13, 14  # indices into the estimate
TOLD = (*range(9), 12, 13, 14)  # of the estimate: all but the body's rates


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """Settings of the board."""

    origin: Origin  # of W: the middle of the map, at sea level
    azimuth_rad: float  # direction of the magnetic field on level ground, from east to the left


class Autopilot:
    """Call `step` with the sensors of a period, and the goals and user commands received since the previous one."""

    def __init__(
        self,
        law: WingLaw,
        board_settings: BoardSettings,
        planner: Planner,
        user: UserTask,
        *,
        pieces: int | None = None,
        mission: MissionSettings | None = None,
    ) -> None:
        self._atti, self._nav, self._cntr, self._pfol = map(Evaluator, law.functions)
        self._law = law
        self._board_settings = board_settings
        self._planner = planner
        self._settings = mission or MissionSettings()
        self._user, self._parameters = user, user.parameters
        self._planning = SlowPlanning(planner, user.parameters[BoardParameter.LOITER_RADIUS], pieces)
        self._trim: WingCommand = (0.0, law.dynamics.elevator_rad, 0.0, law.dynamics.throttle)
        self._ready = False
        self._command = self._trim
        self._fix = [0.0] * 7
        self._result: Result | None = None
        self.mission: Mission | None = None
        self._goal_m: tuple[float, float] | None = None
        self._psi_inf_rad = law.path_gains.psi_inf_rad
        self._pfol.inputs[4][:] = tuning(law.path_gains)

    def step(
        self, sensors: WingSensors, goals: Sequence[tuple[float, float]] = (), commands: Sequence[UserMessage] = ()
    ) -> tuple[WingCommand, list[Row]]:
        """Returns the servo command of this period, and rows (stream, values) for the ground."""
        rows: list[Row] = []
        if goals:
            self._goal_m = goals[-1]
        self._receive(sensors)
        if not self._ready:
            for command in commands:
                rows += self._user.step(command, None, (0.0, 0.0))
            return self._trim, rows
        self._estimate(sensors)
        self._control(rows)
        self._follow(rows)
        self._manage(sensors.t_ms * 1e-3, commands, rows)
        return self._command, rows

    def _receive(self, sensors: WingSensors) -> None:
        """HILS_Rx; the first fix starts everything, in the air and flying straight ahead."""
        if sensors.fix:
            pos_W = local(self._board_settings.origin, sensors.lat_deg, sensors.lon_deg, sensors.alt_m)
            self._fix = [1.0, *pos_W, *sensors.vel_W]
            if not self._ready:
                attitude, navigation = estimate_from(
                    pos_W, sensors.vel_W, sensors.static_Pa, pitch_rad=-self._law.dynamics.alpha_rad
                )
                self._atti.inputs[0][:], self._nav.inputs[0][:] = attitude, navigation
                self._pfol.inputs[0][:] = follow_from(0.0, self._law.path_gains)
                self._cntr.inputs[2][:] = 0.0
                self._ready = True
        else:
            self._fix[0] = 0.0

    def _estimate(self, sensors: WingSensors) -> None:
        """ESTI_Atti and ESTI_Nav."""
        atti, nav = self._atti, self._nav
        atti.inputs[1][:] = nav.inputs[0]
        atti.inputs[2][:], atti.inputs[3][:], atti.inputs[4][:] = sensors.gyro_B, sensors.accel_B, sensors.field_B
        atti.inputs[5][0] = self._board_settings.azimuth_rad
        atti()
        atti.inputs[0][:] = atti.outputs[0]
        nav.inputs[1][:] = atti.outputs[0]
        nav.inputs[2][:] = sensors.accel_B
        nav.inputs[3][:] = sensors.static_Pa, sensors.dynamic_Pa
        nav.inputs[4][:] = self._fix
        nav()
        nav.inputs[0][:] = nav.outputs[1]

    def _control(self, rows: list[Row]) -> None:
        """CNTR. If the law returns NaN or infinity, this is reported and the law restarts from the trim."""
        cntr = self._cntr
        cntr.inputs[0][:] = self._nav.outputs[0]
        parameters = self._parameters
        cntr.inputs[1][:] = (
            self._pfol.outputs[0][0],
            parameters[BoardParameter.HEIGHT],
            parameters[BoardParameter.AIRSPEED],
        )
        cntr()
        aileron, elevator, rudder, throttle = cntr.outputs[0].tolist()
        self._command = (aileron, elevator, rudder, throttle)
        wrong = [index for index, value in enumerate(self._command) if not math.isfinite(value)]
        if wrong:
            rows.append(("board_event", (float(Event.LAW_NOT_FINITE), float(wrong[0]))))
            self._command = self._trim
            cntr.inputs[2][:] = 0.0
        else:
            cntr.inputs[2][:] = cntr.outputs[1]

    def _follow(self, rows: list[Row]) -> None:
        """PFOL, and the periodic telemetry of COMM_Tx. If the law returns NaN or infinity, also in values that
        it limits (they make its roll setpoint infinite), this is reported and it restarts with wings level."""
        estimate, pfol = self._nav.outputs[0], self._pfol
        mission = self.mission or self._begin_mission()
        point = mission.reference.at(mission.s_m)
        pfol.inputs[0][0] = mission.s_m
        pfol.inputs[1][:] = estimate[[X, Y, COURSE, GROUND_SPEED, ROLL]]
        pfol.inputs[2][:] = point
        pfol.inputs[3][0] = self._parameters[BoardParameter.ROLL_LIMIT]
        pfol()
        if not math.isfinite(pfol.outputs[0][0]) or not math.isfinite(pfol.outputs[1][0]):
            rows.append(("board_event", (float(Event.LAW_NOT_FINITE), float(len(self._command)))))
            pfol.outputs[0][:] = 0.0
            pfol.outputs[1][:] = follow_from(mission.s_m, self._law.path_gains)
        roll, along_m, cross_m, _ = pfol.outputs[0].tolist()
        pfol.inputs[0][:] = pfol.outputs[1]
        lag_s = float(pfol.outputs[1][1])
        rows.append(("estimate", tuple(estimate[list(TOLD)].tolist())))
        rows.append(
            (
                "guidance",
                (float(mission.state), float(mission.path_number), mission.s_m, *point, along_m, cross_m, roll, lag_s),
            )
        )

    def _begin_mission(self) -> Mission:
        """On a circle tangent to the course on its left, at the position of the first estimate."""
        estimate, elevation = self._nav.outputs[0], self._planner.elevation
        finest = self._planner.settings.resolution.finest
        most_m = elevation.side_m / 2 - 1e-3

        def cell_at(x_m: float, y_m: float) -> Cell:
            return elevation.cell_at(finest, min(max(x_m, -most_m), most_m), min(max(y_m, -most_m), most_m))

        here = PathPoint(float(estimate[X]), float(estimate[Y]), float(estimate[COURSE]), 0.0)
        circle, s_m = tangent(here, self._parameters[BoardParameter.LOITER_RADIUS], left=True)
        self.mission = Mission(self._settings, circle, cell_at)
        self.mission.s_m = s_m
        return self.mission

    def _manage(self, now_s: float, commands: Sequence[UserMessage], rows: list[Row]) -> None:
        """USER, PARAM and PMAN, then PPLAN and PGEN in the remaining time; PMAN gets their results a period later."""
        mission = self.mission
        assert mission is not None
        if self._goal_m is not None:
            mission.command(self._goal_m)
            self._goal_m = None
        mission.s_m = float(self._pfol.outputs[1][0])
        for command in commands:
            here_m = float(self._nav.outputs[0][X]), float(self._nav.outputs[0][Y])
            rows += self._user.step(command, mission, here_m)
        if commands:
            self._tune()
        rows += mission.step(now_s, mission.s_m, self._result)
        self._result = self._planning.work(mission.order)

    def _tune(self) -> None:
        """Parameters for the laws; CNTR and PFOL read theirs in the next period."""
        values = self._parameters
        gains = [values[gain] for gain in (BoardParameter.KS, BoardParameter.KW, BoardParameter.KZ, BoardParameter.KD)]
        self._pfol.inputs[4][:] = *gains, self._psi_inf_rad * gains[-1]
        self._planning.radius_m = values[BoardParameter.LOITER_RADIUS]


def autopilot_of(scenario: FixedWingScenario, *, mission: MissionSettings | None = None) -> Autopilot:
    """The board of a scenario."""
    home = scenario.aircraft.world.home
    law = flight_law(scenario)
    field_x, field_y, _ = Earth(home).field_W_T((0.0, 0.0, 0.0))
    board_settings = BoardSettings(
        Origin(home.lat_deg, home.lon_deg, 0.0),
        math.atan2(field_y, field_x),
    )
    return Autopilot(
        law,
        board_settings,
        planner_of(scenario),
        UserTask(Parameters(console(scenario)), goal_check(scenario)),
        pieces=scenario.controller.board.pieces_each_period,
        mission=mission,
    )
