"""Von Karman and medium-altitude turbulence and gust rates against MIL-F-8785C, and turbulence that fades in."""

from __future__ import annotations

import itertools
import math
from functools import cache

import casadi as ca
import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, signal

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec3
from aeroloop.world import gust_filters
from aeroloop.world.dryden import FT_M, Model, Turbulence
from aeroloop.world.gust_filters import DRYDEN_U, DRYDEN_VW, KARMAN_U, KARMAN_VW, Form
from aeroloop.world.turbulence import (
    HEIGHTS_FT,
    SETTINGS,
    SpectralTurbulence,
    intensities_m_s,
    scales_over_height,
    step_function,
)
from aeroloop.world.wind import Wind, WindConfig

MODELS: tuple[Model, ...] = ("dryden", "von_karman")
FORMS = {"dryden u": DRYDEN_U, "dryden v": DRYDEN_VW, "karman u": KARMAN_U, "karman v": KARMAN_VW}
Array = NDArray[np.float64]

PUBLISHED = {
    "dryden u": ([math.sqrt(2.0)], [1.0, 1.0]),
    "dryden v": ([math.sqrt(3.0), 1.0], [1.0, 2.0, 1.0]),
    "karman u": ([math.sqrt(2.0) * 0.25, math.sqrt(2.0)], [0.1987, 1.357, 1.0]),
    "karman v": ([0.3398, 2.7478, 1.0], [0.1539, 1.9754, 2.9958, 1.0]),
}


def density(name: str, w: float | Array) -> float | Array:
    """Of a published filter in white noise, one-sided over w = L times the spatial frequency; its integral is 1."""
    over, under = PUBLISHED[name]
    return np.abs(np.polyval(over, 1j * w) / np.polyval(under, 1j * w)) ** 2 / math.pi


@pytest.mark.parametrize("name", FORMS)
def test_states_have_the_published_transfer_function(name: str) -> None:
    form, w = FORMS[name], np.logspace(-2, 2, 9)
    poles = zip(form.poles, form.powers, form.weights, strict=True)
    response = sum(weight / (1j * w + pole) ** (1 + power) for pole, power, weight in poles)
    assert np.abs(response) ** 2 / math.pi == pytest.approx(density(name, w), rel=1e-9)


@pytest.mark.parametrize(("name", "variance"), [("karman u", 0.9687), ("karman v", 0.9623)])
def test_the_filters_approximate_von_karmans_spectra(name: str, variance: float) -> None:
    """Phi_u = 2/pi / (1 + (1.339 w)^2)^(5/6), Phi_v = 1/pi (1 + 8/3 (1.339 w)^2) / (1 + (1.339 w)^2)^(11/6)."""
    w = np.logspace(-2, 1, 50)
    x = (1.339 * w) ** 2
    exact = 2 / math.pi / (1 + x) ** (5 / 6) if name.endswith("u") else (1 + 8 / 3 * x) / math.pi / (1 + x) ** (11 / 6)
    assert np.abs(density(name, w) / exact - 1).max() < 0.046
    assert integrate.quad(lambda w: density(name, w), 0, np.inf)[0] == pytest.approx(variance, abs=1e-4)


@cache
def linear(name: str, mu: float) -> ca.Function:
    """theta -> transition of the states and the lag, and the factor of their noise."""
    form = FORMS[name]
    count = len(form.poles)
    x, draws, theta = ca.SX.sym("x", count + 1), ca.SX.sym("draws", count + 1), ca.SX.sym("theta")
    after, lagged, _ = gust_filters.passed_with_lag(
        form, ca.vertsplit(x)[:count], x[count], ca.SX(mu), theta, ca.vertsplit(draws)
    )
    moved = ca.vertcat(*after, lagged)
    return ca.Function("linear", [theta], [ca.jacobian(moved, x), ca.jacobian(moved, draws)])


