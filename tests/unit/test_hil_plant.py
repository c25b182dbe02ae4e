"""What the plant of autopilots builds from a scenario."""

from __future__ import annotations

import pytest

from aeroloop import scenarios
from aeroloop.actuators.motors import RotorEffort
from aeroloop.fleet import FleetPace
from aeroloop.models.quadrotor import hover_speeds_rad_s
from aeroloop.processes.hil_log import FlightLog
from aeroloop.processes.hil_plant import Loop, build_loop
from aeroloop.signals import NS, Air
from aeroloop.streams import writes
from aeroloop.vehicles.quadrotor import airframe
from aeroloop.vehicles.quadrotor.scenario import QuadrotorScenario


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


def built(*overrides: str, number: int = 0) -> Loop:
    plan = scenarios.load(scenarios.find("quad-hover"), overrides)
    assert isinstance(plan, QuadrotorScenario)
    publish = {stream.name: lambda *row: None for stream in writes("plant", plan.FAMILY, plan.loop)}
    log = FlightLog(number, plan.aboard, 250.0, publish, FleetPace(NS // 250))
    return build_loop(plan, number, Nobody(), log)


def test_the_virtual_pixhawk_is_waited_for_from_the_first_sample_on_and_nobody_else() -> None:
    assert built().lockstep.locked, "or how far it runs free would depend on the machine"
    assert not built("loop=hil").lockstep.locked
    assert not built("pace=real").lockstep.locked


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
