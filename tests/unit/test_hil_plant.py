"""What the plant of autopilots builds from a scenario."""

from __future__ import annotations

import pytest
from pymavlink.dialects.v20 import common as dialect

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch
from aeroloop.core.signals import NS, Air
from aeroloop.core.streams import streams_of, writes
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.flight.processes.hil_log import FlightLog
from aeroloop.flight.processes.hil_plant import Aircraft, Loop, build_loop
from aeroloop.models.quadrotor import hover_speeds_rad_s
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkOut
from aeroloop.sim.fleet import FleetPace


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
        self.loop: Loop | None = None
        self._answers = b""
        self._out = MavlinkOut(MavlinkCounters(), 1, 1)

    def send(self, data: bytes) -> None:
        assert self.loop is not None
        answer = dialect.MAVLink_hil_actuator_controls_message(self.loop.t_ns // 1000, [0.0] * 16, 1, 1)
        self._answers += self._out.pack(answer)

    def poll(self) -> bytes:
        answers, self._answers = self._answers, b""
        return answers


def scenario(*overrides: str) -> QuadrotorScenario:
    plan = scenario_files.load(scenario_files.find("quad-hover"), overrides)
    assert isinstance(plan, QuadrotorScenario)
    return plan


def flight_log(plan: QuadrotorScenario, number: int = 0) -> FlightLog:
    publish = {stream.name: lambda *row: None for stream in writes("plant", streams_of(plan), plan.loop)}
    return FlightLog(number, plan.aboard, 250.0, publish, FleetPace(NS // 250))


def built(*overrides: str, number: int = 0) -> Loop:
    plan = scenario(*overrides)
    return build_loop(plan, number, Nobody(), flight_log(plan, number))


def test_the_virtual_pixhawk_is_waited_for_from_the_first_sample_on_and_nobody_else() -> None:
    assert built().lockstep.locked, "or how far it runs free would depend on the machine"
    assert not built("loop=hil").lockstep.locked
    assert not built("pace=real").lockstep.locked


def test_a_line_with_a_fault_is_not_waited_for_and_a_line_in_lockstep_gets_none() -> None:
    plan, link = scenario("loop=hil", "pace=real"), InLockstep()
    aircraft = Aircraft(plan, 0, link, flight_log(plan), lambda words: None)
    link.loop = loop = aircraft.loop
    delay = Switch(target="to_plant", kind="delay_s", on=True, value=0.05)
    aircraft.switch(delay)
    loop.fly(NS // 2)
    assert not loop.lockstep.locked, "time would wait for an answer that waits for time"
    assert loop.lockstep.timeouts == 0
    aircraft.switch(Switch(target="to_plant", kind="delay_s", on=False))
    loop.fly(NS)
    assert loop.lockstep.locked
    assert loop.lockstep.timeouts == 0
    with pytest.raises(ConfigError, match=r"to_plant: in lockstep .* this autopilot flies in lockstep"):
        aircraft.switch(delay)
    prompt = scenario()
    with pytest.raises(ConfigError, match="fly with --pace real"):
        Aircraft(prompt, 0, Nobody(), flight_log(prompt), lambda words: None).switch(delay)


def test_each_vehicle_stands_at_its_place() -> None:
    apart = ("vehicle.count=3", "vehicle.spacing_m=7.0")
    assert [built(*apart, number=n).state.pos_W[0] for n in range(3)] == pytest.approx([0.0, 7.0, 14.0], abs=0.01)


@pytest.mark.parametrize("name", airframe.names())
def test_in_hover_the_motors_draw_what_the_file_says(name: str) -> None:
    a = airframe.load(name)
    speeds = tuple(hover_speeds_rad_s(a.flight).tolist())
    air = Air((0.0, 0.0, 0.0), 101325.0, 288.15, a.rotors.density_kg_m3)
    current_A, thrust_N = airframe.supply(a)(RotorEffort(speeds, (0.0,) * len(speeds), False, False), air)
    assert current_A == pytest.approx(a.supply.hover_A)
    assert thrust_N == pytest.approx(a.body.mass_kg * 9.80665)
