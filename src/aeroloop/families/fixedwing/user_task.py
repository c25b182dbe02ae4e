"""USER and PARAM on the board, rung mil: user commands are checked, executed and answered before the mission's step.

The paper's cooperative loop has both beside COMM, its table of the preemptive kernel's tasks has neither: here they are
the beginning of PMAN, which coordinates, so that a command never meets a half-finished step of the mission. The same in
C: `firmware/wing/operator.c`.
"""

from __future__ import annotations

from aeroloop.core.wing_signals import BoardParameter, UserAnswer, UserCommand
from aeroloop.families.fixedwing.operating import GoalCheck, Parameters
from aeroloop.families.fixedwing.scenario import Metres2
from aeroloop.planning.loiter import Circle
from aeroloop.planning.mission import Mission
from aeroloop.planning.mission_telemetry import Row
from aeroloop.protocols.wing import UserMessage

ROOM_M = 40.0
"""Free ground around a circle that is entered at once, as around those of start and goal."""


class UserTask:
    """Call `step` with the commands of a period; a repeated one is answered again, and not executed."""

    def __init__(self, parameters: Parameters, check: GoalCheck) -> None:
        self.parameters = parameters
        self._check = check
        self._number = -1
        self._answered: Row | None = None

    def step(self, message: UserMessage, mission: Mission | None, here_m: Metres2) -> list[Row]:
        if message.number == self._number and self._answered is not None:
            return [self._answered]
        told: list[Row] = []
        answer = UserAnswer.NOT_READY
        if mission is not None and message.command in (UserCommand.SET, UserCommand.READ):
            answer = self._parameter(message, mission, told)
        elif mission is not None:
            answer = self._mission(message, mission, here_m)
        applied = self._applied(message, mission)
        row = (float(message.number), float(message.command), float(message.parameter), float(answer), *applied)
        if mission is not None:  # until then it may be asked again
            self._number, self._answered = message.number, ("user_answer", row)
        return [("user_answer", row), *told]

    def _parameter(self, message: UserMessage, mission: Mission, told: list[Row]) -> UserAnswer:
        """PARAM."""
        values = self.parameters.values
        if message.command == UserCommand.READ:
            told += [("parameter", (float(number), value)) for number, value in enumerate(values)]
            return UserAnswer.ACCEPTED
        answer = self.parameters.refused(message.parameter, message.x)
        if answer == UserAnswer.ACCEPTED and message.parameter == BoardParameter.LOITER_RADIUS:
            if mission.goal_m is not None and not self._check.free(mission.goal_m, message.x):
                answer = UserAnswer.GOAL_BLOCKED
            else:
                mission.radius_m = message.x
        if answer == UserAnswer.ACCEPTED:
            values[message.parameter] = message.x
        if 0 <= message.parameter < len(values):
            told.append(("parameter", (float(message.parameter), values[message.parameter])))
        return answer

    def _mission(self, message: UserMessage, mission: Mission, here_m: Metres2) -> UserAnswer:
        """USER."""
        match message.command:
            case UserCommand.GOAL:
                return self._fly_to((message.x, message.y), mission, here_m)
            case UserCommand.RETURN:
                return self._fly_to(mission.home_m, mission, here_m)
            case UserCommand.LOITER:
                return UserAnswer.ACCEPTED if mission.loiter(self._room) else UserAnswer.NO_ROOM
            case UserCommand.RESUME:
                return UserAnswer.ACCEPTED if mission.resume() else UserAnswer.NO_GOAL
        return UserAnswer.UNKNOWN

    def _fly_to(self, goal_m: Metres2, mission: Mission, here_m: Metres2) -> UserAnswer:
        answer = self._check.refused(goal_m, self.parameters[BoardParameter.LOITER_RADIUS], here_m)
        if answer == UserAnswer.ACCEPTED:
            mission.command(goal_m)
        return answer

    def _room(self, circle: Circle) -> bool:
        return self._check.free((circle.x_m, circle.y_m), circle.radius_m + ROOM_M)

    def _applied(self, message: UserMessage, mission: Mission | None) -> Metres2:
        """What is in force now: the parameter's value, or the goal."""
        values = self.parameters.values
        if message.command == UserCommand.SET:
            return (values[message.parameter] if 0 <= message.parameter < len(values) else 0.0), 0.0
        goal_m = mission.goal_m if mission is not None else None
        return goal_m if goal_m is not None else (0.0, 0.0)
