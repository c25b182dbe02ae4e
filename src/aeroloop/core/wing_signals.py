"""Signals between stages in a flight of the fixed wing, besides those of every aircraft."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Task

SURFACES = ("aileron", "elevator", "rudder", "throttle")
"""Order of a command: three angles in rad, throttle from 0 to 1. Positive aileron rolls right, positive elevator
pitches the nose down, positive rudder yaws left."""

WingCommand = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class WingSensors:
    """Sent to the board each control period; the IMU's values are means over the period."""

    cycle: int
    t_ms: int
    gyro_B: Vec3  # rad/s
    accel_B: Vec3  # m/s2, specific force
    field_B: Vec3  # T
    static_Pa: float
    dynamic_Pa: float
    fix: bool  # the satellite receiver's values below are new
    lat_deg: float
    lon_deg: float
    alt_m: float  # above mean sea level
    vel_W: Vec3  # m/s


class Direction(IntEnum):
    """Direction of a channel through a cell; each is a quarter turn to the left of the previous one."""

    EAST = 0
    NORTH = 1
    WEST = 2
    SOUTH = 3


class Turn(IntEnum):
    """What a channel does in a cell."""

    STRAIGHT = 0
    LEFT = 1
    RIGHT = 2


class Step(IntEnum):
    """Step of the mission: A to I of the paper's Figure 8, and two more."""

    LOITER = 1  # A: round the start, no goal yet
    PLAN = 2  # B: the first path is being computed, still on the circle
    LEAVE = 3  # C: from the circle onto the first path
    FOLLOW = 4  # on a path, nothing is being computed
    REPLAN = 5  # D, F: on a path, the next is being computed
    TRANSIENT = 6  # E: from the previous path onto the next
    APPROACH = 7  # G: the path leads to the goal; no further planning
    ARRIVE = 8  # H: from the path onto the circle round the goal
    ARRIVED = 9  # I: round the goal
    STRANDED = 10  # no path was found: loitering at a safe position, and retrying


LETTERS = {
    Step.LOITER: "A",
    Step.PLAN: "B",
    Step.LEAVE: "C",
    Step.FOLLOW: "C",
    Step.REPLAN: "D",
    Step.TRANSIENT: "E",
    Step.APPROACH: "G",
    Step.ARRIVE: "H",
    Step.ARRIVED: "I",
    Step.STRANDED: "-",
}
"""The paper's letters; it calls a second replanning F."""


class PlanStatus(IntEnum):
    """Result of a path search."""

    FOUND = 0
    UNREACHABLE = 1
    START_OUTSIDE = 2
    GOAL_OUTSIDE = 3
    NO_PATH = 4  # cells were found, but no flyable path through them
    TOO_LATE = 5  # the aircraft had passed the point from which the new path was planned


class UserCommand(IntEnum):
    """What the operator may command in flight."""

    GOAL = 1  # fly to this position
    LOITER = 2  # fly a circle here, until another command
    RETURN = 3  # fly back to the centre of the first circle
    RESUME = 4  # fly on to the goal, after LOITER
    SET = 5  # change a parameter
    READ = 6  # report the values of all parameters


class BoardParameter(IntEnum):
    """Parameters of the board that may change in flight; `families/fixedwing/operating.py` has units and limits."""

    AIRSPEED = 0
    HEIGHT = 1
    LOITER_RADIUS = 2
    ROLL_LIMIT = 3
    KS = 4
    KW = 5
    KZ = 6
    KD = 7


class UserAnswer(IntEnum):
    """The board's answer to a user command: accepted, or why not."""

    ACCEPTED = 0
    UNKNOWN = 1  # no such command or parameter
    NOT_READY = 2  # the board has no position yet
    OUTSIDE_LIMITS = 3  # of the parameter
    CIRCLE_TOO_TIGHT = 4  # for the airspeed and 30 degrees of bank
    GOAL_OFF_MAP = 5  # with its circle
    GOAL_BLOCKED = 6  # its circle leads over blocked cells
    GOAL_UNREACHABLE = 7  # no free cells lead there
    NO_ROOM = 8  # for a free circle here
    NO_GOAL = 9  # to resume
    NO_ANSWER = 10  # decided by the ground: the board did not answer


ANSWER_WORDS: dict[UserAnswer, str] = {
    UserAnswer.ACCEPTED: "accepted",
    UserAnswer.UNKNOWN: "refused: no such command or parameter",
    UserAnswer.NOT_READY: "refused: the board has no position yet",
    UserAnswer.OUTSIDE_LIMITS: "refused: the value is outside the parameter's limits",
    UserAnswer.CIRCLE_TOO_TIGHT: "refused: at this airspeed and 30 degrees of bank a circle is larger",
    UserAnswer.GOAL_OFF_MAP: "refused: the goal and its circle are not on the map",
    UserAnswer.GOAL_BLOCKED: "refused: the goal's circle leads over blocked cells",
    UserAnswer.GOAL_UNREACHABLE: "refused: no free cells lead to the goal",
    UserAnswer.NO_ROOM: "refused: no free circle here",
    UserAnswer.NO_GOAL: "refused: no goal to resume, or it is flown to already",
    UserAnswer.NO_ANSWER: "no answer from the board",
}


WING_TASKS = (
    Task("hils_tx", 11, "a command is ready"),
    Task("hils_rx", 12, "bytes on the simulator's line"),
    Task("comm_rx", 13, "bytes on the ground's line"),
    Task("comm_proc", 14, "a user command is complete"),
    Task("esti_atti", 15, "sensors of this cycle are complete"),
    Task("esti_nav", 16, "attitude is estimated"),
    Task("cntr", 17, "position is estimated"),
    Task("pfol", 18, "inner loops are done"),
    Task("comm_tx", 19, "path following is done"),
    Task("pgen", 20, "cells are found"),
    Task("pman", 21, "each cycle, and when a path is ready"),
    Task("stat", 22, "each cycle; samples once a second"),
    Task("pplan", 23, "the mission requests a path"),
)
"""The fixed wing's tasks and priorities: Table 1 of the paper. The smaller number wins."""