def passed(name: str, mu: float, theta: float) -> tuple[Array, Array]:
    """Transition and covariance of the noise."""
    transition, factor = (np.array(value) for value in linear(name, mu)(theta))
    return transition, factor @ factor.T


CASES = list(itertools.product(FORMS, (0.5, 1.0, 1.001, 1.3, 20.0, 140.0)))


@pytest.mark.parametrize(("name", "mu"), CASES)
def test_two_steps_are_as_good_as_one(name: str, mu: float) -> None:
    for first, second in ((1e-5, 1e-4), (2e-3, 5e-3), (0.05, 0.3), (1.0, 3.0), (1e-4, 2.0)):
        phi_1, noise_1 = passed(name, mu, first)
        phi_2, noise_2 = passed(name, mu, second)
        phi, noise = passed(name, mu, first + second)
        assert np.allclose(phi_2 @ phi_1, phi, rtol=1e-9, atol=1e-9)
        spread = np.sqrt(np.outer(np.diag(noise), np.diag(noise)))
        assert np.allclose(phi_2 @ noise_1 @ phi_2.T + noise_2, noise, rtol=0, atol=1e-6 * spread.max())


def lag_of(form: Form, mu: float) -> float:
    """The lag that is flown: 1 % away from a pole."""
    for pole in sorted(set(form.poles)):
        if abs(mu - pole) < gust_filters.APART * pole:
            mu = pole * (1.0 + gust_filters.APART)
    return mu


@pytest.mark.parametrize(("name", "mu"), CASES)
def test_correlations_are_those_of_the_spectra(name: str, mu: float) -> None:
    """R(theta) = integral Phi cos(w theta) dw, for the gust y and for the rate mu (y - m), whose spectrum is
    w^2 / (1 + (w/mu)^2) Phi."""
    form = FORMS[name]
    _, stationary = passed(name, mu, 1e4)
    flown_mu = lag_of(form, mu)
    gust = np.array([*form.weights, 0.0])
    rate = flown_mu * np.array([*form.weights, -1.0])
    for theta in (0.0, 0.3, 2.0):
        transition, _ = passed(name, mu, theta) if theta else (np.eye(len(gust)), None)
        for row, spectrum in (
            (gust, lambda w: density(name, w)),
            (rate, lambda w: w * w / (1 + (w / flown_mu) ** 2) * density(name, w)),
        ):
            made = row @ transition @ stationary @ row
            variance = row @ stationary @ row
            weight = {"weight": "cos", "wvar": theta} if theta else {}
            expected = integrate.quad(spectrum, 0.0, np.inf, limit=500, limlst=500, **weight)[0]
            assert made == pytest.approx(expected, abs=1e-3 * variance)


@pytest.mark.parametrize(
    ("model", "altitude", "height_ft", "length_uv_ft", "length_w_ft", "sigma_uv_m_s", "sigma_w_m_s"),
    [
        ("dryden", "low", 20.0, 143.589, 20.0, 1.92914, 1.0),
        ("von_karman", "low", 20.0, 143.589, 20.0, 1.92914, 1.0),
        ("dryden", "low", 5000.0, 1000.0, 1000.0, 1.0, 1.0),
        ("dryden", "auto", 1000.0, 1000.0, 1000.0, 1.0, 1.0),
        ("dryden", "auto", 1500.0, 1375.0, 1375.0, 2.0, 2.0),
        ("dryden", "auto", 2000.0, 1750.0, 1750.0, 3.0, 3.0),
        ("von_karman", "auto", 1250.0, 1375.0, 1375.0, 1.5, 1.5),
        ("von_karman", "auto", 9000.0, 2500.0, 2500.0, 3.0, 3.0),
        ("dryden", "medium", 20.0, 1750.0, 1750.0, 3.0, 3.0),
    ],
)
def test_scales_and_intensities_over_height(
    model: Model,
    altitude: str,
    height_ft: float,
    length_uv_ft: float,
    length_w_ft: float,
    sigma_uv_m_s: float,
    sigma_w_m_s: float,
) -> None:
    """W20 10 m/s below, 3 m/s at medium altitude; linear from 1000 to 2000 ft."""
    sigma = 0.0 if altitude == "low" else 3.0
    config = msgspec.convert({"w20_m_s": 10.0, "model": model, "altitude": altitude, "sigma_m_s": sigma}, Turbulence)
    setting = made(config).inputs[2]
    height, symbols = ca.SX.sym("height"), ca.SX.sym("setting", SETTINGS)
    values = ca.Function("scales", [height, symbols], list(scales_over_height(model, height, symbols)))
    lengths_and_sigmas = [float(value) for value in values(height_ft * FT_M, setting)]
    expected = [length_uv_ft * FT_M, length_w_ft * FT_M, sigma_uv_m_s, sigma_w_m_s]
    assert lengths_and_sigmas == pytest.approx(expected, rel=1e-5)


