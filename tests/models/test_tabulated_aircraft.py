"""The tables of the F-16 against the check data that NASA publishes in the same files (F16_aero.dml, F16_prop.dml)."""

from __future__ import annotations

from typing import Any

import casadi as ca
import msgspec
import numpy as np
import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.families.freebody import airframe
from aeroloop.models import tabulated_aircraft
from aeroloop.models.tabulated_aircraft import FT_M, LBF_N, Air, Controls, Flow

F16 = airframe.load("f16")
PLAIN = (-0.004, 0.0, -0.416, 0.0, -0.005, 0.0)
"""Coefficients X, Y, Z, l, m, n at 300 ft/s and 5 deg of angle of attack."""
# beta, p, q, r, elevator, aileron, rudder: what differs from PLAIN
SINGLE: dict[tuple[str, float], dict[int, float]] = {
    ("beta", 2.34): {1: -0.0468, 2: -0.41530612733219, 3: -0.005616, 5: 0.008892},
    ("p", 3.42): {1: 0.01881, 3: -0.07182, 5: -0.002052},
    ("q", 0.98): {0: 0.02077570666667, 2: -0.99656506666667, 4: -0.10225389333333},
    ("q", -0.98): {0: -0.02877570666667, 2: 0.16456506666667, 4: 0.09225389333333},
    ("r", 2.92): {1: 0.139868, 3: 0.016498, 5: -0.056356},
    ("elevator_deg", 12.92): {0: -0.02860333333333, 2: -0.514192, 4: -0.13206},
    ("elevator_deg", -12.92): {0: -0.02422, 2: -0.317808, 4: 0.11659333333333},
    ("aileron_deg", 24.1): {1: 0.025305, 3: -0.06266, 5: -0.010845},
    ("rudder_deg", 12.03): {1: 0.034486, 3: 0.005614, 5: -0.018045},
}
SKEWED = {
    "alpha": 16.2,
    "beta": -3.24,
    "p": 0.56,
    "q": -0.76,
    "r": -0.94,
    "elevator_deg": 4.567,
    "aileron_deg": 7.654,
    "rudder_deg": -2.991,
}
SKEWED_GIVES = (0.04794994533333, 0.02735386, -0.72934852554344, -0.026917840128, 0.05917625733333, 0.013526640528)


def coefficients(alpha: float = 5.0, beta: float = 0.0, **given: float) -> list[float]:
    rate = ca.DM([given.pop("p", 0.0), given.pop("q", 0.0), given.pop("r", 0.0)])
    found = tabulated_aircraft.coefficients(F16, Flow(300 * FT_M, alpha, beta, rate), Controls(**given))
    return [float(value) for value in found]


@pytest.mark.parametrize("change", SINGLE, ids=lambda change: f"{change[0]}={change[1]}")
def test_coefficients_are_the_published_ones(change: tuple[str, float]) -> None:
    name, value = change
    expected = [SINGLE[change].get(i, plain) for i, plain in enumerate(PLAIN)]
    assert coefficients(**{name: value}) == pytest.approx(expected, abs=1e-13)
    if name in ("beta", "p", "r", "aileron_deg", "rudder_deg"):  # published too: to the other side its mirror image
        mirrored = np.array(expected) * [1, -1, 1, -1, 1, -1]
        assert coefficients(**{name: -value}) == pytest.approx(mirrored, abs=1e-13)


def test_coefficients_without_and_with_all_at_once_are_the_published_ones() -> None:
    assert coefficients() == pytest.approx(PLAIN, abs=1e-13)
    assert coefficients(**SKEWED) == pytest.approx(SKEWED_GIVES, abs=1e-13)


@pytest.mark.parametrize(
    ("power_percent", "height_ft", "mach", "thrust_lbf", "within"),
    [
        (0.0, 0.0, 0.0, 1060.0, 1e-5),
        (50.0, 0.0, 0.0, 12680.0, 1e-5),
        (100.0, 0.0, 0.0, 20000.0, 1e-5),
        (100.0, 0.0, 1.0, 28885.0, 1e-5),
        (0.0, 50000.0, 1.0, 700.0, 1e-5),
        (50.0, 50000.0, 1.0, 2310.0, 1e-5),
        (100.0, 50000.0, 1.0, 5057.0, 1e-5),
        (42.3, 23507.0, 0.625, 5319.3491, 1e-3),  # the tolerances are published too
        (88.3, 33537.0, 0.895, 9298.8926, 6e-4),
    ],
)
def test_thrust_is_the_published_one(
    power_percent: float, height_ft: float, mach: float, thrust_lbf: float, within: float
) -> None:
    found = tabulated_aircraft.thrust_N(F16.engine, mach, height_ft * FT_M, power_percent)
    assert float(found) / LBF_N == pytest.approx(thrust_lbf, abs=within)


def test_beyond_its_ends_a_table_keeps_its_last_values() -> None:
    points = (-1.0, 0.0, 2.0)
    at = {value: np.array(tabulated_aircraft.weights(value, points)).ravel().tolist() for value in (-9.0, 0.5, 9.0)}
    assert at == {-9.0: [1.0, 0.0, 0.0], 0.5: [0.0, 0.75, 0.25], 9.0: [0.0, 0.0, 1.0]}
    assert coefficients(alpha=90.0) == pytest.approx(coefficients(alpha=45.0))


def test_mass_is_in_si_and_moments_are_about_the_centre_of_mass() -> None:
    assert F16.mass_kg == pytest.approx(20500 * 0.45359237, rel=1e-5)  # 20,500 lb, as F16_inertia.dml says too
    air, still = Air(3000.0, 0.9, 330.0), ca.DM.zeros(3)
    force, moment = tabulated_aircraft.loads_B(F16, ca.DM([170.0, 2.0, -8.0]), still, air, Controls())
    ahead = msgspec.structs.replace(F16, mass=msgspec.structs.replace(F16.mass, centre_percent=15.0))
    same, other = tabulated_aircraft.loads_B(ahead, ca.DM([170.0, 2.0, -8.0]), still, air, Controls())
    arm_m = np.array([0.1 * 11.32 * FT_M, 0.0, 0.0])  # from the new centre back to the old one, a tenth of the chord
    back = np.cross(-arm_m, np.array(force).ravel())
    assert np.array(same - force) == pytest.approx(0.0)
    assert np.array(other - moment).ravel() == pytest.approx(back, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("table", "key", "value", "message"),
    [
        ("aerodynamics", "z", (1.0, 2.0), r"z: expected 1 rows of 12 values"),
        ("aerodynamics", "beta_deg", (-30.0, 30.0), r"roll_aileron: expected 2 rows of 12 values"),
        (
            "mass",
            "inertia_slug_ft2",
            (900.0, 55814.0, 1000.0),
            r"product_xz_slug_ft2: expected less than the root of Ix Iz, not 982",
        ),
        ("engine", "mach", (0.0, 0.2, 0.4, 0.6, 0.8, 0.8), r"mach: expected each point above the one before"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path: Any, table: str, key: str, value: Any, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'base = "f16"\n[{table}]\n{key} = {list(value)}\n')
    with pytest.raises(ConfigError, match=message):
        airframe.load(str(file))
