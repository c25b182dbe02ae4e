"""Flight modes of PX4 and ArduPilot: one table, whose numbers pymavlink's own tables confirm."""

from __future__ import annotations

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.protocols.flight_modes import Firmware, common_name, firmware, mode_name, mode_params, modes_of

THEIRS = {Firmware.COPTER: mavutil.mode_mapping_acm, Firmware.PLANE: mavutil.mode_mapping_apm}
OURS = {
    Firmware.COPTER: {
        "manual": "STABILIZE",
        "stabilized": "STABILIZE",
        "altitude": "ALT_HOLD",
        "position": "LOITER",
        "hold": "BRAKE",
        "mission": "AUTO",
        "return": "RTL",
        "offboard": "GUIDED",
    },
    Firmware.PLANE: {
        "stabilized": "STABILIZE",
        "altitude": "FBWB",
        "hold": "LOITER",
        "mission": "AUTO",
        "return": "RTL",
        "offboard": "GUIDED",
    },
}
"""Names that all autopilots share, and what ArduPilot calls them."""


@pytest.mark.parametrize("of", list(THEIRS))
def test_ardupilots_numbers_are_those_of_pymavlink(of: Firmware) -> None:
    theirs = {name: number for number, name in THEIRS[of].items()}
    for name, number in modes_of(of).items():
        named = OURS[of].get(name, name.upper())
        assert theirs[named] == number, name


def test_a_heartbeat_says_whose_modes_it_has() -> None:
    ardupilot = mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA
    assert firmware(mavlink.MAV_AUTOPILOT_PX4, mavlink.MAV_TYPE_FIXED_WING) is Firmware.PX4
    assert firmware(ardupilot, mavlink.MAV_TYPE_HEXAROTOR) is Firmware.COPTER
    assert firmware(ardupilot, mavlink.MAV_TYPE_FIXED_WING) is Firmware.PLANE
    assert firmware(ardupilot, mavlink.MAV_TYPE_GROUND_ROVER) is None
    assert firmware(mavlink.MAV_AUTOPILOT_GENERIC, mavlink.MAV_TYPE_QUADROTOR) is None


def test_a_mode_is_shown_by_its_autopilots_own_name_and_known_by_the_common_one() -> None:
    assert (mode_name(Firmware.COPTER, 4), common_name(Firmware.COPTER, 4)) == ("guided", "offboard")
    assert (mode_name(Firmware.COPTER, 17), common_name(Firmware.COPTER, 17)) == ("brake", "hold")
    assert (mode_name(Firmware.PLANE, 15), common_name(Firmware.PLANE, 15)) == ("guided", "offboard")
    assert (mode_name(Firmware.PX4, 4 << 16 | 3 << 24), common_name(Firmware.PX4, 4 << 16 | 3 << 24)) == ("hold",) * 2
    assert mode_name(Firmware.COPTER, 77) == "mode 77"
    assert mode_name(None, 77) == "custom 77"
    assert common_name(None, 77) == common_name(Firmware.PLANE, 77) == ""


def test_parameters_of_do_set_mode() -> None:
    assert mode_params(Firmware.PX4, "return") == (4.0, 5.0)
    assert mode_params(Firmware.COPTER, "return") == (6.0, 0.0)
    assert mode_params(Firmware.PLANE, "return") == (11.0, 0.0)
    assert mode_params(Firmware.COPTER, "takeoff") is None
    assert mode_params(Firmware.PX4, "guided") is None