def made(config: Turbulence, span_m: float = 3.0) -> Evaluator:
    """The evaluator of a turbulence, with its settings."""
    evaluators: list[Evaluator] = []

    def run(function: ca.Function) -> Evaluator:
        evaluators.append(Evaluator(function))
        return evaluators[-1]

    SpectralTurbulence(config, np.random.default_rng(0), run, span_m)
    return evaluators[0]


@pytest.mark.parametrize(
    ("exceedance", "height_ft", "sigma_ft_s"),
    [(1e-2, 500, 6.6), (1e-3, 1750, 9.6), (1e-5, 25000, 20.0), (1e-6, 80000, 7.2), (0.2, 3750, 1.5)],
)
def test_intensities_of_figure_7(exceedance: float, height_ft: int, sigma_ft_s: float) -> None:
    sigma = intensities_m_s(exceedance)[HEIGHTS_FT.index(height_ft)]
    assert sigma == pytest.approx(sigma_ft_s * FT_M, rel=1e-12)


def test_between_curves_of_figure_7_the_intensity_is_linear_in_the_logarithm() -> None:
    low, middle, high = (np.array(intensities_m_s(p)) for p in (1e-4, 10**-3.5, 1e-3))
    assert middle == pytest.approx((low + high) / 2)


def test_between_heights_of_figure_7_the_intensity_is_linear() -> None:
    evaluator = made(Turbulence(altitude="medium", exceedance=1e-3))
    height, symbols = ca.SX.sym("height"), ca.SX.sym("setting", SETTINGS)
    sigma = ca.Function("sigma", [height, symbols], [scales_over_height("dryden", height, symbols)[3]])
    at = {h: float(sigma(h * FT_M, evaluator.inputs[2])) / FT_M for h in (100, 500, 2750, 15000, 90000)}
    assert at == pytest.approx({100: 8.6, 500: 8.6, 2750: (9.6 + 10.6) / 2, 15000: 8.0, 90000: 0.0}, abs=1e-9)


SPEED_M_S, SPAN_M, SIGMA_M_S = 20.0, 3.0, 2.0
MEDIUM = {"altitude": "medium", "sigma_m_s": SIGMA_M_S}


def samples(
    model: Model, steps: int, dt_s: float, *, seed: int = 1, heading_rad: float = 0.0, span_m: float = SPAN_M
) -> Array:
    """u, v, w, then p, q, r in axes forward, left, up of an aircraft with that heading; at medium altitude."""
    config = msgspec.convert({"model": model, "rates": True, **MEDIUM}, Turbulence)
    air = SpectralTurbulence(config, np.random.default_rng(seed), compiled_once, span_m)
    cos, sin = math.cos(heading_rad), math.sin(heading_rad)
    relative_W = (SPEED_M_S * cos, SPEED_M_S * sin, 0.0)
    rows = np.array([(*air.step(dt_s, 1000.0, relative_W), *air.rate_W) for _ in range(steps)]).T
    turn = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return np.concatenate([turn @ rows[:3], turn @ rows[3:]])


