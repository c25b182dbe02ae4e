"""A helicopter under a strict ArduPilot of the tests: in lockstep it runs its rotor up, takes off, hovers and lands, by
the pulses of its swash plate."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core.signals import Event
from aeroloop.families.helicopter import airframe
from aeroloop.families.helicopter.channels import HelicopterChannels
from peers.ardupilot_copter import LAND, euler
from peers.ardupilot_heli import Heli
from peers.ardupilot_loop import JsonLoop
from peers.ardupilot_peer import ArdupilotPeer

SPEED_RAD_S = airframe.load("xcell60").head.speed_rad_s
STANDS_M = 0.232
SLOWER = {"ardupilot__loop_rate_hz": 200.0, "sensors__imu__rate_hz": 400.0, "world__step_s": 0.0025}
READY_S, OFF_S = 2.1, 7.2
"""It arms, and takes off when the rotor has its speed."""


def bench(**changes: Any) -> JsonLoop:
    peer = ArdupilotPeer(Heli(200.0), ready_s=0.5, rate_hz=400)
    return JsonLoop(peer, scenario="heli-ardupilot", **SLOWER, **changes)


def run_up(loop: JsonLoop) -> None:
    loop.fly(READY_S)
    loop.command(mavlink.MAV_CMD_DO_SET_MODE, 1, 4)
    loop.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    assert loop.peer.craft.armed
    loop.fly(OFF_S)


def rotor_speed(loop: JsonLoop) -> float:
    speed: float = loop.vehicle._stages.motion.motion.rotors.state[4]
    return speed


def test_it_takes_off_hovers_and_lands_without_a_complaint() -> None:
    loop = bench()
    run_up(loop)
    assert rotor_speed(loop) == pytest.approx(SPEED_RAD_S, rel=0.06)
    assert loop.vehicle.state.pos_W == pytest.approx((0.0, 0.0, STANDS_M), abs=0.005), (
        "it still stands, and does not turn"
    )
    assert euler(loop.peer.motion.quat)[2] == pytest.approx(math.pi / 2, abs=0.01)
    loop.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 2.0)
    loop.fly(10.5)
    for t_s in (11.0, 11.5, 12.0):
        loop.fly(t_s)
        assert math.hypot(*loop.vehicle.state.pos_W[:2]) < 0.8
        assert loop.vehicle.state.pos_W[2] - STANDS_M == pytest.approx(2.0, abs=0.4)
    roll, pitch, yaw = (math.degrees(angle) for angle in euler(loop.peer.motion.quat))
    assert roll == pytest.approx(5.0, abs=3.0), "it leans against the tail rotor"
    assert abs(pitch) < 3.0 and yaw == pytest.approx(90.0, abs=6.0)
    assert rotor_speed(loop) == pytest.approx(SPEED_RAD_S, rel=0.01)
    loop.command(mavlink.MAV_CMD_DO_SET_MODE, 1, LAND)
    assert loop.fly(18.0) == "completed"
    assert loop.vehicle.state.pos_W[2] == pytest.approx(STANDS_M, abs=0.02)
    assert loop.peer.finish() == [] and not loop.peer.craft.armed
    assert loop.peer.repeated == 0
    assert rotor_speed(loop) < SPEED_RAD_S, "disarmed, the rotor runs down"


def test_with_its_servos_mirrored_it_does_not_stay_up() -> None:
    """The flight above depends on the mixing: here servo 1 is on the right."""
    loop = bench(channels=HelicopterChannels(azimuth_deg=(60.0, -60.0, 180.0)))
    run_up(loop)
    loop.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 2.0)
    loop.fly(12.0)
    assert loop.vehicle.ended


def test_a_restarted_ardupilot_finds_it_on_its_skids_with_the_rotor_at_rest() -> None:
    loop = bench()
    run_up(loop)
    loop.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 2.0)
    loop.fly(8.5)
    assert loop.vehicle.state.pos_W[2] > 2 * STANDS_M
    again = ArdupilotPeer(Heli(200.0), ready_s=0.5, rate_hz=400)
    loop.link.peer = again
    loop.link.datagrams()
    loop.link.put(again.packet())
    loop.fly(9.0)
    assert loop.vehicle.state.pos_W == pytest.approx((0.0, 0.0, STANDS_M), abs=0.005)
    assert rotor_speed(loop) == 0.0
    assert [event for _, event, _ in loop.rows.events].count(Event.AUTOPILOT_RESTARTED) == 1
    assert again.finish() == []
