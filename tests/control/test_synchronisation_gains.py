"""Gains of the synchronisation law: the controllers as settings, the scenario's table, and the certificate."""

from __future__ import annotations

from typing import Any

import pytest
from synchronised_axes import JOINTS, ROTORS

from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_certificate import JointPlants, RotorPlants, check, worst
from aeroloop.control.synchronisation_gains import (
    JOINT,
    JOINT_POLES,
    ROTOR,
    ROTOR_POLES,
    SynchronisationTable,
)
from aeroloop.core import scenario_files
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.families.rrr import law

SLOW_ROTORS = Axes(count=4, order=1, period_s=0.004, low=0.0, high=1100.0, lag_s=0.018)


def table(**keys: Any) -> SynchronisationTable:
    return convert({"law": "smc-sync-pidnn", **keys}, SynchronisationTable, "synchronisation")


def test_controllers_are_settings_of_one_law() -> None:
    full = table().gains(ROTOR, ROTOR_POLES)
    assert full == ROTOR
    smc, coupled, pid, ff = (table(law=law).gains(ROTOR, ROTOR_POLES) for law in ("smc", "smc-sync", "pid", "pid-ff"))
    assert (smc.beta, smc.gs, coupled.beta, coupled.gs) == (0.0, 0.0, 1.0, 0.0)
    # Inside the layer `smc` and `pid-ff` have the same gains.
    assert (ff.lam, ff.q) == (smc.lam, pytest.approx(smc.k / smc.phi)) and ff.k == 0.0
    assert pid == ff._replace(feedforward=0.0)
    assert table(law="pid-equal").gains(ROTOR, ROTOR_POLES).q == 124.0
    joint = table(law="pid").gains(JOINT, JOINT_POLES)
    wc = 100.0 / 3.0
    assert 2 * joint.lam + joint.q == pytest.approx(3 * wc)
    assert joint.lam**2 + 2 * joint.lam * joint.q == pytest.approx(3 * wc**2)


def test_keys_of_the_table_replace_defaults() -> None:
    own = table(k=15000.0, w0=[0.3, 0.1, 0.0], eta=0.0).gains(ROTOR, ROTOR_POLES)
    assert own == ROTOR._replace(k=15000.0, w0_p=0.3, w0_i=0.1, eta=0.0)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"k": -1.0}, "synchronisation: k: expected `float` >= 0"),
        ({"lam": float("nan")}, "synchronisation: lam: expected"),
        ({"gam": float("inf")}, "synchronisation: gam: expected a finite number"),
        ({"phi": 0.0}, "synchronisation: phi: expected `float` > 0"),
        ({"ti": 0.0}, "synchronisation: ti: expected `float` > 0"),
        ({"sn": -2.0}, "synchronisation: sn: expected `float` > 0"),
        ({"beta": -0.1}, "synchronisation: beta: expected `float` >= 0"),
        ({"w0": [0.2, 0.2, 0.4]}, "w0: expected a weight D from 0 to 0.3, not 0.4"),
        ({"w0": [0.2, 0.0, 0.0]}, "w0: expected a weight I above 0"),
        ({"w0": [0.2, 0.2]}, "w0: expected"),
        ({"law": "fuzzy"}, "law: invalid enum value 'fuzzy', expected one of: none, pid"),
        ({"coupling": "star"}, "coupling: invalid enum value 'star', expected one of: mean, ring"),
        ({"kappa": 1.0}, "kappa: unknown key"),
    ],
)
def test_bad_gains_are_refused_in_one_sentence(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        table(**keys)
    assert expected in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(("axes", "plants"), [(ROTORS, RotorPlants()), (SLOW_ROTORS, RotorPlants())])
def test_the_rotors_defaults_are_certified(axes: Axes, plants: RotorPlants) -> None:
    check(axes, ROTOR, "mean", plants)


def test_the_joints_defaults_are_certified_with_little_margin() -> None:
    check(JOINTS, JOINT, "mean", JointPlants())
    assert 0.999 < worst(JOINTS, JOINT, "mean", JointPlants()).radius < 1.0


@pytest.mark.parametrize("ti", [0.03, 0.06])
def test_a_fast_integral_on_the_joints_fails_at_the_heavy_weak_corner(ti: float) -> None:
    corner = worst(JOINTS, JOINT._replace(ti=ti), "mean", JointPlants())
    assert corner.weights == (0.0, 1.0, 0.0) and corner.delay == 1
    with pytest.raises(ConfigError, match=r"unstable: spectral radius 1\.00\d+ at inertia 0\.076 kg m2, effectiveness"):
        check(JOINTS, JOINT._replace(ti=ti), "mean", JointPlants())


def test_a_large_network_gain_on_the_rotors_fails_with_a_sample_of_delay() -> None:
    with pytest.raises(ConfigError, match=r"lag 11 ms, gain 1\.05, weights .* 1 sample of delay, differential mode"):
        check(ROTORS, ROTOR._replace(gs=240.0), "mean", RotorPlants())


@pytest.mark.parametrize(
    ("axes", "gains", "plants", "bound"),
    [(ROTORS, ROTOR, RotorPlants(), 4340), (JOINTS, JOINT, JointPlants(), 33333)],
)
def test_the_learning_rate_is_bounded(axes: Axes, gains: Any, plants: Any, bound: int) -> None:
    check(axes, gains._replace(eta=0.99 * bound), "mean", plants)
    with pytest.raises(ConfigError, match=f"synchronisation.eta: learning is stable below {bound} 1/s"):
        check(axes, gains._replace(eta=1.01 * bound), "mean", plants)


def test_a_law_that_is_not_certified_flies_only_if_the_scenario_says_so() -> None:
    """`pid-high` has no margin: on the joints of a light platform a sample of delay makes it unstable."""
    settings = table(law="pid-high")
    gains = settings.gains(JOINT, JOINT_POLES)
    with pytest.raises(ConfigError, match=r"unstable: spectral radius 1\.0014 at inertia 0\.017 kg m2"):
        check(JOINTS, gains, "mean", JointPlants(), certified=settings.certified)
    check(JOINTS, gains, "mean", JointPlants(), certified=table(certified=False).certified)
    with pytest.raises(ConfigError, match="learning is stable below"):
        check(JOINTS, JOINT._replace(eta=1e5), "mean", JointPlants(), certified=False)
    robot = scenario_files.find("rrr-circle")
    with pytest.raises(ConfigError, match="frozen weights is unstable"):
        law.check(scenario_files.load(robot, ("synchronisation.law=pid-high",)))
    law.check(scenario_files.load(robot, ("synchronisation.law=pid-high", "synchronisation.certified=false")))
