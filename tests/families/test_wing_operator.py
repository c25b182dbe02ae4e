"""What the fixed wing's board accepts of an operator: goals as at load time, parameters within their limits."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.core.operator import PlannedOperatorCommand
from aeroloop.core.scenario import with_value
from aeroloop.core.scenario_files import find, load, of_table
from aeroloop.core.wing_signals import BoardParameter, Step, UserAnswer, UserCommand
from aeroloop.families.fixedwing.mission import check
from aeroloop.families.fixedwing.operating import GoalCheck, Parameters, console, goal_check, regions
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.families.fixedwing.user_task import UserTask
from aeroloop.planning.cells import Cell
from aeroloop.planning.loiter import Circle
from aeroloop.planning.mission import Mission, MissionSettings
from aeroloop.protocols.wing import UserMessage

BASE = {"name": "wing", "vehicle": {"kind": "fixedwing"}}


@cache
def hierarchical() -> FixedWingScenario:
    return load(find("fixedwing-hierarchical"))


def test_a_goal_is_accepted_in_flight_exactly_where_it_is_at_load_time() -> None:
    scenario = with_value(hierarchical(), "mission.start_m", places(hierarchical()).start_m)
    checked, start_m = goal_check(scenario), places(hierarchical()).start_m
    rng = np.random.default_rng(4)
    verdicts = []
    for goal_m in map(tuple, rng.uniform(-5000.0, 5000.0, (12, 2)).tolist()):
        answer = checked.refused(goal_m, scenario.aircraft.mission.loiter_radius_m, start_m)
        try:
            places(with_value(scenario, "mission.goal_m", goal_m))
            loaded = True
        except (ConfigError, ValueError):
            loaded = False
        assert loaded == (answer == UserAnswer.ACCEPTED), (goal_m, answer)
        verdicts.append(answer)
    assert {UserAnswer.ACCEPTED, UserAnswer.GOAL_BLOCKED, UserAnswer.GOAL_OFF_MAP} == set(verdicts)


def test_free_cells_that_only_touch_at_corners_are_different_areas() -> None:
    cells = np.ones((8, 8), dtype=np.uint8)
    cells[:, 4] = 0
    cells[:, 5:] = 2
    island = GoalCheck(cells, 800.0, 1e4)
    assert island.refused((250.0, 0.0), 50.0, (-300.0, 0.0)) == UserAnswer.GOAL_UNREACHABLE
    assert island.refused((250.0, 0.0), 50.0, (150.0, 0.0)) == UserAnswer.ACCEPTED
    assert island.refused((250.0, 0.0), 50.0, (50.0, 0.0)) == UserAnswer.ACCEPTED, "from a blocked cell beside it"
    assert island.refused((-200.0, 0.0), 250.0, (-300.0, 0.0)) == UserAnswer.GOAL_OFF_MAP
    assert island.refused((0.0, 0.0), 50.0, (-300.0, 0.0)) == UserAnswer.GOAL_BLOCKED
    assert GoalCheck(cells, 800.0, 200.0).refused((250.0, 0.0), 50.0, (150.0, 0.0)) == UserAnswer.GOAL_OFF_MAP


def test_areas_are_numbered_by_their_size() -> None:
    found = regions(hierarchical())
    counts = np.bincount(found.ravel())
    assert counts[1] > 1000 and list(counts[1:]) == sorted(counts[1:], reverse=True)


def test_every_default_is_within_its_limits_and_each_limit_is_accepted() -> None:
    specs = console(hierarchical()).parameters
    assert len(specs) == len(BoardParameter)
    for number, spec in enumerate(specs):
        assert spec.low <= spec.default <= spec.high and spec.low < spec.high, spec
        assert spec.unit and spec.meaning
        parameters = Parameters(console(hierarchical()))
        for value in (spec.low, spec.default, spec.high):
            single = float(np.float32(value))
            assert parameters.refused(number, single) in (UserAnswer.ACCEPTED, UserAnswer.CIRCLE_TOO_TIGHT)
        for value in (spec.low * 0.99, spec.high * 1.01, math.nan, math.inf):
            assert parameters.refused(number, value) == UserAnswer.OUTSIDE_LIMITS
    assert parameters.refused(len(specs), 1.0) == UserAnswer.UNKNOWN


def test_a_circle_that_the_airspeed_cannot_fly_is_refused_from_both_sides() -> None:
    parameters = Parameters(console(hierarchical()))
    parameters.values[BoardParameter.LOITER_RADIUS] = 75.0
    assert parameters.refused(BoardParameter.AIRSPEED, 21.0) == UserAnswer.CIRCLE_TOO_TIGHT
    assert parameters.refused(BoardParameter.AIRSPEED, 20.0) == UserAnswer.ACCEPTED
    parameters.values[BoardParameter.AIRSPEED] = 22.0
    assert parameters.refused(BoardParameter.LOITER_RADIUS, 80.0) == UserAnswer.CIRCLE_TOO_TIGHT


def mission() -> Mission:
    return Mission(MissionSettings(), Circle(1725.0, 3825.0, 150.0), lambda x_m, y_m: Cell(6, 0, 0))


def task() -> UserTask:
    return UserTask(Parameters(console(hierarchical())), goal_check(hierarchical()))


def test_a_repeated_command_is_answered_again_and_executed_once() -> None:
    user, flown, here_m = task(), mission(), (1725.0, 3825.0)
    message = UserMessage(7, UserCommand.SET, BoardParameter.AIRSPEED, 21.0)
    first = user.step(message, flown, here_m)
    assert first == [("user_answer", (7.0, 5.0, 0.0, 0.0, 21.0, 0.0)), ("parameter", (0.0, 21.0))]
    user.parameters.values[BoardParameter.AIRSPEED] = 19.0
    assert user.step(message, flown, here_m) == first[:1]
    assert user.parameters[BoardParameter.AIRSPEED] == 19.0


def test_a_refused_goal_leaves_the_old_one() -> None:
    user, flown, here_m = task(), mission(), (1725.0, 3825.0)
    assert user.step(UserMessage(1, UserCommand.GOAL, 0, -675.0, -4125.0), flown, here_m)[0][1][3] == 0.0
    for number, (goal_m, why) in enumerate(
        (
            ((2400.0, -600.0), UserAnswer.GOAL_BLOCKED),
            ((4790.0, 0.0), UserAnswer.GOAL_OFF_MAP),
        ),
        start=2,
    ):
        ((_, row),) = user.step(UserMessage(number, UserCommand.GOAL, 0, *goal_m), flown, here_m)
        assert row == (number, 1.0, 0.0, float(why), -675.0, -4125.0)
        assert flown.goal_m == (-675.0, -4125.0)


def test_a_radius_that_the_goals_circle_has_no_room_for_is_refused() -> None:
    user, flown, here_m = task(), mission(), (1725.0, 3825.0)
    user.step(UserMessage(1, UserCommand.GOAL, 0, -675.0, -4125.0), flown, here_m)
    wide = UserMessage(2, UserCommand.SET, BoardParameter.LOITER_RADIUS, 450.0)
    answer = user.step(wide, flown, here_m)[0][1][3]
    free = goal_check(hierarchical()).free((-675.0, -4125.0), 450.0)
    assert answer == (UserAnswer.ACCEPTED if free else UserAnswer.GOAL_BLOCKED)
    small = UserMessage(3, UserCommand.SET, BoardParameter.LOITER_RADIUS, 120.0)
    assert user.step(small, flown, here_m)[0][1][3] == UserAnswer.ACCEPTED
    assert flown.radius_m == 120.0


def test_loiter_and_resume() -> None:
    user, flown, here_m = task(), mission(), (1725.0, 3825.0)

    def answered(number: int, command: UserCommand) -> float:
        return user.step(UserMessage(number, command), flown, here_m)[0][1][3]

    assert answered(1, UserCommand.RESUME) == UserAnswer.NO_GOAL
    user.step(UserMessage(2, UserCommand.GOAL, 0, -675.0, -4125.0), flown, here_m)
    flown.step(1.0, 0.0)
    assert (flown.state, flown.order is not None) == (Step.PLAN, True)
    assert answered(3, UserCommand.LOITER) == UserAnswer.ACCEPTED
    flown.step(1.1, 1.0)
    assert (flown.state, flown.order) == (Step.LOITER, None), "on the circle that it flies"
    assert answered(4, UserCommand.RESUME) == UserAnswer.ACCEPTED
    flown.step(1.2, 2.0)
    assert flown.state == Step.PLAN
    assert answered(5, UserCommand.RESUME) == UserAnswer.NO_GOAL
    assert answered(6, UserCommand.RETURN) == UserAnswer.ACCEPTED
    assert flown.goal_m == (1725.0, 3825.0)
    assert user.step(UserMessage(7, UserCommand.LOITER), None, here_m)[0][1][3] == UserAnswer.NOT_READY


@given(
    st.builds(
        UserMessage,
        st.integers(0, 255),
        st.integers(0, 255),
        st.integers(0, 255),
        st.floats(-1e6, 1e6, width=32),
        st.floats(-1e6, 1e6, width=32),
    )
)
def test_any_message_gets_one_answer_of_finite_numbers(message: UserMessage) -> None:
    rows = task().step(message, mission(), (1725.0, 3825.0))
    answers = [row for stream, row in rows if stream == "user_answer"]
    assert len(answers) == 1 and all(math.isfinite(value) for _, row in rows for value in row)
    known = message.command in set(UserCommand)
    assert known or answers[0][3] == UserAnswer.UNKNOWN


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "goal"}, "position_m: the command goal needs a position_m"),
        ({"command": "loiter", "position_m": [0.0, 0.0]}, "position_m: only the command goal has a position_m"),
        ({"command": "set", "parameter": "height_m"}, "value: the command set needs a value"),
        ({"command": "goal", "position_m": [1e9, 0.0]}, "position_m: expected a position within 1e+06 m"),
        ({"command": "dance"}, "operator[0].command"),
        ({"command": "loiter", "when": 3}, "operator[0]"),
        ({"command": "read", "at_s": -1.0}, "operator[0].at_s"),
    ],
)
def test_a_wrong_entry_is_one_sentence(entry: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        of_table({**BASE, "operator": [{"at_s": 1.0, **entry}]}, "file.toml")
    assert words in str(error.value) and str(error.value).startswith("file.toml: ")


def test_an_unknown_parameter_is_refused_before_the_flight() -> None:
    order = PlannedOperatorCommand(at_s=1.0, command="set", parameter="airspeed", value=20.0)
    scenario = with_value(hierarchical(), "operator", (order,))
    with pytest.raises(ConfigError, match=r"^operator\[0\]\.parameter: no 'airspeed' \(did you mean 'airspeed_m_s'"):
        check(scenario)
