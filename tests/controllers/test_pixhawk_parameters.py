"""The virtual Pixhawk's parameters and its battery."""

from __future__ import annotations

import math

import pytest

from aeroloop.controllers.pixhawk.battery import Pack
from aeroloop.controllers.pixhawk.parameters import TABLE, Parameters, Row
from aeroloop.controllers.pixhawk.types import Battery

HOVER_U = math.sqrt(0.5)


def test_names_fit_and_are_unique_and_keep_their_order() -> None:
    names = [row.name for row in TABLE]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 16 and name == name.upper() for name in names)
    parameters = Parameters()
    parameters.set("MPC_XY_CRUISE", 4.0)
    assert list(parameters.names) == names == [row.name for row in parameters]
    assert all(parameters.index(name) == number for number, name in enumerate(names))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("MPC_XY_CRUISE", value) for value in (math.nan, math.inf, 1000.0, -1.0)),
        *(("NAV_DLL_ACT", value) for value in (1.5, 4.0)),
        *((name, 1.0) for name in ("NO_SUCH", "NO_SUCH" * 20)),
    ],
)
def test_bad_values_are_refused_in_a_sentence_and_change_nothing(name: str, value: float) -> None:
    parameters = Parameters()
    before = [parameters.get(known) for known in parameters.names]
    refusal = parameters.set(name, value)
    assert refusal is not None
    assert len(refusal.reason) <= 50
    assert [parameters.get(known) for known in parameters.names] == before
    assert parameters.changes == 0


def test_a_change_is_counted_told_and_typed() -> None:
    parameters, told = Parameters(), list[str]()
    parameters.watch(told.append)
    assert parameters.set("NAV_DLL_ACT", 3.0) is None
    assert parameters.whole("NAV_DLL_ACT") == 3
    assert (parameters.changes, told) == (1, ["NAV_DLL_ACT"])


def test_more_rows_can_be_added_and_bad_rows_are_refused() -> None:
    gain = Row("MC_ROLL_P", 6.5, 0.0, 12.0, "float", "1/s", "a gain")
    assert Parameters((*TABLE, gain)).get("MC_ROLL_P") == 6.5
    with pytest.raises(ValueError, match="16"):
        Parameters((Row("A" * 17, 0.0, 0.0, 1.0, "float", "", ""),))
    with pytest.raises(ValueError, match="default"):
        Parameters((Row("A", 2.0, 0.0, 1.0, "float", "", ""),))


def test_a_full_battery_hovers_for_a_quarter_of_an_hour() -> None:
    pack = Pack(Parameters())
    full_V = pack.state.voltage_V
    seconds = 0
    while pack.remaining > 0.0:
        pack.step((HOVER_U,) * 4, 1.0)
        seconds += 1
    assert seconds / 60.0 == pytest.approx(15.0, abs=0.2)
    assert pack.state.used_mAh == pytest.approx(5100.0)
    assert pack.state.voltage_V < full_V - 1.0


def test_the_battery_starts_as_told_and_ignores_what_is_no_number() -> None:
    parameters = Parameters()
    parameters.set("SIM_BAT_START", 30.0)
    pack = Pack(parameters)
    assert pack.remaining == pytest.approx(0.3)
    pack.step((math.nan, math.inf, -5.0, 1e300), 1.0)
    assert 0.0 < pack.state.current_A < 60.0
    pack.step((), 1.0)
    assert pack.state.current_A == pytest.approx(0.6)


def test_a_battery_monitor_replaces_the_model() -> None:
    pack = Pack(Parameters())
    pack.measured = Battery(11.1, 20.0, 0.42, 2900.0)
    pack.step((HOVER_U,) * 4, 60.0)
    assert pack.remaining == 0.42 and pack.state == Battery(11.1, 20.0, 0.42, 2900.0)
