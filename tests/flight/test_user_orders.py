"""User commands by hand: into the plant, refused where there is no operator, and repeatable from the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.operator import COMMANDS, Order, PlannedOrder
from aeroloop.core.scenario import with_value
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.families.fixedwing.operating import console
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.live_control import FaultControl
from aeroloop.flight.processes.plant import operator
from aeroloop.realtime.controls import ControlPort, Controls, Operate, decoded
from aeroloop.recording.log import log_sha256
from aeroloop.sim.loop import Craft

BY_HAND = [
    (0.52, Order(command="set", parameter="loiter_radius_m", value=120.0)),
    (0.9, Order(command="goal", position_m=(9000.0, 0.0))),
    (1.21, Order(command="read")),
]


def test_commands_by_hand_planned_at_the_times_of_the_log_give_the_same_flight() -> None:
    scenario = load(find("fixedwing-loiter"), ('loop="sil"', "duration_s=2", "checks=[]"))
    waiting = list(BY_HAND)

    def attend(fleet: Sequence[Craft]) -> None:
        while waiting and fleet[0].vehicle.t_ns >= waiting[0][0] * NS:
            fleet[0].operate(waiting.pop(0)[1])

    (live,) = fly_inline(scenario, attend=attend).logs
    names = [spec.name for spec in console(scenario).parameters]
    planned = tuple(
        PlannedOrder(
            at_s=t_s,
            command=(name := COMMANDS[int(command) - 1]),  # type: ignore[arg-type]
            position_m=(x, y) if name == "goal" else None,
            parameter=names[int(parameter)] if name == "set" else "",
            value=x if name == "set" else None,
        )
        for t_s, _vehicle, _number, command, parameter, x, y in live.rows["user_command"].tolist()
    )
    assert len(planned) == len(live.rows["user_answer"]) == 3
    (again,) = fly_inline(with_value(scenario, "operator", planned)).logs
    assert log_sha256(again) == log_sha256(live)


def test_an_order_travels_as_a_datagram(tmp_path: Path) -> None:
    port = ControlPort(tmp_path, now_ns=lambda: 0)
    order = Order(command="goal", position_m=(1.5, -2.0))
    Controls(tmp_path).operate(order, vehicle=1)
    assert port.poll() == [Operate(order=order, vehicle=1)]
    port.close()
    for wrong in (b'{"order":{"command":"dance"}}', b'{"order":{"command":"goal"}}', b'{"order":1}'):
        with pytest.raises(msgspec.ValidationError):
            decoded(wrong)


def test_what_cannot_be_sent_is_a_notice_and_the_first_that_is_a_remark() -> None:
    said: dict[str, list[str]] = {"remark": [], "notice": []}
    taken: list[Order] = []
    board: Any = SimpleNamespace(operate=taken.append)
    craft = Craft(vehicle=None, exchanges=[board], end_ns=0)  # type: ignore[arg-type]
    bare = Craft(vehicle=None, exchanges=[object()], end_ns=0)  # type: ignore[arg-type,list-item]
    with pytest.raises(ConfigError, match="takes no user commands"):
        bare.operate(Order(command="loiter"))
    requests = [Operate(order=Order(command="loiter"), vehicle=number) for number in (0, 1, 0)]
    control = FaultControl(
        SimpleNamespace(poll=lambda: requests, refused=0),  # type: ignore[arg-type]
        lambda switch: pytest.fail("no fault"),
        note=lambda *row: None,
        remark=said["remark"].append,
        notice=said["notice"].append,
        operate=operator([craft]),
    )
    assert control.attend() == ""
    assert len(taken) == 2 and len(said["remark"]) == 1
    assert said["notice"] == ["user command not sent: vehicle 1: there are 1, the first is 0"]