def compiled_once(function: ca.Function) -> Evaluator:
    return Evaluator(function)


def spectrum(model: Model, component: int, w: Array, length_m: float) -> Array:
    """One-sided over the spatial frequency W in rad/m; p, q and r as MIL-F-8785C states them."""
    own = "dryden" if model == "dryden" else "karman"
    along, across = (SIGMA_M_S**2 * length_m * density(f"{own} {axis}", length_m * w) for axis in "uv")
    if component < 3:
        return np.asarray(across if component else along)
    wing = {3: 4, 4: 4, 5: 3}[component] * SPAN_M / math.pi
    lag = 1 / (1 + (wing * w) ** 2)
    if component == 3:
        return np.asarray(SIGMA_M_S**2 / length_m * 0.8 * (math.pi * length_m / (4 * SPAN_M)) ** (1 / 3) * lag)
    return np.asarray(w * w * lag * across)


@pytest.mark.parametrize(("model", "length_ft"), [("dryden", 1750.0), ("von_karman", 2500.0)])
def test_spectra_and_variances_are_those_of_the_specification(model: Model, length_ft: float) -> None:
    """In bands of frequency; and the variance of p, whose correlation is the shortest, over all frequencies."""
    dt_s, length_m = 0.05, length_ft * FT_M
    flown = samples(model, 200_000, dt_s)
    frequency, power = signal.welch(flown, fs=1.0 / dt_s, nperseg=4096)
    w = 2.0 * math.pi * frequency / SPEED_M_S
    for component in range(6):
        expected = 2.0 * math.pi / SPEED_M_S * spectrum(model, component, w, length_m)
        for low_Hz, high_Hz in itertools.pairwise((0.02, 0.06, 0.2, 0.6, 1.2)):
            band = (frequency >= low_Hz) & (frequency < high_Hz)
            assert power[component, band].mean() / expected[band].mean() == pytest.approx(1.0, abs=0.15)
    of_wing_m = 4 * SPAN_M / math.pi
    p_variance = SIGMA_M_S**2 * 0.4 * math.pi / (length_m * of_wing_m) * (length_m / of_wing_m) ** (1 / 3)
    assert flown[3].var() == pytest.approx(p_variance, rel=0.03)


@pytest.mark.parametrize("model", MODELS)
def test_variances_do_not_depend_on_the_step(model: Model) -> None:
    """Of steps that are long against all correlations; the first of them is no exception."""
    short, long = (samples(model, 4000, dt_s, seed=3) for dt_s in (400.0, 4000.0))
    assert short.var(axis=1) == pytest.approx(long.var(axis=1), rel=0.15)
    config = msgspec.convert({"model": model, "rates": True, **MEDIUM}, Turbulence)
    shared = Evaluator(step_function(model, rates=True))
    rng = np.random.default_rng(7)

    class Fresh:
        """Draws one block for each turbulence, of which the first step uses the beginning."""

        def standard_normal(self, size: int) -> Array:
            return np.concatenate([rng.standard_normal(20), np.zeros(size - 20)])

    firsts = []
    for _ in range(4000):
        shared.outputs[0][:] = 0.0
        air = SpectralTurbulence(config, Fresh(), lambda _: shared, SPAN_M)
        firsts.append((*air.step(0.0, 1000.0, (SPEED_M_S, 0.0, 0.0)), *air.rate_W))
    assert np.array(firsts).var(axis=0) == pytest.approx(long.var(axis=1), rel=0.15)


@pytest.mark.parametrize("heading_deg", [0.0, 70.0, 200.0])
def test_rates_are_the_gradients_of_the_gusts(heading_deg: float) -> None:
    """A wing much smaller than the gusts: q = -w'/V and r = v'/V, in axes forward, left, up."""
    dt_s = 0.001
    flown = samples("von_karman", 20_000, dt_s, heading_rad=math.radians(heading_deg), span_m=0.1)
    turned = np.cumsum(flown[3:], axis=1) * dt_s * SPEED_M_S
    assert np.corrcoef(turned[1], -flown[2])[0, 1] > 0.99
    assert np.corrcoef(turned[2], flown[1])[0, 1] > 0.99
    assert np.ptp(turned[1:], axis=1) == pytest.approx(np.ptp(flown[2:0:-1], axis=1), rel=0.1)


