"""Properties of the synchronisation law: golden values, equivalences, coupling, learning, guards and saturation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synchronisation_golden import GOLDEN, JOINT_RUN, Rows
from synchronised_axes import JOINTS, ROTORS, Stepped, fly_rotors

from aeroloop.codegen.host import compiled
from aeroloop.control import synchronisation
from aeroloop.control.synchronisation import GAINS, WEIGHT_MAX, Axes, coupling_matrix, surface
from aeroloop.control.synchronisation_gains import JOINT, ROTOR, ROTOR_POLES, Gains, LawName, of_law
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.paths import cache_dir


def of(name: LawName) -> Gains:
    return of_law(name, ROTOR, ROTOR_POLES)


def part(memory: Vec, index: int, n: int) -> Vec:
    """One of I, last, rate, x1, x2, x3, dw_P, dw_I, dw_D."""
    values: Vec = memory[1 + n * index : 1 + n * (index + 1)]
    return values


def outputs(function: ca.Function, axes: Axes, gains: Gains, run: Rows) -> list[list[Vec]]:
    memory, rows = np.zeros(axes.memory), []
    for y, ref in run:
        row = [np.array(value).ravel() for value in function(y, ref, memory, gains)]
        memory = row[1]
        rows.append(row)
    return rows


@pytest.mark.parametrize("plant", GOLDEN)
def test_golden_values_interpreted_and_compiled(plant: str) -> None:
    (axes, gains, run), golden, weights = GOLDEN[plant]
    function = synchronisation.law(axes)
    rows = outputs(function, axes, gains, run)
    for sample, expected in golden.items():
        assert rows[sample][0] == pytest.approx(expected, rel=1e-6)
    if weights:
        assert rows[2][4][:3] == pytest.approx(weights, rel=1e-6)
    for mil, sil in zip(rows, outputs(compiled(function, cache_dir()), axes, gains, run), strict=True):
        for a, b in zip(mil, sil, strict=True):
            assert b == pytest.approx(a, rel=1e-9, abs=1e-12)


def test_gains_are_in_the_order_of_the_law() -> None:
    assert Gains._fields == GAINS


# --- 1. Equivalences


def plain_sliding_mode(run: Rows, g: Gains) -> list[Vec]:
    """Sliding mode for rotors, written on its own: no coupling, no network."""
    ts, lag = ROTORS.period_s, ROTORS.lag_s
    pole = -math.expm1(-2.0 * math.pi * 5.0 * ts)
    integral, rate, last = np.zeros(4), np.zeros(4), None
    commands = []
    for measured, ref in run:
        y, r = np.array(measured), np.array(ref)
        e = r - y
        rate = rate + pole * ((r - last) / ts - rate) if last is not None else 0.0 * r
        last = r
        want = (y / lag + (rate + g.lam * e + g.k * np.clip((e + g.lam * integral) / g.phi, -1.0, 1.0))) * lag
        commands.append(np.clip(want, 0.0, 1100.0))
        stays = ((want > 1100.0) & (e > 0.0)) | ((want < 0.0) & (e < 0.0))
        integral = np.where(stays, integral, np.clip(integral + ts * e, -g.imax, g.imax))
    return commands


def wandering(count: int, scale: float) -> Rows:
    random = np.random.default_rng(4)
    r = 800.0 + np.cumsum(random.normal(0.0, 3.0, (count, 4)), axis=0)
    return [(tuple(row - random.normal(0.0, scale, 4)), tuple(row)) for row in r]


def test_without_coupling_and_network_it_is_a_sliding_mode_to_the_bit() -> None:
    law = Stepped(ROTORS, of("smc"))
    run = wandering(400, 250.0)
    for (y, ref), expected in zip(run, plain_sliding_mode(run, of("smc")), strict=True):
        assert law(y, ref).tolist() == expected.tolist()


def test_without_a_network_its_keys_have_no_effect() -> None:
    g = of("smc-sync")
    changed = g._replace(eta=900.0, ti=0.3, w0_p=0.7, w0_i=0.9, w0_d=0.1, sn=10.0)
    a, b = Stepped(ROTORS, g), Stepped(ROTORS, changed)
    for y, ref in wandering(100, 20.0):
        assert a(y, ref).tolist() == b(y, ref).tolist()


def test_inside_the_layer_sliding_mode_is_pid_with_feedforward() -> None:
    sliding, linear = Stepped(ROTORS, of("smc")), Stepped(ROTORS, of("pid-ff"))
    integral, rate, last = np.zeros(4), np.zeros(4), None
    kp, ki = 68.0 - 1.0 / ROTORS.lag_s, 480.0
    for y, ref in wandering(200, 5.0):
        e, r = np.array(ref) - y, np.array(ref)
        share = synchronisation.share(5.0, ROTORS.period_s)
        rate = rate + share * ((r - last) / ROTORS.period_s - rate) if last is not None else rate
        last = r
        expected = r + ROTORS.lag_s * (kp * e + ki * integral + rate)
        integral = integral + ROTORS.period_s * e
        assert sliding(y, ref) == pytest.approx(expected, rel=1e-9)
        assert linear(y, ref) == pytest.approx(expected, rel=1e-9)


def test_inside_the_layer_a_joints_sliding_mode_is_pid_with_feedforward() -> None:
    law = Stepped(JOINTS, JOINT._replace(beta=0.0, gs=0.0))
    lam, gain = JOINT.lam, JOINT.k / JOINT.phi
    kd, kp, ki = 2.0 * lam + gain, lam**2 + 2.0 * lam * gain, lam**2 * gain
    integral, last, rate = np.zeros(3), None, np.zeros(3)
    for y, ref in JOINT_RUN:
        q, (r, r_rate, r_accel) = np.array(y), np.reshape(ref, (3, 3))
        share = synchronisation.share(80.0, JOINTS.period_s)
        rate = rate + share * ((q - last) / JOINTS.period_s - rate) if last is not None else r_rate
        last = q
        u = JOINTS.inertia * (r_accel + kd * (r_rate - rate) + kp * (r - q) + ki * integral)
        integral = integral + JOINTS.period_s * (r - q)
        assert law(y, ref) == pytest.approx(u, rel=1e-9)


# --- 2. Symmetry

errors = st.lists(st.floats(-400.0, 400.0), min_size=4, max_size=4)


@given(common=st.floats(-300.0, 300.0))
@settings(max_examples=25, deadline=None)
def test_equal_errors_leave_the_network_silent(common: float) -> None:
    full, plain = Stepped(ROTORS, ROTOR), Stepped(ROTORS, of("smc"))
    r = np.full(4, 700.0)
    for _ in range(3):
        u = full(r - common, r)
        assert u == pytest.approx(plain(r - common, r), rel=1e-12)
        assert np.max(np.abs(full.nu)) < 1e-9
        assert full.w.tolist() == [0.2] * 8 + [0.0] * 4


@given(rows=st.lists(errors, min_size=2, max_size=4), order=st.permutations(range(4)))
@settings(max_examples=40, deadline=None)
def test_permuted_axes_permute_the_outputs_and_nu_has_zero_sum(rows: list[list[float]], order: list[int]) -> None:
    law, permuted, r = Stepped(ROTORS, ROTOR), Stepped(ROTORS, ROTOR), np.full(4, 600.0)
    for row in rows:
        y = r - np.array(row)
        u = law(y, r)
        assert permuted(y[order], r) == pytest.approx(u[order], rel=1e-9, abs=1e-9)
        assert abs(law.nu.sum()) <= 1e-12 * max(1.0, np.abs(law.nu).sum())


def test_ring_coupling_is_half_the_laplacian() -> None:
    assert coupling_matrix(3, "ring") == pytest.approx(1.5 * coupling_matrix(3, "mean"))
    assert np.linalg.eigvalsh(coupling_matrix(4, "ring")) == pytest.approx([0.0, 1.0, 1.0, 2.0], abs=1e-12)
    run = wandering(40, 20.0)
    mean, ring = (Stepped(ROTORS, of("smc-sync"), coupling) for coupling in ("mean", "ring"))
    assert any(mean(y, ref).tolist() != ring(y, ref).tolist() for y, ref in run)


# --- 3. Coupling


def hover(_: float) -> tuple[float, ...]:
    return (800.0,) * 4


def sine_on_last(t: float) -> tuple[float, ...]:
    return 0.0, 0.0, 0.0, 3000.0 * math.sin(4.0 * math.pi * t)


def test_coupling_halves_the_differences_and_leaves_the_mean() -> None:
    alone, coupled = (fly_rotors(of(name), hover, samples=1500, load=sine_on_last) for name in ("smc", "smc-sync"))
    assert 1.8 <= alone.sync_rms(500) / coupled.sync_rms(500) <= 2.0
    assert coupled.mean_rms(500) == pytest.approx(alone.mean_rms(500), rel=0.05)


# --- 4. Learning


def test_learning_reduces_the_differences() -> None:
    learning, fixed = (
        fly_rotors(ROTOR._replace(eta=eta), hover, samples=1500, load=sine_on_last) for eta in (ROTOR.eta, 0.0)
    )
    assert 2.0 * learning.sync_rms(500) < fixed.sync_rms(500)
    assert learning.sync_rms(500) < 0.3 * fly_rotors(of("smc-sync"), hover, samples=1500, load=sine_on_last).sync_rms(
        500
    )


@pytest.mark.parametrize(("alternates", "rises"), [(False, True), (True, False)])
def test_a_lasting_error_raises_the_gain_and_an_alternating_one_lowers_it(alternates: bool, rises: bool) -> None:
    law, r = Stepped(ROTORS, ROTOR), np.full(4, 600.0)
    for sample in range(12):
        sign = -1.0 if alternates and sample % 2 else 1.0
        law(r - sign * np.array([40.0, -40.0, 40.0, -40.0]), r)
    proportional = law.w[:4]
    assert (proportional > 0.25).all() if rises else (proportional < 0.15).all()


def test_weights_of_a_loaded_axis_rise_and_leak_back() -> None:
    def load(t: float) -> tuple[float, ...]:
        return 4000.0 if 0.4 <= t < 0.6 else 0.0, 0.0, 0.0, 0.0

    step = fly_rotors(ROTOR, hover, samples=600, load=load, gain=(1.0,) * 4)
    weight = np.array([ROTOR.w0_p + part(memory, 6, 4)[0] for memory in step.memory])
    assert weight[199] < 0.3 and weight[200:300].max() > 0.9  # the load begins at sample 200
    peak = weight[300:].argmax() + 300
    left = (weight[-1] - 0.2) / (weight[peak] - 0.2)
    assert left == pytest.approx(math.exp(-3.0 * 0.002 * (599 - peak)), rel=0.1)


# --- 5. Guards

finite = st.floats(-1e6, 1e6)


@st.composite
def any_sample(draw: st.DrawFn, axes: Axes, gains: Gains) -> tuple[list[float], list[float], list[float]]:
    n = axes.count
    y = draw(st.lists(finite, min_size=n, max_size=n))
    ref = draw(st.lists(finite, min_size=axes.references, max_size=axes.references))

    def values(low: float, high: float) -> list[float]:
        return draw(st.lists(st.floats(low, high), min_size=n, max_size=n))

    deviations = [values(-1.5, 1.5) for _ in range(3)]
    neurons = [values(-1.0, 1.0) for _ in range(3)]
    memory = [values(-gains.imax, gains.imax), values(-1e6, 1e6), values(-1e6, 1e6), *neurons, *deviations]
    return y, ref, [draw(st.sampled_from((0.0, 1.0))), *itertools.chain(*memory)]


@pytest.mark.parametrize(("axes", "gains"), [(ROTORS, ROTOR), (JOINTS, JOINT)], ids=["rotor", "joint"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_input_and_memory_stay_within_the_bounds(axes: Axes, gains: Gains, data: st.DataObject) -> None:
    y, ref, memory = data.draw(any_sample(axes, gains))
    u, after, rho, nu, w = (np.array(v).ravel() for v in synchronisation.law(axes)(y, ref, memory, gains))
    n = axes.count
    assert all(np.isfinite(v).all() for v in (u, after, rho, nu, w))
    assert (u >= axes.low).all() and (u <= axes.high).all()
    for neuron in (3, 4, 5):
        assert np.abs(part(after, neuron, n)).max() <= 1.0
    for j, start in enumerate((gains.w0_p, gains.w0_i, gains.w0_d)):
        weight = start + part(after, 6 + j, n)
        assert weight.min() >= -1e-12 and weight.max() <= WEIGHT_MAX[j] + 1e-12
        assert w[n * j : n * (j + 1)].max() <= WEIGHT_MAX[j]
    assert np.abs(part(after, 0, n)).max() <= gains.imax


@given(deviations=st.lists(st.floats(-0.2, 0.7), min_size=8, max_size=8), size=st.floats(0.0, 1.0))
@settings(max_examples=25, deadline=None)
def test_inside_the_dead_zone_the_weights_only_leak(deviations: list[float], size: float) -> None:
    law, r = Stepped(ROTORS, ROTOR), np.full(4, 600.0)
    law.memory[0] = 1.0
    law.memory[1 + 6 * 4 : 1 + 8 * 4] = deviations
    law.memory[1 + 3 * 4 : 1 + 6 * 4] = 0.5
    law.memory[1 + 4 : 1 + 8] = 600.0
    small = 0.999 * size * ROTOR.dz * ROTOR.sn * np.array([1.0, -1.0, 0.5, -0.5])
    law(r - small, r)
    assert law.memory[1 + 6 * 4 : 1 + 8 * 4] == pytest.approx(
        [value * (1.0 - ROTOR.gam * ROTORS.period_s) for value in deviations], abs=1e-12
    )


def test_a_memory_of_zeros_is_a_fresh_start() -> None:
    used, fresh = Stepped(ROTORS, ROTOR), Stepped(ROTORS, ROTOR)
    run = wandering(40, 30.0)
    for y, ref in run:
        used(y, ref)
    used.memory[:] = 0.0
    for y, ref in run:
        assert used(y, ref).tolist() == fresh(y, ref).tolist()


# --- 6. Reaching


@given(
    signs=st.lists(st.sampled_from((-1.0, 1.0)), min_size=4, max_size=4),
    sizes=st.lists(st.floats(1.0, 20.0), min_size=4, max_size=4),
    deltas=st.lists(st.floats(-0.99, 0.99), min_size=4, max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_outside_the_layer_the_lyapunov_function_falls(
    signs: list[float], sizes: list[float], deltas: list[float]
) -> None:
    g = of("smc-sync")._replace(lam=0.0)
    wide = Axes(count=4, order=1, period_s=0.002, low=-1e9, high=1e9, lag_s=0.018)
    s = g.phi * np.array(signs) * np.array(sizes)
    rho = np.linalg.solve(np.eye(4) + g.beta * coupling_matrix(4, "mean"), s)
    y = np.full(4, 500.0)
    u, _, *_ = (np.array(v).ravel() for v in synchronisation.law(wide)(y, y + rho, np.zeros(wide.memory), g))
    push = u / wide.lag_s - y / wide.lag_s
    assert np.array(surface(ca.DM(rho), g.beta)).ravel() == pytest.approx(s, rel=1e-9)
    assert float(s @ (-push + g.k * np.array(deltas))) < 0.0


def test_a_constant_load_is_held_without_error() -> None:
    flown = fly_rotors(ROTOR, hover, samples=4000, load=lambda t: (2000.0, 0.0, 0.0, -1000.0), gain=(1.0,) * 4)
    assert np.abs(flown.errors()[-1]).max() < 0.05
    s = np.array(surface(ca.DM(flown.rho[-1]), ROTOR.beta)).ravel()
    assert np.abs(s).max() < ROTOR.phi


# --- 8. Saturation


def test_a_saturated_axis_keeps_its_integral_neuron() -> None:
    law, r = Stepped(ROTORS, ROTOR), np.full(4, 1000.0)
    law(r - np.array([40.0, -20.0, 5.0, 5.0]), r)
    before = part(law.memory, 4, 4).copy()
    u = law(r - np.array([150.0, -20.0, 5.0, 5.0]), r)
    assert (u == ROTORS.high).tolist() == [True, False, False, False]
    moved = part(law.memory, 4, 4) != before
    assert moved.tolist() == [False, True, True, True]


def test_a_saturated_axis_winds_nothing_up() -> None:
    def ref(t: float) -> tuple[float, ...]:
        return (775.0 if t < 2.0 else 1000.0 if t < 4.0 else 750.0,) * 4

    weak = (0.768, 1.03, 0.98, 1.05)
    full, pid = (fly_rotors(of(name), ref, samples=2500, gain=weak) for name in ("smc-sync-pidnn", "pid"))
    for flown in (full, pid):
        held = [np.array([part(m, 0, 4)[0], part(m, 4, 4)[0]]) for m in flown.memory[1100:2000]]
        assert all(row.tolist() == held[0].tolist() for row in held)  # I and x2
    weights = np.array([part(m, 6, 4)[0] for m in full.memory[1100:2000]])
    assert weights[1:] == pytest.approx(weights[:-1] * (1.0 - 3.0 * 0.002), abs=1e-12)

    def recovery(flown: Any) -> tuple[float, Vec]:
        off = -flown.errors()[2000:]
        late = np.nonzero(np.abs(off[:, 0]) > 5.0)[0].max()
        return 2.0 * (late + 1), -off.min(axis=0)

    (full_ms, full_under), (pid_ms, pid_under) = recovery(full), recovery(pid)
    assert full_ms == pytest.approx(108.0, rel=0.25) and full_ms < pid_ms
    assert full_under[0] == pytest.approx(28.0, rel=0.25) and pid_under[0] < full_under[0]
    assert full_under[1:].max() < 7.0 and pid_under[1:].min() > 20.0 and pid_under[1:].max() < 33.0


# --- 11. Limit cycle


def test_an_empty_integral_weight_cycles_and_the_default_does_not() -> None:
    def slow(t: float) -> tuple[float, ...]:
        return (800.0 + 10.0 * math.sin(0.6 * t),) * 4

    flown = fly_rotors(ROTOR, slow, samples=3000)
    assert flown.sync_rms(1500) < 0.02
    assert 100.0 * np.sqrt(np.mean(np.diff(flown.u[1500:], 2, axis=0) ** 2)) / ROTORS.high < 0.001  # chatter, in %
    assert fly_rotors(ROTOR._replace(w0_i=0.0), slow, samples=3000).sync_rms(1500) > 0.1


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"count": 1}, "expected two or more axes, not 1"),
        ({"low": 5.0, "high": 5.0}, "expected limits low < high"),
        ({"period_s": 0.0}, "expected a period above 0 s"),
        ({"lag_s": 0.0}, "need a nominal gain and lag above 0"),
        ({"order": 2}, "need a nominal inertia above 0"),
    ],
)
def test_axes_are_checked(axes: dict[str, Any], expected: str) -> None:
    given: dict[str, Any] = {"count": 4, "order": 1, "period_s": 0.002, "low": 0.0, "high": 1.0, "lag_s": 0.01}
    with pytest.raises(ConfigError, match=expected):
        Axes(**{**given, **axes})
