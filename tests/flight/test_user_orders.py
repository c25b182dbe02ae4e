"""User commands by hand: into the plant, refused where there is no operator, and repeatable from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.operator import OperatorCommand
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.live_control import LiveControl, recorded
from aeroloop.flight.results import with_changes
from aeroloop.realtime.controls import ControlPort, Controls, Operate, decoded
from aeroloop.recording.log import log_sha256
from aeroloop.sim.loop import Craft

BY_HAND = [
    (0.52, OperatorCommand(command="set", parameter="loiter_radius_m", value=120.0)),
    (0.9, OperatorCommand(command="goal", position_m=(9000.0, 0.0))),
    (1.21, OperatorCommand(command="read")),
]


def test_commands_by_hand_are_entries_of_the_scenario_that_give_the_same_flight() -> None:
    scenario = load(find("fixedwing-loiter"), ('loop="sil"', "duration_s=2", "checks=[]"))
    waiting = list(BY_HAND)
    made: list[tuple[int, dict[str, Any]]] = []

    def attend(fleet: Sequence[Craft]) -> None:
        fleet[0].by_hand = lambda t_ns, action, refused: made.append((0, recorded(t_ns, action)))
        while waiting and fleet[0].vehicle.t_ns >= waiting[0][0] * NS:
            fleet[0].operate(waiting.pop(0)[1])

    (live,) = fly_inline(scenario, attend=attend).logs
    assert len(made) == len(live.rows["user_command"]) == len(live.rows["user_answer"]) == 3
    assert made[0][1] == {
        "operator": {
            "command": "set",
            "position_m": None,
            "parameter": "loiter_radius_m",
            "value": 120.0,
            "at_s": live.column("user_command", "t_s")[0],
        }
    }
    (again,) = fly_inline(with_changes(scenario, made)).logs
    assert log_sha256(again) == log_sha256(live)


def test_an_order_travels_as_a_datagram(tmp_path: Path) -> None:
    port = ControlPort(tmp_path, now_ns=lambda: 0)
    order = OperatorCommand(command="goal", position_m=(1.5, -2.0))
    Controls(tmp_path).operate(order, vehicle=1)
    assert port.poll() == [Operate(order=order, vehicle=1)]
    port.close()
    for wrong in (b'{"order":{"command":"dance"}}', b'{"order":{"command":"goal"}}', b'{"order":1}'):
        with pytest.raises(msgspec.ValidationError):
            decoded(wrong)


def test_what_cannot_be_sent_is_a_notice_and_what_is_sent_is_recorded() -> None:
    said: list[str] = []
    made: list[dict[str, Any]] = []
    taken: list[OperatorCommand] = []

    def operate(order: OperatorCommand, sent: Callable[[int], None]) -> None:
        taken.append(order)
        sent(NS)

    craft = Craft(vehicle=None, exchanges=[SimpleNamespace(operate=operate)], end_ns=0)  # type: ignore[arg-type,list-item]
    bare = Craft(vehicle=None, exchanges=[object()], end_ns=0)  # type: ignore[arg-type,list-item]
    with pytest.raises(ConfigError, match="takes no user commands"):
        bare.operate(OperatorCommand(command="loiter"))
    requests = [Operate(order=OperatorCommand(command="loiter"), vehicle=number) for number in (0, 1, 0)]
    port: Any = SimpleNamespace(poll=lambda: requests, refused=0)
    control = LiveControl(port, [craft], SimpleNamespace(), notice=said.append, changed=made.append)  # type: ignore[arg-type]
    assert control.attend() == ""
    assert len(taken) == 2
    assert [entry["operator"]["at_s"] for entry in made] == [1.0, 1.0]
    assert said == ["user command not sent: vehicle 1: there are 1, the first is 0"]
