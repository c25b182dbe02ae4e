"""The fault page: every fault that is offered has its switch, its bounds and its place in the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from stream_tables import MULTIROTOR
from tiltrotor_scenarios import tiltrotor

from aeroloop.core import scenario_files
from aeroloop.core.fault_offers import Offer, offers
from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard.page_faults import amount, caption, card_of, element_id, keys, log, title
from aeroloop.dashboard.watched_flight import WatchedFlight


def _quadrotor(count: int = 1) -> Scenario:
    table = {"name": "test", "pace": "real", "vehicle": {"kind": "quadrotor", "count": count}}
    return scenario_files.of_table(table, "test")


WING = scenario_files.of_table({"name": "test", "vehicle": {"kind": "fixedwing"}}, "test")
ROBOT = scenario_files.of_table({"name": "test", "vehicle": {"kind": "rrr"}}, "test")
SCENARIOS: list[Scenario] = [_quadrotor(), tiltrotor(name="test"), WING, ROBOT]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=["quadrotor", "tiltrotor", "fixedwing", "rrr"])
def test_every_offer_has_a_switch_of_its_own_and_a_value_that_can_be_sent(scenario: Scenario) -> None:
    known = offers(scenario)

    assert len({element_id(offer) for offer in known}) == len(known) > 10
    assert len(keys(known)) == len(known)
    for offer in known:
        shown = amount(offer)
        value = shown.value(offer.value * shown.scale) if shown else None
        assert shown is None or value == pytest.approx(offer.value)
        offer.switch(on=True, value=value)
        offer.switch(on=False)
        assert title(offer)


def test_ids_are_those_that_people_expect() -> None:
    ids = {element_id(offer) for offer in offers(_quadrotor())}

    assert {"fault-gnss-silent", "fault-imu-bias-gyro", "fault-to_board-loss"} <= ids


def test_channels_are_numbered_as_the_log_numbers_them() -> None:
    known = keys(offers(_quadrotor()))

    assert known["imu", "bias", 0].channels == ("gyro",)
    assert known["imu", "bias", 1].channels == ("accel",)
    assert known["gnss", "silent", 0].channels == ()


def _offer(target: str, kind: str) -> Offer:
    return keys(offers(_quadrotor()))[target, kind, 0]


def test_people_type_milliseconds_and_percent() -> None:
    delay, loss = amount(_offer("to_board", "delay_s")), amount(_offer("to_board", "loss"))

    assert delay and loss
    assert (delay.unit, delay.value(20)) == ("ms", 0.02)
    assert (loss.unit, loss.value(30)) == ("%", pytest.approx(0.3))
    assert title(_offer("to_board", "delay_s")) == "delay"
    assert caption(_offer("gnss", "silent")) == "sends nothing"


def test_each_actuator_has_a_card_of_its_own() -> None:
    weak, sag = _offer("rotor", "weak"), _offer("battery", "sag")
    cards = list(dict.fromkeys(card_of(offer) for offer in offers(_quadrotor())))

    assert cards[-5:] == [
        ("rotor", "rotor1"),
        ("rotor", "rotor2"),
        ("rotor", "rotor3"),
        ("rotor", "rotor4"),
        ("battery",),
    ]
    assert (title(weak), title(sag)) == ("weak", "sag")
    assert caption(weak) == "remaining fraction of its thrust"
    left, lost = amount(weak), amount(sag)
    assert left and lost
    assert (left.unit, left.value(50)) == ("%", 0.5)
    assert (lost.value(90), lost.value(91)) == (0.9, None)


def test_the_robot_has_a_card_for_each_joint_and_types_the_first_of_three_numbers() -> None:
    known = keys(offers(ROBOT))
    cards = list(dict.fromkeys(card_of(offer) for offer in known.values()))
    joints = [("joint", f"joint{i}") for i in (1, 2, 3)]
    assert cards[3:] == [*joints, ("joint",), ("platform",), ("encoder",)]
    wave, payload = known["joint", "load_sine", 2], known["platform", "payload", 0]
    assert (title(wave), element_id(wave)) == ("load sine", "fault-joint-load_sine-joint3")
    shown, mass = amount(wave), amount(payload)
    assert shown and mass
    assert (shown.unit, mass.unit, mass.value(2.0), mass.value(-1.0)) == ("N m", "kg", 2.0, None)


@pytest.mark.parametrize("typed", [None, "5", True, float("nan"), float("inf"), -1, 101, 10**400])
def test_a_value_that_is_none_is_refused(typed: object) -> None:
    loss = amount(_offer("to_board", "loss"))

    assert loss is not None and loss.value(typed) is None


def test_the_log_tells_what_was_switched_newest_first(tmp_path: Path) -> None:
    watched = WatchedFlight(tmp_path)
    watched.scenario = _quadrotor(count=2)
    gnss, silent = float(TARGETS.index("gnss")), float(KINDS.index("silent"))
    stream = MULTIROTOR["fault"]
    watched.take(stream, (10.0, 0.0, gnss, silent, 1.0, 0.0, 0.0, 0.0, 0.0))
    watched.take(stream, (12.0, 1.0, gnss, silent, 1.0, 0.0, 0.0, 0.0, 0.0))
    watched.take(stream, (14.0, 0.0, gnss, silent, 0.0, 0.0, 0.0, 0.0, 0.0))

    assert log(watched) == [
        "14.0 s aircraft 1, GNSS: silent off",
        "12.0 s aircraft 2, GNSS: silent on",
        "10.0 s aircraft 1, GNSS: silent on",
    ]
    assert [fault.vehicle for fault in watched.faults_on] == [1]
