"""Pause, single steps and speed change no simulated row, at every pace and for every family; what is changed by hand,
written to the scenario, gives the same flight again."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from aeroloop.core.change_offers import change_offers
from aeroloop.core.changes import Change
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.faults import Switch
from aeroloop.core.fleet import Plan
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.flight.inline import InlineFlight, fly_inline
from aeroloop.flight.live_control import LiveControl
from aeroloop.flight.results import with_changes, without_none
from aeroloop.realtime.controls import Command, End, Pause, Speed, Step
from aeroloop.recording.log import log_sha256
from aeroloop.sim.loop import Craft
from aeroloop.sim.pace import Pace

FAMILIES = ("tiltrotor-wind", "quad-hover", "fixedwing-loiter", "heli-hover", "rrr-circle")
MINUTE_S = 60.0


class Wall:
    """A clock that only waiting moves: an hour of pause takes no time."""

    def __init__(self) -> None:
        self.now_ns = 5 * NS

    def __call__(self) -> int:
        return self.now_ns

    def wait(self, descriptors: Sequence[int], seconds: float) -> Sequence[int]:
        self.now_ns += round(seconds * NS)
        return ()


class Hand:
    """A user who gives commands at simulated and at wall times, through the plant's own code."""

    refused = 0

    def __init__(self, *, lockstep: bool = True, at: dict[float, Sequence[Command]] | None = None) -> None:
        self.wall, self.pace, self.controls = Wall(), None, None
        self.at = sorted((at or {}).items(), key=lambda item: item[0])
        self.later: list[tuple[int, Command]] = []  # by the wall's time
        self.notices: list[str] = []
        self.changed: list[tuple[int, dict[str, Any]]] = []
        self.fleet: Sequence[Craft] = ()
        self._lockstep = lockstep

    def paced(self, step_ns: int) -> Pace:
        self.pace = Pace(step_ns, lockstep=self._lockstep, now_ns=self.wall, wait=self.wall.wait)
        return self.pace

    def poll(self) -> list[Command]:
        due: list[Command] = []
        while self.at and self.fleet[0].vehicle.t_ns >= self.at[0][0] * NS:
            due += self.at.pop(0)[1]
        for command in due:
            if isinstance(command, Pause | Step):
                self.later.append((self.wall.now_ns + round(MINUTE_S * NS), Pause(pause=False)))
        due += [command for when, command in self.later if when <= self.wall.now_ns]
        self.later = [item for item in self.later if item[0] > self.wall.now_ns]
        return due

    def attend(self, fleet: Sequence[Craft]) -> str:
        assert self.pace is not None
        if self.controls is None:
            self.fleet, port = fleet, self
            self.controls = LiveControl(
                port,  # type: ignore[arg-type]
                fleet,
                self.pace,
                notice=self.notices.append,
                changed=lambda entry: self.changed.append((0, entry)),
            )
        return self.pace.hold(self.controls.attend, lambda: False)


def short(name: str, *more: str, seconds: float = 0.6) -> Scenario:
    return load(find(name), (f"duration_s={seconds}", "checks=[]", *more))


def flown(plan: Plan, hand: Hand) -> InlineFlight:
    return fly_inline(plan, attend=hand.attend, paced=hand.paced)


def shas(flight: InlineFlight) -> list[str]:
    return [log_sha256(log) for log in flight.logs]


