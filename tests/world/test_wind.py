"""Wind against MIL-F-8785C: scales, spectra, correlations and gusts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import casadi as ca
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import signal

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.world import dryden
from aeroloop.world.dryden import FT_M, Dryden, Turbulence
from aeroloop.world.wind import Gust, TableRow, Wind, WindConfig

STILL = (0.0, 0.0, 0.0)
W20_M_S = 10.0
HEIGHT_M = 10.0
SPEED_M_S = 20.0


def numbers(expressions: Callable[..., tuple[ca.SX, ...]], count: int) -> Callable[..., tuple[float, ...]]:
    """Expressions of so many symbols, as a function of numbers."""
    x = ca.SX.sym("x", count)
    function = ca.Function("numbers", [x], [ca.vertcat(*expressions(*(x[i] for i in range(count))))])
    return lambda *values: tuple(function(values).full().ravel().tolist())


scales, exact_step = numbers(dryden.scales, 2), numbers(dryden.exact_step, 1)


def turbulence(
    steps: int, dt_s: float, *, seed: int = 1, relative_W: Vec3 = (SPEED_M_S, 0.0, 0.0)
) -> NDArray[np.float64]:
    """Along, across and up, each over its intensity."""
    air = Dryden(Turbulence(w20_m_s=W20_M_S), np.random.default_rng(seed), Evaluator)
    _, _, sigma_uv, sigma_w = scales(HEIGHT_M, W20_M_S)
    wind = np.array([air.step(dt_s, HEIGHT_M, relative_W) for _ in range(steps)])
    along = np.array(relative_W) / math.hypot(*relative_W)
    across = np.array([-along[1], along[0], 0.0])
    return np.array([wind @ along / sigma_uv, wind @ across / sigma_uv, wind[:, 2] / sigma_w])


def correlation(component: int, theta: float) -> float:
    """Dryden's: e^-theta along the wind, (1 - theta/2) e^-theta across it, with theta = V t / L."""
    return math.exp(-theta) * (1.0 if component == 0 else 1.0 - theta / 2)


def thetas(dt_s: float) -> tuple[float, float, float]:
    length_uv, length_w, _, _ = scales(HEIGHT_M, W20_M_S)
    return (SPEED_M_S * dt_s / length_uv,) * 2 + (SPEED_M_S * dt_s / length_w,)


@pytest.mark.parametrize(
    ("height_ft", "length_uv_ft", "sigma_uv_over_w"),
    [(20.0, 143.589, 1.92914), (100.0, 505.169, 1.71585), (1000.0, 1000.0, 1.0), (5000.0, 1000.0, 1.0)],
)
def test_scales_follow_the_specification(height_ft: float, length_uv_ft: float, sigma_uv_over_w: float) -> None:
    """From h/(0.177 + 0.000823 h)^1.2 and (0.177 + 0.000823 h)^-0.4, worked out by hand; held above 1000 ft."""
    length_uv, length_w, sigma_uv, sigma_w = scales(height_ft * FT_M, W20_M_S)
    assert length_uv == pytest.approx(length_uv_ft * FT_M, rel=1e-5)
    assert length_w == pytest.approx(min(height_ft, 1000.0) * FT_M)
    assert sigma_w == pytest.approx(0.1 * W20_M_S)
    assert sigma_uv == pytest.approx(sigma_uv_over_w * sigma_w, rel=1e-5)


def test_scales_are_held_below_ten_feet() -> None:
    assert scales(-5.0, W20_M_S) == scales(0.0, W20_M_S) == scales(10 * FT_M, W20_M_S)