def test_a_turn_of_the_wing_does_not_turn_the_rates_over() -> None:
    """Fore and aft are the same to the axis of the turbulence; r keeps its sign with the wing's side."""
    config = msgspec.convert({"rates": True, **MEDIUM}, Turbulence)
    ahead, back = (SpectralTurbulence(config, np.random.default_rng(5), Evaluator, SPAN_M) for _ in range(2))
    for k in range(50):
        ahead.step(0.1, 1000.0, (20.0, 1.0, 0.0))
        back.step(0.1, 1000.0, (-20.0, -1.0, 0.0) if k % 2 else (20.0, 1.0, 0.0))
        assert back.rate_W == pytest.approx([-rate if k % 2 else rate for rate in ahead.rate_W], abs=1e-12)


def flown(turbulence: Turbulence, steps: int = 600, dt_ns: int = 10_000_000) -> Array:
    wind = Wind(WindConfig(turbulence=turbulence), np.random.default_rng(4), Evaluator, SPAN_M)
    made = [(*wind.step(k * dt_ns, min(k, 1) * dt_ns, 50.0, (20.0, 0.0, 0.0)), *wind.rate_W) for k in range(steps)]
    return np.array(made)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rates", [False, True])
def test_turbulence_fades_in_and_is_then_what_it_was(model: Model, *, rates: bool) -> None:
    whole, faded = (
        flown(Turbulence(w20_m_s=15.4, model=model, rates=rates, fade_in_s=fade_in_s)) for fade_in_s in (0.0, 4.0)
    )
    t_s = np.minimum(0.01 * np.arange(len(whole)), 4.0)
    part = 0.5 * (1 - np.cos(math.pi * t_s / 4.0))
    assert np.allclose(faded, part[:, None] * whole, rtol=1e-9, atol=1e-12)
    assert (faded[401:] == whole[401:]).all() and (faded[0] == 0.0).all() and np.abs(whole[0, :3]).max() > 0.5
    assert whole[:, 3:].any() == rates


def test_a_step_without_length_does_not_move_the_air() -> None:
    air = SpectralTurbulence(Turbulence(w20_m_s=10.0, model="von_karman"), np.random.default_rng(1), Evaluator)
    first = air.step(0.0, 20.0, (20.0, 0.0, 0.0))
    assert air.step(0.0, 20.0, (20.0, 0.0, 0.0)) == first
    assert air.step(1e-9, 20.0, (20.0, 0.0, 0.0)) == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"altitude": "auto"}, "expected sigma_m_s or exceedance with altitude = auto"),
        ({"sigma_m_s": 1.0}, "neither with low"),
        ({"altitude": "medium", "sigma_m_s": 1.0, "exceedance": 1e-3}, "medium altitude has one intensity"),
        ({"altitude": "medium", "exceedance": 1e-7}, "exceedance: expected 0, or 1e-6 to 0.2"),
        ({"model": "kaimal"}, "Invalid enum value 'kaimal'"),
        ({"fade_in_s": -1.0}, ">= 0"),
    ],
)
def test_bad_configuration_is_refused(table: dict[str, object], told: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=told):
        msgspec.convert(table, Turbulence)


def test_the_wind_of_medium_altitude_needs_no_wind_near_the_ground() -> None:
    config = Turbulence(altitude="medium", sigma_m_s=2.0)
    gusts: list[Vec3] = [
        Wind(WindConfig(turbulence=config), np.random.default_rng(seed), Evaluator).step(0, 0, 3000.0, (20.0, 0.0, 0.0))
        for seed in range(3)
    ]
    assert len(set(gusts)) == 3
