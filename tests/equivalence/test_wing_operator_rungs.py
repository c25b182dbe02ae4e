"""An operator's flight on mil, sil and pil: the same commands at the same times, the same answers, the same flight.

The goal is changed, a parameter is changed, and one of each is refused. Answers reach the ground in the next period on
a board with a task for telemetry; paths agree as in test_wing_rungs.py.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from aeroloop.core.scenario_files import find, load
from aeroloop.core.wing_signals import BoardParameter, UserAnswer
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256

OPERATOR = """operator=[
 {at_s=0.0, command="loiter"},
 {at_s=2.0, command="goal", position_m=[2400.0, -600.0]},
 {at_s=3.0, command="set", parameter="airspeed_m_s", value=21.0},
 {at_s=4.0, command="set", parameter="airspeed_m_s", value=30.0},
 {at_s=5.0, command="goal", position_m=[-3000.0, 4000.0]},
 {at_s=6.0, command="set", parameter="kd_1_m", value=0.02},
 {at_s=6.0, command="read"},
 {at_s=12.0, command="loiter"},
 {at_s=13.0, command="resume"},
]""".replace("\n", "")
SETTINGS = ("duration_s=15", "mission.command_at_s=1", "checks=[]", OPERATOR)
ANSWERS = [
    UserAnswer.NOT_READY,
    UserAnswer.GOAL_BLOCKED,
    UserAnswer.ACCEPTED,
    UserAnswer.OUTSIDE_LIMITS,
    UserAnswer.ACCEPTED,
    UserAnswer.ACCEPTED,
    UserAnswer.ACCEPTED,
    UserAnswer.ACCEPTED,
    UserAnswer.ACCEPTED,
]
TOLERANCES_M = {("mil", "sil"): 0.02, ("sil", "pil"): 0.002}


def flown_again(rung: str) -> Log:
    flown = fly_inline(load(find("fixedwing-hierarchical"), (f'loop="{rung}"', *SETTINGS)))
    assert flown.ended == "completed"
    return flown.logs[0]


@cache
def flight(rung: str) -> Log:
    return flown_again(rung)


@pytest.mark.parametrize("rung", ["mil", "sil", "pil"])
def test_every_command_is_answered_and_applied_on_every_rung(rung: str) -> None:
    log = flight(rung)
    assert log.column("user_answer", "answer").tolist() == ANSWERS
    assert log.column("user_answer", "number").tolist() == log.column("user_command", "number").tolist()
    assert log.column("user_answer", "latency_s").max() <= 0.0501
    goals = np.stack([log.column("user_answer", axis) for axis in "xy"], axis=1)
    first = goals[1].tolist()
    assert goals[4].tolist() == [-3000.0, 4000.0]
    assert log.column("plan", "goal_x_m").tolist()[0] == pytest.approx(first[0]), "a refused goal changes nothing"
    assert log.column("plan", "goal_x_m").tolist()[-1] == -3000.0
    values = dict(zip(log.column("parameter", "parameter"), log.column("parameter", "value"), strict=True))
    assert values[BoardParameter.AIRSPEED] == 21.0
    assert values[BoardParameter.KD] == pytest.approx(0.02)
    assert len(values) == len(BoardParameter)
    airspeed = log.column("truth", "airspeed_m_s")[-50:].mean()
    assert airspeed > 20.5, "it flies faster, and does not only say so"


@pytest.mark.parametrize(("one", "other"), TOLERANCES_M)
def test_two_rungs_fly_one_path(one: str, other: str) -> None:
    places = [np.stack([flight(rung).column("truth", f"{axis}_m") for axis in "xyz"]) for rung in (one, other)]
    assert np.max(np.abs(places[0] - places[1])) < TOLERANCES_M[one, other]
    for column in ("number", "command", "parameter", "x", "y"):
        assert (
            flight(one).column("user_command", column).tolist() == flight(other).column("user_command", column).tolist()
        )
    assert flight(one).column("mission_step", "step").tolist() == flight(other).column("mission_step", "step").tolist()


def test_the_flight_repeats_to_the_bit() -> None:
    assert log_sha256(flown_again("sil")) == log_sha256(flight("sil"))
