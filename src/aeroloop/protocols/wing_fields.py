"""The telemetry values of the fixed wing's board, which are also columns of its streams."""

from __future__ import annotations

from aeroloop.core.common_streams import PROCESSOR
from aeroloop.core.stream import VELOCITY

XY = (("x_m", "m", "east of the map's centre"), ("y_m", "m", "north of the map's centre"))
XYZ = (*XY, ("z_m", "m", "above mean sea level"))
ANGLES = (("roll_rad", "rad", "roll, ZYX"), ("pitch_rad", "rad", "pitch, ZYX"), ("yaw_rad", "rad", "yaw, ZYX"))
ESTIMATE = (
    *XYZ,
    *VELOCITY,
    *ANGLES,
    ("airspeed_m_s", "m/s", "true airspeed"),
    ("course_rad", "rad", "direction of flight over ground, from east to the left"),
    ("ground_speed_m_s", "m/s", "speed over ground"),
)
GUIDANCE = (
    ("step", "-", "number of the mission's step in wing_signals.Step"),
    ("path", "-", "number of the path that is followed, from 0"),
    ("s_m", "m", "arc length of the virtual point on it"),
    ("path_x_m", "m", "that point, east"),
    ("path_y_m", "m", "that point, north"),
    ("path_psi_rad", "rad", "direction of the path there, from east to the left"),
    ("path_kappa_1_m", "1/m", "curvature there, positive to the left"),
    ("along_m", "m", "error along the path"),
    ("cross_m", "m", "error across the path, positive to its left"),
    ("roll_command_rad", "rad", "roll setpoint of the inner loop"),
    ("lag_s", "s", "estimated roll time constant"),
)
STEP = (
    ("step", "-", "number of the step in wing_signals.Step"),
    ("value", "-", "number of the plan that belongs to it"),
)
PLAN = (
    ("plan", "-", "its number, from 0"),
    ("status", "-", "number in wing_signals.PlanStatus"),
    ("began_s", "s", "simulated time of the request"),
    ("start_x_m", "m", "start, east"),
    ("start_y_m", "m", "start, north"),
    ("goal_x_m", "m", "goal, east"),
    ("goal_y_m", "m", "goal, north"),
    ("leaves", "-", "cells of the map at several resolutions"),
    ("expanded", "-", "states that A* expanded"),
    ("cost", "-", "cost of the path, in the planner's fixed-point unit"),
    ("work_s", "s", "execution time of planner and path generation; 0 on the host"),
    ("cells", "-", "cells of the path"),
    ("fine", "-", "leading cells at the finest level: the channel"),
    ("reaches_goal", "-", "1 when the channel ends at the goal"),
)
CELL = (
    ("plan", "-", "number of the plan"),
    ("index", "-", "index of the cell in the path, from 0"),
    ("level", "-", "level of the cell; the map is one cell at level 0"),
    ("col", "-", "its column, from the west"),
    ("row", "-", "its row, from the south"),
)
PATH = (
    ("path", "-", "number of the path"),
    ("kind", "-", "0 circle around the start, 1 channel, 2 transient, 3 circle around the goal"),
    ("s_m", "m", "arc length"),
    *XY,
    ("psi_rad", "rad", "direction"),
    ("kappa_1_m", "1/m", "curvature"),
)
CPU = (
    *PROCESSOR,
    ("missed_cycles", "-", "control periods since the start without a command in time"),
    ("worst_latency_s", "s", "longest time from sensors to servos since the start"),
    ("planning_s", "s", "time since the previous sample with a plan in progress"),
    ("planning_use_pct", "%", "processor use by tasks while a plan was in progress; 0 without one"),
)
ANSWER = (
    ("number", "-", "number of the user command, modulo 256"),
    ("command", "-", "number in wing_signals.UserCommand"),
    ("parameter", "-", "number in wing_signals.BoardParameter, of the commands set; else 0"),
    ("answer", "-", "number in wing_signals.UserAnswer"),
    ("x", "m", "applied: the goal's place, east; of the command set the parameter's value, in its own unit"),
    ("y", "m", "applied: the goal's place, north; of the command set 0"),
)
PARAMETER = (
    ("parameter", "-", "number in wing_signals.BoardParameter"),
    ("value", "-", "its value on the board, in its own unit"),
)
