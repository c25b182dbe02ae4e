"""The design model against published numbers and physical invariants."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.control import custom
from aeroloop.families.tiltrotor.design import design, parameters
from aeroloop.models import delay, integrate, tiltrotor

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "laws" / "lqr.py"
SETS = ("cad", "table1")

# Hover as computed independently for each parameter set: thrusts (N), pitch and tilts (rad).
HOVER = {
    "cad": (10.2712, 10.2803, -0.01169, 0.01167, 0.01161),
    "table1": (10.2371, 10.2457, -0.01131, 0.01129, 0.01123),
}


@pytest.mark.parametrize("name", SETS)
def test_hover_solves_the_static_equations(name: str) -> None:
    q, u, residual = tiltrotor.equilibrium(parameters(name))
    assert residual < 1e-10
    assert (u[0], u[1]) == pytest.approx(HOVER[name][:2], abs=6e-5)
    assert (q[4], q[6], q[7]) == pytest.approx(HOVER[name][2:], abs=6e-6)
    assert (u[2], u[3]) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_hover_thrust_agrees_with_the_paper() -> None:
    _, u, _ = tiltrotor.equilibrium(parameters("cad"))
    assert u[0] == pytest.approx(10.2751, abs=0.005)
    assert u[1] == pytest.approx(10.2799, abs=0.001)


def test_hover_carries_the_weight_through_the_canted_rotors() -> None:
    p = parameters("cad")
    q, u, _ = tiltrotor.equilibrium(p)
    assert p.mass_kg == pytest.approx(2.08699, abs=1e-5)
    assert (u[0] + u[1]) * np.cos(p.cant_rad) * np.cos(q[6] + q[4]) == pytest.approx(
        p.mass_kg * p.gravity_m_s2, rel=1e-6
    )


@pytest.mark.parametrize("name", SETS)
def test_mass_matrix_is_symmetric_and_positive(name: str) -> None:
    M, _, _ = tiltrotor.equations(parameters(name))
    rng = np.random.default_rng(3)
    for _ in range(20):
        inertia = np.array(M(rng.uniform(-1, 1, 8)))
        assert inertia == pytest.approx(inertia.T, abs=1e-14)
        assert np.linalg.eigvalsh(inertia).min() > 0


def test_coriolis_terms_equal_the_christoffel_symbols() -> None:
    """The cheap form in the model against the textbook one, term by term."""
    p = parameters("cad")
    M, h, _ = tiltrotor.equations(p)
    q, qd = ca.SX.sym("q", 8), ca.SX.sym("qd", 8)
    slope = [ca.reshape(ca.jacobian(ca.vec(M(q)), q)[:, k], 8, 8) for k in range(8)]
    textbook = ca.SX.zeros(8)
    for k in range(8):
        for i in range(8):
            for j in range(8):
                symbol = (slope[i][k, j] + slope[j][k, i] - slope[k][i, j]) / 2
                textbook[k] += symbol * qd[i] * qd[j]
    difference = ca.Function("d", [q, qd], [textbook - (h(q, qd) - h(q, 0 * qd))])
    rng = np.random.default_rng(4)
    for _ in range(10):
        assert np.array(difference(rng.uniform(-1, 1, 8), rng.uniform(-3, 3, 8))) == pytest.approx(0, abs=1e-12)


def test_energy_is_conserved_without_inputs() -> None:
    p = parameters("cad")
    energy, step = tiltrotor.energy(p), integrate.rk4(tiltrotor.dynamics(p))
    rng = np.random.default_rng(5)
    state = np.concatenate([rng.uniform(-0.3, 0.3, 8), rng.uniform(-1, 1, 8)])
    before = float(energy(state))
    for _ in range(1000):
        state = np.array(step(state, np.zeros(4), 0.001)).ravel()
    assert float(energy(state)) == pytest.approx(before, abs=1e-8)


@pytest.mark.parametrize(
    ("weights", "gains"),
    [
        ("published", {(0, 2): 2.04493, (0, 10): 2.06752, (0, 18): 0.98771}),
        ("printed", {(0, 2): 8.11}),
    ],
)
def test_gain_agrees_with_the_reference(weights: str, gains: dict[tuple[int, int], float]) -> None:
    K = design("cad", weights, 0.012).K
    assert K.shape == (4, 20)
    for index, value in gains.items():
        digits = len(str(value).split(".")[1])
        assert K[index] == pytest.approx(value, abs=0.6 * 10**-digits)


@pytest.mark.parametrize("weights", ["published", "printed"])
@pytest.mark.parametrize("name", SETS)
def test_closed_loop_converges(name: str, weights: str) -> None:
    assert design(name, weights, 0.012).delay_radius(0.0) < 1


@pytest.mark.parametrize(("weights", "margin_ms"), [("published", 9.0), ("printed", 7.0)])
def test_delay_margin_agrees_with_the_prediction(weights: str, margin_ms: float) -> None:
    plan = design("cad", weights, 0.012)
    assert plan.delay_margin_s() * 1000 == pytest.approx(margin_ms, abs=0.1)
    assert plan.delay_radius(0.006) < 1 < plan.delay_radius(0.012)


def test_a_law_from_a_file_is_linearised_for_its_margin(tmp_path: Path) -> None:
    """The example is the built-in law but for how it integrates."""
    plan = design("cad", "published", 0.012)
    radius = plan.own_delay_radius(custom.load(EXAMPLE, plan))
    assert radius is not None
    assert delay.smallest_unstable_s(radius, 0.024) == pytest.approx(plan.delay_margin_s(), abs=1e-4)
    rough = tmp_path / "rough.py"
    rough.write_text(EXAMPLE.read_text().replace("return tk", "command += ca.sqrt(error[tk.VX])\n    return tk"))
    assert plan.own_delay_radius(custom.load(rough, plan)) is None


def test_delayed_loop_equals_a_brute_force_simulation() -> None:
    """The spectral radius decides the same as simulating the linear loop with its input held back."""
    plan = design("cad", "published", 0.012)
    from aeroloop.models.linear import zero_order_hold

    for delay_ms in (2, 6, 8, 10, 12, 15, 20):
        fine_s = 0.001
        Ad, Bd = zero_order_hold(plan.A, plan.B, fine_s)
        x, pending, u = np.full(20, 0.01), [(0, np.zeros(4))], np.zeros(4)
        norms = []
        for n in range(12 * 900):
            if n % 12 == 0:
                pending.append((n + delay_ms, -plan.K @ x))
                norms.append(np.linalg.norm(x))
            while pending and pending[0][0] <= n:
                u = pending.pop(0)[1]
            x = Ad @ x + Bd @ u
            if not np.linalg.norm(x) < 1e6:
                break
        grew = norms[-1] > norms[len(norms) // 2]
        assert grew == (plan.delay_radius(delay_ms / 1000) > 1), delay_ms


def test_laws_agree_at_the_papers_heading_and_only_there() -> None:
    plan = design("cad", "published", 0.012)
    paper, heading = plan.law("dlqr"), plan.law("dlqr-heading")
    sensors, reference, memory = np.full(16, 0.1), np.full(8, 0.05), np.zeros(8)
    sensors[5] = 0.0
    assert np.array(paper(sensors, reference, memory)[0]) == pytest.approx(
        np.array(heading(sensors, reference, memory)[0])
    )
    sensors[5] = 1.0
    assert np.array(paper(sensors, reference, memory)[0]) != pytest.approx(
        np.array(heading(sensors, reference, memory)[0])
    )


def test_integral_follows_the_trapezoidal_rule_and_yaw_takes_the_short_way() -> None:
    law = design("cad", "published", 0.012).law("dlqr")
    sensors, reference = np.zeros(16), np.zeros(8)
    sensors[0], sensors[5], reference[3] = 2.0, 3.0, -3.0
    memory = np.array([1.0, 0, 0, 0, 4.0, 0, 0, 0])
    _, after = law(sensors, reference, memory)
    short_way = 6.0 - 2 * np.pi
    assert np.array(after).ravel() == pytest.approx(
        [1.0 + 0.006 * (2.0 + 4.0), 0, 0, 0.006 * short_way, 2.0, 0, 0, short_way]
    )