HANDLED: dict[float, Sequence[Command]] = {
    0.1: (Pause(pause=True),),
    0.2: (Step(step=1),),
    0.3: (Step(step=7),),
    0.4: (Speed(speed=0.25),),
    0.5: (Pause(pause=True), Speed(speed=2.0)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_pause_steps_and_slow_motion_change_nothing_in_lockstep_and_in_wall_time(name: str) -> None:
    plan = short(name)
    plain = shas(fly_inline(plan))
    for lockstep in (True, False):
        hand = Hand(lockstep=lockstep, at=dict(HANDLED))
        flight = flown(plan, hand)
        assert flight.ended == "completed" and hand.notices == []
        assert shas(flight) == plain, "the same to the bit"
        assert hand.pace is not None and hand.pace.missed_deadlines == 0, "no deadline is missed by waiting"
        assert hand.pace.held_ns == pytest.approx(4 * MINUTE_S * NS, rel=0.001)


def test_the_wall_time_of_a_flight_that_is_paused_slow_and_fast() -> None:
    """The deadlines move by the pause, without a burst: 0.2 s at 1x, 0.2 s at 0.5x, 0.2 s at 4x."""
    hand = Hand(lockstep=False, at={0.1: (Pause(pause=True),), 0.2: (Speed(speed=0.5),), 0.4: (Speed(speed=4.0),)})
    began_ns = hand.wall.now_ns
    flown(short("quad-hover"), hand)
    passed_s = (hand.wall.now_ns - began_ns) / NS
    assert passed_s == pytest.approx(MINUTE_S + 0.2 + 0.4 + 0.05, abs=0.03)


def test_in_lockstep_the_speed_is_a_limit_and_can_be_taken_away() -> None:
    hand = Hand(at={0.0: (Speed(speed=0.1),), 0.2: (Speed(speed=0.0),)})
    began_ns = hand.wall.now_ns
    flown(short("quad-hover"), hand)
    assert (hand.wall.now_ns - began_ns) / NS == pytest.approx(2.0, abs=0.1), "0.2 s at a tenth, the rest in no time"


def test_steps_are_those_of_the_simulation_and_a_paused_flight_ends_on_request() -> None:
    seen: list[int] = []

    class Stepper(Hand):
        def poll(self) -> list[Command]:
            if self.pace is None or not self.pace.paused:
                return [] if seen else [Pause(pause=True)]
            seen.append(self.fleet[0].vehicle.t_ns)
            return [Step(step=len(seen))] if len(seen) < 4 else [End(end="command")]

    hand = Stepper()
    flight = flown(short("quad-hover"), hand)
    step_ns = hand.fleet[0].vehicle.step_ns
    assert [b - a for a, b in pairwise(seen)] == [step_ns, 2 * step_ns, 3 * step_ns]
    assert flight.ended == "ended by user (aeroloop cmd end)"


def test_what_is_changed_while_it_stands_is_there_after_one_step() -> None:
    seen: list[tuple[float, int]] = []

    class Changer(Hand):
        def poll(self) -> list[Command]:
            if self.pace is None or not self.pace.paused:
                return [] if seen else [Pause(pause=True)]
            seen.append((self.fleet[0].vehicle.t_ns, len(self.changed)))
            more: list[Command] = [Change(change="payload.mass_kg", value=0.1), Step(step=1)]
            return more if len(seen) == 1 else [End(end="page")]

    hand = Changer()
    flight = flown(short("quad-hover"), hand)
    step_ns = hand.fleet[0].vehicle.step_ns
    assert seen == [(seen[0][0], 0), (seen[0][0] + step_ns, 1)]
    assert flight.logs[0].rows["change"][:, 0].tolist() == [seen[1][0] / NS]


def test_all_parts_of_a_fleet_stand_still_together() -> None:
    fleet = load_plan(find("mixed-fleet"), ("duration_s=0.5", "checks=[]"))
    plain = shas(fly_inline(fleet))
    hand = Hand(at={0.1: (Pause(pause=True),), 0.2: (Step(step=3),)})
    assert shas(flown(fleet, hand)) == plain


DELAY = "to_plant", "delay_s"
"""Of a link that lockstep does not wait for: the tilt-rotor's."""
SWITCHED = (("battery", "sag"), ("rotor", "weak"), ("rotor", "stuck"), ("imu", "noise"), ("state", "noise"), DELAY)
"""With random numbers, with a state of its own, and on a link; those that the aircraft has."""


def every_change(scenario: Scenario, from_s: float, each_s: float) -> dict[float, Sequence[Command]]:
    """Every quantity that the family offers is changed, and some faults are switched, again, and off."""
    commands: dict[float, Sequence[Command]] = {}
    known = {(offer.target, offer.kind): offer for offer in offers(scenario)}
    chosen = [known[key] for key in SWITCHED if key in known and (key != DELAY or "tiltrotor" in scenario.name)]
    for number, offer in enumerate(chosen):
        start_s = from_s + number * each_s
        commands[start_s] = (offer.switch(on=True),)
        commands[start_s + each_s / 3] = (offer.switch(on=True, value=0.9 * offer.value),)
        commands[start_s + each_s / 2] = (offer.switch(on=False), offer.switch(on=False))
    for number, quantity in enumerate(change_offers(scenario)):
        value = tuple(at + 0.3 * (quantity.high - at) for at in quantity.value)
        if quantity.key == "battery.voltage":
            value = (0.95,)
        made = Change(change=quantity.key, value=value if len(value) > 1 else value[0])
        commands[from_s + (number + 0.4) * each_s] = (made, made)
    return commands


@pytest.mark.parametrize("name", FAMILIES)
def test_a_flight_changed_by_hand_repeats_to_the_bit_from_its_scenario(name: str, tmp_path: Path) -> None:
    plan = short(name, seconds=1.0)
    hand = Hand(at=every_change(plan, 0.05, 0.15))
    first = flown(plan, hand)
    assert hand.notices == []
    assert len(hand.changed) >= (4 if name.startswith("rrr") else 8)
    file = tmp_path / "scenario.toml"
    file.write_text(tomli_w.dumps(without_none(with_changes(plan, hand.changed).flat())))
    again = fly_inline(load(file))
    assert shas(again) == shas(first)
    told = [key for _, entry in hand.changed for key in entry]
    table = tomllib.loads(file.read_text())
    assert [len(table[key]) for key in ("faults", "changes")] == [told.count("faults"), told.count("changes")]


def test_a_repeated_flight_can_be_changed_further_and_repeats_again() -> None:
    plan = short("quad-hover")
    changed = with_changes(plan, [(0, {"changes": {"key": "payload.mass_kg", "at_s": 0.2, "value": 0.4}})])
    hand = Hand(at={0.4: (Pause(pause=True), Change(change="payload.mass_kg", value=0.2))})
    first = flown(changed, hand)
    assert [row[3] for row in first.logs[0].rows["change"]] == [0.4, 0.2]
    assert shas(fly_inline(with_changes(changed, hand.changed))) == shas(first) != shas(fly_inline(changed))


def test_changes_by_hand_of_one_part_of_a_fleet_are_written_to_that_part() -> None:
    fleet = load_plan(find("mixed-fleet"), ("duration_s=0.2",))
    changed = with_changes(fleet, [(1, {"changes": {"key": "battery.voltage", "at_s": 0.1, "value": 0.8}})])
    table = without_none(changed.flat())
    assert [len(part["changes"]) for part in table["aircraft"]] == [
        int(index == 1) for index in range(len(table["aircraft"]))
    ]


REFUSED: list[tuple[Change, str]] = [
    (
        Change(change="world.wind.stedy_W", value=1.0),
        r"cannot be changed in this flight \(did you mean 'world.wind.ste",
    ),
    (Change(change="world.wind.steady_W", value=1.0), r"expected 3 numbers \(east, north, up\), not 1"),
    (Change(change="battery.voltage", value=7.0), r"battery.voltage: expected 0.1 to 1, not 7"),
    (Change(change="battery.voltage", value=0.5, vehicle=3), r"vehicle 3: there are 1"),
]


def test_what_cannot_be_done_by_hand_is_refused_in_a_sentence_and_changes_nothing() -> None:
    more: list[Command] = [Switch(target="board", kind="reset", on=True), Speed(speed=0.0)]
    hand = Hand(lockstep=False, at={0.1: [*(change for change, _ in REFUSED), *more]})
    plan = short("quad-hover", seconds=0.2)
    assert shas(flown(plan, hand)) == shas(fly_inline(plan))
    for (_, words), notice in zip(REFUSED, hand.notices, strict=False):
        assert re.search(f"^not changed: .*{words}", notice)
    assert hand.notices[len(REFUSED) :] == [
        "fault not switched: board: reset can be planned in [[faults]], not switched manually",
        "not changed: speed: only lockstep can fly as fast as possible; expected a number",
    ]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=str)
def test_what_cannot_be_changed_is_refused_in_a_scenario_file(change: Change, words: str) -> None:
    entry = f'changes=[{{key="{change.key}", at_s=1.0, value={change.value}, vehicle={change.vehicle}}}]'
    with pytest.raises(ConfigError, match=rf"changes\[0\].*{words}"):
        load(find("quad-hover"), (entry,))


def test_a_switch_by_hand_in_a_file_has_no_end_and_may_meet_another() -> None:
    on = 'faults=[{target="battery", kind="sag", value=0.1, from_s=1.0, manual="on"%s}]'
    with pytest.raises(ConfigError, match=r"faults\[0\].*to_s: a switch by hand \(on\) has no end; leave it out"):
        load(find("quad-hover"), (on % ", to_s=2.0",))
    twice = 'faults=[{target="battery", kind="sag", value=0.1, from_s=1.0}, '
    twice += '{target="battery", kind="sag", value=0.2, from_s=2.0, manual="on"}, '
    twice += '{target="battery", kind="sag", from_s=3.0, manual="off"}]'
    assert len(load(find("quad-hover"), (twice,)).faults) == 3
