"""The exchange of a controller without a link."""

from __future__ import annotations

from typing import Any

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch
from aeroloop.exchanges.direct import Direct
from aeroloop.sim.loop import Craft
from aeroloop.sim.pace import Pace


def test_time_goes_to_where_its_holder_wants_it() -> None:
    direct, vehicle = Direct((1.0,)), Any
    craft = Craft(vehicle, [direct], end_ns=100)  # type: ignore[arg-type]
    direct.until_ns = 5
    assert Pace(4, lockstep=True).until([craft], lambda: False) == 5


def test_it_has_no_link_that_could_fail() -> None:
    with pytest.raises(ConfigError, match="to_plant: this flight has no link to impair"):
        Direct(()).switch(Switch("to_plant", "loss", on=True))
