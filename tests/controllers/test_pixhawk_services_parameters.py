"""The parameter protocol, with pymavlink's own helpers for parameters."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from pymavlink import mavparm
from pymavlink.dialects.v20 import common as mavlink

from peers.ground_peer import Bench

WHOLE, REAL = mavlink.MAV_PARAM_TYPE_INT32, mavlink.MAV_PARAM_TYPE_REAL32


def value_of(message: Any) -> float:
    if message.param_type == REAL:
        return float(message.param_value)
    (value,) = struct.unpack("<i", struct.pack("<f", message.param_value))
    return int(value)


def bytewise(value: int) -> float:
    (single,) = struct.unpack("<f", struct.pack("<i", value))
    return float(single)


def test_all_of_them_once_and_in_order() -> None:
    bench = Bench(links=2)
    peer, other = bench.peers
    peer.param_fetch_all()
    bench.run(1.0)
    got = peer.drain("PARAM_VALUE")
    assert [m.param_id for m in got] == list(bench.parameters.names)
    assert [m.param_index for m in got] == list(range(len(bench.parameters)))
    assert {m.param_count for m in got} == {len(bench.parameters)}
    for message in got:
        assert value_of(message) == pytest.approx(bench.parameters.get(message.param_id), rel=1e-6)
        whole = bench.parameters.row(message.param_id).kind == "int"
        assert message.param_type == (WHOLE if whole else REAL)
    assert not other.drain("PARAM_VALUE")


def test_a_list_asked_for_twice_begins_anew() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.param_request_list_send(1, 1)
    bench.run(0.02)
    begun = len(peer.drain("PARAM_VALUE"))
    assert 0 < begun < len(bench.parameters)
    peer.mav.param_request_list_send(1, 1)
    bench.run(1.0)
    assert len(peer.drain("PARAM_VALUE")) == len(bench.parameters)


def test_one_by_name_and_by_number() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.param_fetch_one("MIS_TAKEOFF_ALT")
    by_name = peer.only("PARAM_VALUE")
    assert value_of(by_name) == 2.5
    peer.param_fetch_one(by_name.param_index)
    assert peer.only("PARAM_VALUE").param_id == "MIS_TAKEOFF_ALT"


@pytest.mark.parametrize(
    ("name", "index"), [(b"NO_SUCH", -1), (b"", 9999), (b"\xff" * 16, -1), (b"", -7), (b"MIS_TAKEOFF_ALT", 9999)]
)
def test_one_that_is_not_there(name: bytes, index: int) -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.param_request_read_send(1, 1, name, index)
    error = peer.only("PARAM_ERROR")
    assert error.error == mavlink.MAV_PARAM_ERROR_DOES_NOT_EXIST
    assert (error.target_system, error.param_index) == (255, index)


def test_pymavlinks_mavset() -> None:
    bench = Bench()
    peer = bench.peers[0]
    store = mavparm.MAVParmDict()
    assert store.mavset(peer, "MIS_TAKEOFF_ALT", 4.5)
    assert bench.parameters.get("MIS_TAKEOFF_ALT") == 4.5
    assert store.mavset(peer, "NAV_DLL_ACT", 3, parm_type=WHOLE)
    assert bench.parameters.get("NAV_DLL_ACT") == 3


def test_a_change_is_told_on_the_other_links() -> None:
    bench = Bench(links=2)
    peer, other = bench.peers
    peer.mav.param_set_send(1, 1, b"MPC_LAND_SPEED", 0.5, REAL)
    assert value_of(peer.only("PARAM_VALUE")) == 0.5
    bench.run(0.004)
    assert value_of(other.only("PARAM_VALUE")) == 0.5
    assert not peer.drain("PARAM_VALUE")
    peer.mav.param_set_send(1, 1, b"MPC_LAND_SPEED", math.nan, REAL)
    bench.run(0.004)
    assert not other.drain("PARAM_VALUE")


def test_a_change_by_others_is_told_on_all_links() -> None:
    """A command changes it, or the aircraft itself."""
    bench = Bench(links=2)
    assert bench.peers[0].command(mavlink.MAV_CMD_DO_CHANGE_SPEED, 1, 7.5) == 0
    bench.run(0.004)
    for peer in bench.peers:
        changed = peer.only("PARAM_VALUE")
        assert (changed.param_id, value_of(changed)) == ("MPC_XY_CRUISE", 7.5)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        (b"MIS_TAKEOFF_ALT", math.nan, REAL),
        (b"MIS_TAKEOFF_ALT", math.inf, REAL),
        (b"MIS_TAKEOFF_ALT", 1e9, REAL),
        (b"MIS_TAKEOFF_ALT", 3.0, WHOLE),
        (b"NAV_DLL_ACT", 1.0, REAL),
        (b"NAV_DLL_ACT", bytewise(77), WHOLE),
        (b"NAV_DLL_ACT", bytewise(-1), WHOLE),
        (b"NAV_DLL_ACT", 1.0, WHOLE),  # read bytewise it is a great number
    ],
)
def test_a_value_that_cannot_be_changes_nothing(name: bytes, value: float, kind: int) -> None:
    bench = Bench()
    peer = bench.peers[0]
    before = bench.parameters.get(name.decode())
    peer.mav.param_set_send(1, 1, name, value, kind)
    answers = {m.get_type(): m for m in peer.drain()}
    assert value_of(answers["PARAM_VALUE"]) == before == bench.parameters.get(name.decode())
    assert answers["PARAM_ERROR"].error == mavlink.MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE
    assert name.decode() in answers["STATUSTEXT"].text


def test_an_unknown_one_cannot_be_set() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.param_set_send(1, 1, b"NO_SUCH", 1.0, REAL)
    answers = {m.get_type(): m for m in peer.drain()}
    assert answers["PARAM_ERROR"].error == mavlink.MAV_PARAM_ERROR_DOES_NOT_EXIST
    assert answers["STATUSTEXT"].text == "No parameter NO_SUCH"
