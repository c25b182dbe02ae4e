"""Series about a point against the bench's earth, air and messages."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from aeroloop.core.geodesy import local
from aeroloop.core.signals import Origin
from aeroloop.estimation import wing
from aeroloop.families.fixedwing.batch_local import Local
from aeroloop.families.fixedwing.scenario import FixedWingWorld
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth

CENTRE_W = (-3375.0, 2175.0, 660.0)
WORLD = FixedWingWorld()


@pytest.mark.parametrize("away", [(0.0, 0.0, 0.0), (150.0, -20.0, 3.0), (-280.0, 210.0, -60.0), (40.0, 300.0, 90.0)])
def test_series_are_those_of_the_bench(away: tuple[float, float, float]) -> None:
    at, earth = Local(WORLD.home, WORLD.day, CENTRE_W), Earth(WORLD.home)
    pos = ca.SX.sym("pos", 3)
    altitude = at.altitude_m(pos)
    names = ("altitude", "gravity", "field", "pressure", "density", "fix")
    made = ca.Function(
        "made",
        [pos],
        [altitude, at.gravity_m_s2(pos), at.field_W_T(pos), *at.air(altitude), at.fix(pos)],
        ["pos"],
        list(names),
    )
    values = dict(zip(names, (np.array(v).ravel() for v in made(away)), strict=True))
    x, y, z = np.add(CENTRE_W, away).tolist()
    place, centre = earth.place((x, y, z)), earth.place(CENTRE_W)
    pressure, _, density = Atmosphere(WORLD.day).at(place.alt_m)
    assert values["altitude"] == pytest.approx(place.alt_m - centre.alt_m, abs=1e-5)
    assert values["gravity"] == pytest.approx(place.gravity_m_s2, abs=5e-8)
    assert values["field"] == pytest.approx(place.field_W_T, abs=1e-14)
    assert values["pressure"] + at.pressure_Pa == pytest.approx(pressure, abs=1e-3)
    assert values["density"] == pytest.approx(density, rel=1e-8)
    units = round(place.lat_deg * 1e7) / 1e7, round(place.lon_deg * 1e7) / 1e7, round(place.alt_m * 1000) / 1000
    told = local(Origin(WORLD.home.lat_deg, WORLD.home.lon_deg, 0.0), *units)
    assert values["fix"] + CENTRE_W == pytest.approx(told, abs=2e-5)
    assert np.hypot(*(values["fix"] - away)[:2]) < 0.009


def test_height_of_a_pressure() -> None:
    at = Local(WORLD.home, WORLD.day, CENTRE_W)
    static = ca.SX.sym("static")
    made = ca.Function("made", [static], list(at.pressure_height(static)))
    reference_m = wing.pressure_height_m(at.pressure_Pa)
    for away_Pa in (-900.0, 0.0, 3.5, 1200.0):
        height_m, density = (float(v) for v in made(away_Pa))
        expected_m, expected = (float(v) for v in wing.air(ca.DM(at.pressure_Pa + away_Pa)))
        assert height_m + reference_m == pytest.approx(expected_m, abs=1e-6)
        assert density == pytest.approx(expected, rel=1e-9)
