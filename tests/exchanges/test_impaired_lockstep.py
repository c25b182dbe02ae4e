"""Impairments in lockstep, on every kind of link: by the baton, so that what is lost or late stops nobody's time, and
one seed is one flight over any link."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.boards.cadence import Cadence
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256

SLED = str(Path(__file__).parents[2] / "examples" / "aircraft" / "sled.toml")
PERIOD_NS = 50


def flown(name: str, duration_s: float, *changes: str) -> Log:
    flight = fly_inline(load(find(name), (f"duration_s={duration_s}", "checks=[]", *changes)))
    assert flight.ended == "completed"
    return flight.logs[0]


@pytest.mark.parametrize(
    ("name", "duration_s"),
    [("quad-hover", 7.0), ("fixedwing-loiter", 1.5), (SLED, 2.0)],
    ids=["hil", "period", "values"],
)
def test_a_line_on_which_nothing_happens_flies_as_a_clean_one(name: str, duration_s: float) -> None:
    clean = flown(name, duration_s)
    worn = flown(name, duration_s, "link.to_board.loss=1e-15", "link.to_plant.corrupt=1e-15")
    for stream in ("truth", "command"):
        assert worn.rows[stream].tobytes() == clean.rows[stream].tobytes(), stream


def test_the_virtual_pixhawk_runs_on_its_own_clock_where_no_sample_comes() -> None:
    deaf = flown("quad-hover", 3.0, "link.to_board.loss=1.0")
    assert deaf.column("autopilot_state", "t_s")[-1] == pytest.approx(3.0, abs=0.11)
    assert len(deaf.rows["estimate"]) == 0
    assert np.nanmax(deaf.rows["command"][:, 2:]) == 0.0, "and never arms"


def failing(target: str) -> dict[Event, float]:
    """When things happened in a hover whose line loses everything from 8 s on."""
    log = flown("quad-hover", 9.5, f'faults=[{{target="{target}", kind="loss", value=1.0, from_s=8.0}}]')
    return {Event(int(row[2])): row[0] for stream in ("event", "board_event") for row in log.rows[stream]}


def test_without_samples_the_virtual_pixhawk_does_what_its_failsafes_say_and_without_actuators_motors_stop() -> None:
    deaf, mute = failing("to_board"), failing("to_plant")
    assert 8.2 < deaf[Event.FAILSAFE] < 9.0, "by its own clock"
    assert mute[Event.AUTOPILOT_LEFT] == pytest.approx(9.0, abs=0.01)
    assert Event.FAILSAFE not in mute


def test_a_sample_that_is_late_is_flown_late() -> None:
    """What the autopilot flies by is as old as the line makes it; its own clock is not."""
    late = flown("quad-hover", 8.0, "link.to_board.delay_s=0.02")
    events = {Event(int(row[2])): row[0] for row in late.rows["board_event"]}
    assert events[Event.ARMED] == pytest.approx(6.0, abs=0.02)
    assert late.column("truth", "z_m")[-1] > 0.5


def test_what_is_lost_is_counted_and_the_command_held() -> None:
    worn = flown("fixedwing-loiter", 4.0, "link.to_board.loss=0.2")
    sent, answered = len(worn.rows["sensors"]), len(worn.rows["command"])
    lost = [row for row in worn.rows["event"] if row[2] == Event.SENSORS_LOST]
    assert sent == 80
    assert 50 < answered < 75
    assert len(lost) in (sent - answered, sent - answered - 1), "the last may be lost after the last count"
    silent = flown("fixedwing-loiter", 2.0, "link.to_plant.loss=1.0")
    assert len(silent.rows["command"]) == 0
    assert len(silent.rows["truth"]) > 100


def test_a_delay_is_as_long_as_it_says() -> None:
    late = flown("fixedwing-loiter", 2.0, "link.to_board.delay_s=0.006", "link.to_plant.delay_s=0.007")
    waited_s = late.column("command", "t_s")[:30] - late.column("sensors", "t_s")[:30]
    assert waited_s == pytest.approx(np.full(30, 0.013), abs=1e-9)


def test_a_delay_longer_than_a_period_is_obeyed_too() -> None:
    late = flown(SLED, 2.0, "link.to_plant.delay_s=0.05")
    assert len(late.rows["command"]) > 0.8 * len(late.rows["sensors"])


def test_a_message_that_comes_twice_is_worked_on_once() -> None:
    once, twice = (flown(SLED, 2.0, f"link.to_board.duplicate={part}") for part in ("1e-15", "1.0"))
    assert np.array_equal(once.rows["truth"], twice.rows["truth"])
    once, twice = (flown("fixedwing-loiter", 2.0, f"link.to_board.duplicate={part}") for part in ("1e-15", "1.0"))
    assert np.array_equal(once.rows["truth"], twice.rows["truth"])


def test_an_external_autopilot_is_refused_an_impaired_link_in_lockstep() -> None:
    with pytest.raises(ConfigError, match="link: in lockstep time waits for every answer of an external autopilot"):
        load(find("quad-px4"), ('pace="lockstep"', "link.to_board.loss=0.1"))
    assert load(find("quad-px4"), ('pace="real"', "link.to_board.loss=0.1")).impaired


def test_noisy_links_of_several_kinds_in_one_time_are_each_as_alone() -> None:
    """Steps are cut by messages of other aircraft at times that are nobody else's."""
    names = ("quad-noisy-link", "fixedwing-noisy-link", "tiltrotor-noisy-link", SLED)
    worn = ("link.to_plant.jitter_s=0.01",)
    fleet = [load(find(name), ("duration_s=1", "checks=[]", *worn)) for name in names]
    together = [log_sha256(log) for log in fly_inline(*fleet).logs]
    assert together == [log_sha256(fly_inline(scenario).logs[0]) for scenario in fleet]


def test_a_link_that_fails_by_plan_is_flown_by_the_baton_too() -> None:
    lost = 'faults=[{target="to_board", kind="loss", value=1.0, from_s=1.0, to_s=2.0}]'
    worn = flown("fixedwing-loiter", 3.0, lost)
    answered_s = worn.column("command", "t_s")
    assert not np.any((answered_s > 1.06) & (answered_s < 2.0))
    assert np.count_nonzero(answered_s >= 2.0) >= 19
    assert len(worn.rows["fault"]) == 2
    assert len(flown("quad-hover", 1.0, lost.replace("1.0, to_s=2.0", "0.5")).rows["fault"]) == 1
    with pytest.raises(ConfigError, match="faults: in lockstep time waits for every answer of an external autopilot"):
        load(find("quad-px4"), ('pace="lockstep"', lost))


@given(st.lists(st.integers(0, 400), max_size=30))
def test_a_board_whose_samples_are_its_timer_runs_once_a_period(late_ns: list[int]) -> None:
    """Samples of every period, each so late; in order, as a line brings them."""
    cadence, waiting, runs = Cadence(PERIOD_NS), 0, []
    arrivals = sorted(PERIOD_NS * number + late for number, late in enumerate(late_ns))
    end_ns = PERIOD_NS * len(late_ns)
    for t_ns in range(end_ns):
        waiting += arrivals.count(t_ns)
        if cadence.due(t_ns, sampled=waiting > 0):
            runs.append(t_ns)
            waiting = 0
        assert cadence.wake_ns(sampled=waiting > 0) > t_ns
    for number, t_ns in enumerate(runs):
        assert number * PERIOD_NS <= t_ns <= (number + 1) * PERIOD_NS