def transition(theta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    decay, l11, l21, l22 = exact_step(theta)
    factor = np.array([[l11, 0.0], [l21, l22]])
    return decay * np.array([[1.0, 0.0], [theta, 1.0]]), factor @ factor.T


@given(st.floats(1e-6, 5.0), st.floats(1e-6, 5.0))
def test_two_steps_are_as_good_as_one(first: float, second: float) -> None:
    """What makes the statistics independent of the step, for short and long ones and their mixtures."""
    phi_1, noise_1 = transition(first)
    phi_2, noise_2 = transition(second)
    phi, noise = transition(first + second)
    assert np.allclose(phi_2 @ phi_1, phi, rtol=1e-12, atol=1e-15)
    assert np.allclose(phi_2 @ noise_1 @ phi_2.T + noise_2, noise, rtol=1e-6, atol=1e-24)


@given(st.floats(0.0, 20.0))
def test_stationary_variance_is_kept(theta: float) -> None:
    stationary = np.array([[0.5, 0.25], [0.25, 0.25]])
    phi, noise = transition(theta)
    assert np.allclose(phi @ stationary @ phi.T + noise, stationary, rtol=0, atol=1e-12)


@pytest.mark.parametrize("theta", [1e-6, 1e-4])
def test_a_short_step_has_its_small_noise(theta: float) -> None:
    _, l11, l21, l22 = exact_step(theta)
    assert (l11, l21, l22) == pytest.approx(
        (math.sqrt(theta), theta**1.5 / 2, theta**1.5 / math.sqrt(12)), rel=3 * theta + 1e-9
    )


@pytest.mark.parametrize("dt_s", [0.5, 2.0])
def test_intensity_and_correlation_are_drydens(dt_s: float) -> None:
    samples = turbulence(60_000, dt_s)
    assert np.allclose(samples.mean(axis=1), 0.0, atol=0.06)
    assert np.allclose(samples.var(axis=1), 1.0, atol=0.06)
    for component, steps in itertools.product(range(3), (1, 4)):
        measured = float(np.mean(samples[component, steps:] * samples[component, :-steps]))
        assert measured == pytest.approx(correlation(component, steps * thetas(dt_s)[component]), abs=0.06)
    assert np.allclose(np.corrcoef(samples), np.eye(3), atol=0.06)


def test_it_does_not_have_to_warm_up() -> None:
    firsts = np.array([turbulence(1, 0.0, seed=seed)[:, 0] for seed in range(4000)])
    assert np.allclose(firsts.var(axis=0), 1.0, atol=0.1)
    assert np.allclose(np.corrcoef(firsts.T), np.eye(3), atol=0.08)


def test_a_short_step_changes_it_by_what_the_correlation_allows() -> None:
    dt_s = 0.002
    samples = turbulence(30_000, dt_s)
    for component in range(3):
        expected = 2.0 * (1.0 - correlation(component, thetas(dt_s)[component]))
        assert np.diff(samples[component]).var() == pytest.approx(expected, rel=0.05)


def test_spectra_are_those_of_the_specification() -> None:
    """One-sided over omega: 2T/pi / (1 + (T w)^2) along, T/pi (1 + 3 (T w)^2) / (1 + (T w)^2)^2 across."""
    dt_s = 0.05
    samples = turbulence(120_000, dt_s)
    frequency, density = signal.welch(samples, fs=1.0 / dt_s, nperseg=2048)
    for component, theta in enumerate(thetas(dt_s)):
        time_s = dt_s / theta
        w = time_s * 2.0 * math.pi * frequency
        spectrum = 2.0 * time_s / math.pi / (1 + w**2)
        if component:
            spectrum = time_s / math.pi * (1 + 3 * w**2) / (1 + w**2) ** 2
        for low_Hz, high_Hz in itertools.pairwise((0.03, 0.1, 0.3, 1.0)):
            band = (frequency >= low_Hz) & (frequency < high_Hz)
            ratio = density[component, band].mean() / (2.0 * math.pi * spectrum[band].mean())
            assert ratio == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("heading_deg", [0.0, 40.0, 150.0, 270.0])
def test_its_long_axis_lies_along_the_relative_wind(heading_deg: float) -> None:
    """Over a short step the variance grows by 2 theta along the wind and by 3 theta across it."""
    heading = math.radians(heading_deg)
    relative_W = (SPEED_M_S * math.cos(heading), SPEED_M_S * math.sin(heading), 0.0)
    along, across, _ = np.diff(turbulence(20_000, 0.002, relative_W=relative_W)).var(axis=1)
    assert across / along == pytest.approx(1.5, rel=0.06)


def test_a_hovering_aircraft_has_the_mean_wind_as_its_axis() -> None:
    wind = Wind(
        WindConfig(steady_W=(0.0, 15.0, 0.0), turbulence=Turbulence(w20_m_s=W20_M_S)),
        np.random.default_rng(3),
        Evaluator,
    )
    samples = np.array([wind.step(0, 2_000_000, HEIGHT_M, STILL) for _ in range(20_000)])
    east, north, _ = np.diff(samples, axis=0).var(axis=0)
    assert east / north == pytest.approx(1.5, rel=0.06)


@pytest.mark.parametrize("turn_deg", [90.0, 170.0, 180.0])
def test_an_aircraft_that_turns_round_does_not_turn_the_air(turn_deg: float) -> None:
    air = Dryden(Turbulence(w20_m_s=W20_M_S), np.random.default_rng(5), Evaluator)
    turn = math.radians(turn_deg)
    for _ in range(200):
        before = air.step(0.002, HEIGHT_M, (SPEED_M_S, 0.0, 0.0))
    after = air.step(0.002, HEIGHT_M, (SPEED_M_S * math.cos(turn), SPEED_M_S * math.sin(turn), 0.0))
    assert math.dist(before, after) < 0.3
    assert math.hypot(*before) > 1.0  # otherwise there would be nothing to turn


@pytest.mark.parametrize("dt_s", [0.002, 30.0])
def test_fore_and_aft_are_the_same_to_it(dt_s: float) -> None:
    straight, to_and_fro = (Dryden(Turbulence(w20_m_s=W20_M_S), np.random.default_rng(5), Evaluator) for _ in range(2))
    for k in range(50):
        one = straight.step(dt_s, HEIGHT_M, (3.0, 4.0, 0.0))
        other = to_and_fro.step(dt_s, HEIGHT_M, (-3.0, -4.0, 0.0) if k % 2 else (3.0, 4.0, 0.0))
        assert one == pytest.approx(other, abs=1e-12)


def test_its_axis_comes_round_in_the_end() -> None:
    air = Dryden(Turbulence(w20_m_s=W20_M_S), np.random.default_rng(5), Evaluator)
    air.step(0.002, HEIGHT_M, (SPEED_M_S, 0.0, 0.0))
    for _ in range(1000):
        air.step(0.1, HEIGHT_M, (0.0, SPEED_M_S, 0.0))
    samples = np.array([air.step(0.002, HEIGHT_M, (0.0, SPEED_M_S, 0.0)) for _ in range(20_000)])
    east, north, _ = np.diff(samples, axis=0).var(axis=0)
    assert east / north == pytest.approx(1.5, rel=0.06)


def fly(config: WindConfig, seed: int, steps: int = 700, dt_ns: int = 4_000_000) -> list[Vec3]:
    wind = Wind(config, np.random.default_rng(seed), Evaluator)
    return [wind.step(k * dt_ns, dt_ns, HEIGHT_M, (8.0, 0.0, 0.0)) for k in range(steps)]


def test_one_seed_one_wind() -> None:
    config = WindConfig(turbulence=Turbulence(w20_m_s=W20_M_S))
    assert fly(config, 7) == fly(config, 7)
    assert fly(config, 7) != fly(config, 8)


def test_each_step_takes_the_same_draws_whatever_the_conditions() -> None:
    """Also without time or speed; so wind of one flight can be compared with that of another, draw by draw."""
    config = WindConfig(turbulence=Turbulence(w20_m_s=W20_M_S))
    calm, wild = (Wind(config, np.random.default_rng(2), Evaluator) for _ in range(2))
    for _ in range(300):
        calm.step(0, 0, 0.0, STILL)
        wild.step(0, 10**7, 200.0, (30.0, 5.0, 1.0))
    # After hours the past is forgotten, and only the draws from here on count.
    long_ns = 10_000 * NS
    assert calm.step(0, long_ns, 10.0, (9.0, 0.0, 0.0))[2] == wild.step(0, long_ns, 10.0, (9.0, 0.0, 0.0))[2]


def test_a_gust_leaves_the_turbulence_as_it_was() -> None:
    rough = Turbulence(w20_m_s=W20_M_S)
    gust = Gust(start_s=0.5, amplitude_W=(0.0, 3.0, -1.0), rise_s=1.0)
    alone = np.array(fly(WindConfig(turbulence=rough), 4))
    gusty = np.array(fly(WindConfig(turbulence=rough, gusts=(gust,)), 4))
    assert np.allclose(gusty - alone, fly(WindConfig(gusts=(gust,)), 4), rtol=0, atol=1e-12)


def at(wind: Wind, t_s: float) -> Vec3:
    return wind.step(round(t_s * NS), 0, HEIGHT_M, STILL)


@pytest.mark.parametrize(
    ("shape", "t_s", "part"),
    [
        ("pulse", 9.9, 0.0),
        ("pulse", 11.0, 0.5 * (1 - math.cos(math.pi / 4))),
        ("pulse", 12.0, 0.5),
        ("pulse", 14.0, 1.0),
        ("pulse", 16.0, 0.5),
        ("pulse", 18.0, 0.0),
        ("pulse", 20.0, 0.0),
        ("pulse", 900.0, 0.0),
        ("ramp", 12.0, 0.5),
        ("ramp", 14.0, 1.0),
        ("ramp", 16.0, 1.0),
        ("ramp", 900.0, 1.0),
    ],
)
def test_gust_is_a_one_minus_cosine(shape: str, t_s: float, part: float) -> None:
    gust = msgspec.convert({"start_s": 10.0, "amplitude_W": (4.0, -2.0, 1.0), "rise_s": 4.0, "shape": shape}, Gust)
    wind = Wind(WindConfig(gusts=(gust,)), np.random.default_rng(0), Evaluator)
    assert at(wind, t_s) == pytest.approx((4.0 * part, -2.0 * part, 1.0 * part), abs=1e-12)


@pytest.mark.parametrize("dt_ns", [4_000_000, 300_000_000])
def test_a_gust_by_length_comes_as_fast_as_one_flies(dt_ns: int) -> None:
    """50 m at 8 m/s against a steady 2 m/s head wind: 5 s; also when the steps do not meet its start."""
    steady_W, amplitude_W = (-2.0, 0.0, 0.0), (0.0, 3.0, 0.0)
    by_length, by_time = (
        fly(WindConfig(steady_W=steady_W, gusts=(gust,)), 0, 100, dt_ns)
        for gust in (
            Gust(start_s=1.0, amplitude_W=amplitude_W, rise_m=50.0),
            Gust(start_s=1.0, amplitude_W=amplitude_W, rise_s=5.0),
        )
    )
    assert np.allclose(by_length, by_time, rtol=0, atol=1e-9)


def test_table_is_interpolated_and_held_at_its_ends() -> None:
    rows = (TableRow(t_s=1.0, wind_W=(1.0, 0.0, 0.0)), TableRow(t_s=3.0, wind_W=(2.0, 4.0, -1.0)))
    wind = Wind(WindConfig(table=rows), np.random.default_rng(0), Evaluator)
    assert [at(wind, t) for t in (0.0, 1.0, 1.5, 3.0, 9.0)] == [
        (1.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        (1.25, 1.0, -0.25),
        (2.0, 4.0, -1.0),
        (2.0, 4.0, -1.0),
    ]


def test_parts_add_up() -> None:
    config = WindConfig(
        steady_W=(1.0, 2.0, 3.0),
        table=(TableRow(t_s=0.0, wind_W=(10.0, 20.0, 30.0)),),
        gusts=(
            Gust(start_s=0.0, amplitude_W=(100.0, 200.0, 300.0), rise_s=1.0, shape="ramp"),
            Gust(start_s=0.0, amplitude_W=(1000.0, 2000.0, 3000.0), rise_s=1.0, shape="ramp"),
        ),
    )
    assert at(Wind(config, np.random.default_rng(0), Evaluator), 5.0) == (1111.0, 2222.0, 3333.0)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"gusts": [{"start_s": 2.0, "amplitude_W": STILL}]}, "gust at 2.0 s: expected either rise_s or rise_m"),
        ({"gusts": [{"start_s": 2.0, "amplitude_W": STILL, "rise_s": 1, "rise_m": 1}]}, "either rise_s or rise_m"),
        ({"table": [{"t_s": 2.0, "wind_W": STILL}, {"t_s": 2.0, "wind_W": STILL}]}, "expected times that increase"),
        ({"turbulence": {"w20_m_s": -1.0}}, ">= 0"),
        ({"breeze": 1}, "unknown field `breeze`"),
    ],
)
def test_bad_configuration_is_refused(table: dict[str, object], told: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=told):
        msgspec.convert(table, WindConfig)


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="step of -1 ns"):
        Wind(WindConfig(), np.random.default_rng(0), Evaluator).step(0, -1, HEIGHT_M, STILL)
