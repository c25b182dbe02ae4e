"""Whether a line can carry HIL, against figures that real boards gave."""

from __future__ import annotations

import pytest
from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.protocols.hil_rates import bytes_per_second, frame_bytes, link_load
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkOut

TO_BOARD = {"HIL_SENSOR": 250.0, "HIL_GPS": 5.0}
FROM_BOARD = {"HIL_ACTUATOR_CONTROLS": 200.0}


def test_the_known_figures() -> None:
    assert bytes_per_second(TO_BOARD) == 250 * 77 + 5 * 51 == 19505
    assert bytes_per_second(FROM_BOARD) == 200 * 93 == 18600
    slow = link_load(TO_BOARD, FROM_BOARD, 115200)
    assert slow.capacity_bytes_s == 11520
    assert slow.refusal is not None
    assert "19.5 kB/s, 169% of what 115200 baud carries" in slow.refusal
    fast = link_load(TO_BOARD, FROM_BOARD, 921600)
    assert fast.capacity_bytes_s is not None
    assert round(100 * fast.to_board_bytes_s / fast.capacity_bytes_s) == 21
    assert fast.refusal is fast.warning is None


def test_no_frame_is_longer_than_counted() -> None:
    out = MavlinkOut(MavlinkCounters(), 255, 255)
    full = dialect.MAVLink_hil_sensor_message(2**64 - 1, *(-1e38,) * 13, 2**32 - 1, 255)
    assert len(out.pack(full)) == frame_bytes("HIL_SENSOR") == 77
    usual = dialect.MAVLink_hil_sensor_message(10**9, *(-1e38,) * 13, 0x1FFF, 0)
    assert len(out.pack(usual)) == 74


def test_the_way_back_counts_by_itself() -> None:
    load = link_load({"HIL_SENSOR": 50.0}, FROM_BOARD, 115200)
    assert load.refusal is not None
    assert "from the board need 18.6 kB/s" in load.refusal
    assert link_load({"HIL_SENSOR": 100.0}, {"HIL_ACTUATOR_CONTROLS": 80.0}, 115200).refusal is None


@pytest.mark.parametrize(("baud", "refused"), [(38400, True), (50000, True), (50010, False), (57600, False)])
def test_px4_starts_no_hil_on_a_slow_line(baud: int, refused: bool) -> None:
    load = link_load({"HIL_SENSOR": 1.0}, {}, baud)
    assert (load.refusal is not None) == refused
    assert not refused or "only above 5000" in str(load.refusal)


@pytest.mark.parametrize("baud", [2_000_000, None])
def test_too_fast_for_real_boards_is_a_warning_on_any_link(baud: int | None) -> None:
    load = link_load({"HIL_SENSOR": 500.0, "HIL_GPS": 5.0}, FROM_BOARD, baud)
    assert load.refusal is None
    assert load.warning is not None
    assert "500 Hz overloaded real boards" in load.warning
    assert link_load({"HIL_SENSOR": 300.0}, FROM_BOARD, baud).warning is None


def test_a_nearly_full_line_is_a_warning() -> None:
    load = link_load({"HIL_SENSOR": 130.0}, {}, 115200)
    assert load.refusal is None
    assert load.warning is not None
    assert "87%" in load.warning


def test_an_unknown_message_is_named() -> None:
    with pytest.raises(ConfigError, match="HIL_SENSORS is not a message"):
        bytes_per_second({"HIL_SENSORS": 1.0})
