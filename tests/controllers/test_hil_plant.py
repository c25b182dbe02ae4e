"""What the plant of autopilots builds from a scenario."""

from __future__ import annotations

from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect

from aeroloop.actuators.motors import RotorEffort
from aeroloop.controllers.pixhawk.exchange import behind
from aeroloop.core import scenario_files
from aeroloop.core.errors import EXIT_LINK, ConfigError, LinkError
from aeroloop.core.faults import Switch
from aeroloop.core.signals import NS, Air
from aeroloop.core.streams import streams_of, writes
from aeroloop.exchanges.mavlink_hil import MavlinkHil, Timing
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.build import vehicle
from aeroloop.families.multirotor.scenario import MultirotorTables, QuadrotorScenario
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.models.quadrotor import hover_speeds_rad_s
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkOut
from aeroloop.sim.loop import Craft, run
from peers.hil_loop import AsTheyAnswer


class Nobody:
    """A link with nobody at its other end."""

    url = "nobody"

    def send(self, data: bytes) -> None: ...
    def poll(self) -> bytes:
        return b""

    def fileno(self) -> int:
        return -1

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


class InLockstep(Nobody):
    """An autopilot that answers each of its simulator's messages at once, and asks to be waited for."""

    url = "autopilot"

    def __init__(self) -> None:
        self.craft: Craft | None = None
        self._answers = b""
        self._out = MavlinkOut(MavlinkCounters(), 1, 1)

    def send(self, data: bytes) -> None:
        assert self.craft is not None
        answer = dialect.MAVLink_hil_actuator_controls_message(self.craft.vehicle.t_ns // 1000, [0.0] * 16, 1, 1)
        self._answers += self._out.pack(answer)

    def poll(self) -> bytes:
        answers, self._answers = self._answers, b""
        return answers


def scenario(*overrides: str) -> QuadrotorScenario:
    plan = scenario_files.load(scenario_files.find("quad-hover"), overrides)
    assert isinstance(plan.aircraft, MultirotorTables)
    return plan


def built(
    plan: QuadrotorScenario, link: Nobody | None = None, number: int = 0, timing: Timing | None = None
) -> tuple[Craft, MavlinkHil]:
    publish = {stream.name: lambda *row: None for stream in writes("plant", streams_of(plan), plan.loop)}
    flown = vehicle(plan, number, publish)
    no_orders: Any = None
    exchange = behind(
        ExchangeContext(plan, no_orders, number, flown, publish, {}, lambda words: None), link or Nobody(), timing
    )
    return Craft(flown, [exchange], plan.end_ns), exchange


def test_in_real_time_the_first_message_is_awaited_on_a_link_that_does_not_count_its_peers() -> None:
    link = InLockstep()
    link.craft, exchange = built(scenario("pace=real"), link, timing=Timing(lambda timeout_s: True))
    exchange.await_ready(1.0)
    assert exchange.counters.frames_in == 1


class OfArduPilot(Nobody):
    """A board with ArduPilot, which says that it is there."""

    def poll(self) -> bytes:
        beat = dialect.MAVLink_heartbeat_message(2, dialect.MAV_AUTOPILOT_ARDUPILOTMEGA, 81, 0, 3, 3)
        return MavlinkOut(MavlinkCounters(), 1, 1).pack(beat)


def test_ardupilot_on_a_link_of_mavlink_hil_is_told_where_to_go() -> None:
    _, exchange = built(scenario("loop=hil", "pace=real"), OfArduPilot(), timing=Timing(lambda timeout_s: True))
    with pytest.raises(LinkError, match=r"ArduPilot has no MAVLink HIL; use its SITL \(JSON") as caught:
        exchange.await_ready(1.0)
    assert caught.value.exit_code == EXIT_LINK


def test_the_virtual_pixhawk_is_waited_for_from_the_first_sample_on_and_nobody_else() -> None:
    assert built(scenario())[1].lockstep.locked, "or how far it runs free would depend on the machine"
    assert not built(scenario("loop=hil"))[1].lockstep.locked
    assert not built(scenario("pace=real"))[1].lockstep.locked


def test_a_line_with_a_fault_is_not_waited_for_and_a_line_in_lockstep_gets_none() -> None:
    link = InLockstep()
    craft, exchange = built(scenario("loop=hil", "pace=real"), link)
    link.craft = craft
    switch = craft.switch
    delay = Switch(target="to_plant", kind="delay_s", on=True, value=0.05)
    switch(delay)
    craft.end_ns = NS // 2
    run([craft], AsTheyAnswer(), lambda: False)
    assert not exchange.lockstep.locked, "time would wait for an answer that waits for time"
    assert exchange.lockstep.timeouts == 0
    switch(Switch(target="to_plant", kind="delay_s", on=False))
    craft.end_ns = NS
    run([craft], AsTheyAnswer(), lambda: False)
    assert exchange.lockstep.locked
    assert exchange.lockstep.timeouts == 0
    with pytest.raises(ConfigError, match=r"to_plant: in lockstep, .* this autopilot runs in lockstep"):
        switch(delay)
    with pytest.raises(ConfigError, match="fly with --pace real"):
        built(scenario())[0].switch(delay)


def test_each_vehicle_stands_at_its_place() -> None:
    apart = scenario("vehicle.count=3", "vehicle.spacing_m=7.0")
    east_m = [built(apart, number=n)[0].vehicle.state.pos_W[0] for n in range(3)]
    assert east_m == pytest.approx([0.0, 7.0, 14.0], abs=0.01)


@pytest.mark.parametrize("name", airframe.names())
def test_in_hover_the_motors_draw_what_the_file_says(name: str) -> None:
    a = airframe.load(name)
    speeds = tuple(hover_speeds_rad_s(a.flight).tolist())
    air = Air((0.0, 0.0, 0.0), 101325.0, 288.15, a.rotors.density_kg_m3)
    current_A, thrust_N = airframe.supply(a)(RotorEffort(speeds, (0.0,) * len(speeds), False, False), air)
    assert current_A == pytest.approx(a.supply.hover_A)
    assert thrust_N == pytest.approx(a.body.mass_kg * 9.80665)
