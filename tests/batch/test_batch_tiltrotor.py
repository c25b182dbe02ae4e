"""The tilt-rotor's batch: the flight of the bench, in single precision, whatever the lanes and threads."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from batch_code import check_vectorised, needs_objdump

from aeroloop.api.flying import verified
from aeroloop.api.scenarios import ScenarioPlan, named
from aeroloop.batch import flights
from aeroloop.batch.engine import Engine
from aeroloop.campaign.worker import flown as flown_of
from aeroloop.codegen.host import c_source
from aeroloop.core.errors import ConfigError
from aeroloop.families.tiltrotor import batch as tiltrotor
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.models import tiltrotor as model

GUARD_S = 240
SHORT_CYCLES = 250
NOISE = ("sensors.pos_std_m=0.003", "sensors.vel_std_m_s=0.005", "sensors.angle_std_rad=0.001")
OTHERS = {
    "vehicle_scale_mass": 1.02,
    "vehicle_scale_inertia": 0.9,
    "vehicle_scale_thrust_left": 0.99,
    "link_to_plant_delay_s": 0.0055,
    "world_start_offset_W_0": 0.02,
}
OTHERS_ON_BENCH = (
    "vehicle.scale.mass=1.02",
    "vehicle.scale.inertia=0.9",
    "vehicle.scale.thrust_left=0.99",
    "link.to_plant.delay_s=0.0055",
    "world.start_offset_W=[0.02, 0.0, 0.0]",
)
SEED, FLIGHT = 5, 98_296


@pytest.fixture(scope="module")
def plan() -> flights.Plan:
    return flights.plan("tiltrotor-spiral")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lanes")


@pytest.fixture(scope="module")
def engine(plan: flights.Plan, cache: Path) -> Engine:
    return Engine(plan.loop, cache=cache)


def rows(count: int, **changes: Any) -> np.ndarray:
    """Parameters of some flights; a change names a key with its dots as underscores."""
    names = tiltrotor.PARAMETERS
    table = np.tile([float(name.startswith("vehicle.scale")) for name in names], (count, 1))
    for key, column in changes.items():
        index = next(i for i, name in enumerate(names) if name.replace(".", "_").replace("[", "_").rstrip("]") == key)
        table[:, index] = column
    return table


def on_bench(*changes: str) -> ScenarioPlan:
    """The same flight there."""
    source = ('noise.generator="philox"', f"noise.flight={FLIGHT}", f"seed={SEED}", 'loop="mil"')
    return named("tiltrotor-spiral").changed((*changes, *source))


def scattered(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rows(
        count,
        vehicle_scale_mass=rng.uniform(0.9, 1.1, count),
        vehicle_scale_inertia=rng.uniform(0.8, 1.2, count),
        vehicle_scale_thrust_right=rng.uniform(0.95, 1.0, count),
        link_to_plant_delay_s=rng.uniform(0, 0.008, count),
        world_start_offset_W_1=rng.uniform(-0.3, 0.3, count),
    )


def test_the_spiral_of_the_bench(plan: flights.Plan, engine: Engine, tmp_path: Path) -> None:
    command = ["fly", "tiltrotor-spiral", "--loop", "mil", "--no-report", "--json", "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", *command], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    bench = json.loads((tmp_path / "run" / "summary.json").read_text())["metrics"]
    flown = engine.fly(rows(1), plan.table, np.zeros(1))
    batch = {name: float(values[0]) for name, values in flown.metrics.items()}
    near = {"m": 2e-5, "deg": 1e-3, "steps": 0, "diverged": 0}
    shared = [name for name in batch if name in bench and name != "flown_s"]
    assert len(shared) >= 9
    for name in shared:
        assert batch[name] == pytest.approx(bench[name], abs=near[name.rsplit("_", 1)[-1]]), name


def test_a_flight_is_flown_again_on_the_bench_with_its_own_noise() -> None:
    """Delay within a plant step, other masses and thrusts, an offset, and noise: 20 s within 0.05 mm and 0.001 deg."""
    plan = flights.plan("tiltrotor-spiral", (*NOISE, "duration_s=20.04"))
    made = Engine(plan.loop).fly(rows(1, **OTHERS), plan.table, np.array([SEED]), flights=np.array([FLIGHT])).metrics
    bench = flown_of(verified(on_bench("duration_s=20.04", *NOISE, *OTHERS_ON_BENCH)))[0]["metrics"]
    for name in ("pos_x_rms_m", "pos_y_rms_m", "pos_z_rms_m", "pos_max_m"):
        assert float(made[name][0]) == pytest.approx(bench[name], abs=5e-5), name
    for name in ("roll_max_deg", "pitch_max_deg", "yaw_max_deg"):
        assert float(made[name][0]) == pytest.approx(bench[name], abs=1e-3), name
    assert made["flown_s"][0] == pytest.approx(bench["flown_s"], abs=0.01)


@pytest.mark.parametrize(
    ("changes", "settings"),
    [({}, ()), pytest.param(OTHERS, (*NOISE, *OTHERS_ON_BENCH), marks=pytest.mark.soak)],  # metrics of both: above
    ids=["scenario", "changed"],
)
def test_positions_and_attitudes_of_the_bench(
    changes: dict[str, float], settings: tuple[str, ...], plan: flights.Plan, tmp_path: Path
) -> None:
    """20 s: within 1 mm and 0.1 deg at any time; seen 0.059 mm and 0.0008 deg."""
    own = flights.plan("tiltrotor-spiral", NOISE) if changes else plan
    state = ca.SX.sym("state", own.loop.state_count)
    finish = ca.Function("finish", [state], [state[:6]], ["state"], ["metrics"])  # the state begins with the motion
    probe = Engine(dataclasses.replace(own.loop, finish=finish, metrics=tuple("xyzabc")), cache=tmp_path)
    _, log = flown_of(verified(on_bench("duration_s=20.04", *settings)))
    truth, names = log.rows["truth"], ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")
    wanted = [log.columns["truth"].index(name) for name in names]
    period_s = own.loop.steps_per_cycle * truth[1, 0]
    for cycle in range(1, round(20.0 / period_s) + 1, 40):
        table = own.table[: cycle + 1]
        made = probe.fly(rows(1, **changes), table, np.array([SEED]), flights=np.array([FLIGHT])).metrics
        t_s = changes.get("link_to_plant_delay_s", 0.0) + cycle * period_s  # a cycle ends when sensors are read
        bench = [np.interp(t_s, truth[:, 0], truth[:, column]) for column in wanted]
        off = np.array([float(value[0]) for value in made.values()]) - bench
        assert np.linalg.norm(off[:3]) < 1e-3, t_s
        assert np.degrees(np.abs(off[3:]).max()) < 0.1, t_s


def test_lanes_and_threads_do_not_change_a_bit(plan: flights.Plan, engine: Engine, tmp_path: Path) -> None:
    own, table, seeds = scattered(37), plan.table[:SHORT_CYCLES], np.zeros(37)
    expected = engine.fly(own, table, seeds, threads=1)
    others = [engine.fly(own, table, seeds, threads=2)]
    others += [Engine(plan.loop, lanes=lanes, cache=tmp_path).fly(own, table, seeds) for lanes in (1, 8)]
    for other in others:
        for name, values in expected.metrics.items():
            assert other.metrics[name].tobytes() == values.tobytes(), name
    assert len(set(expected.metrics["pos_y_rms_m"].tolist())) == 37


def test_single_precision_is_near_double(plan: flights.Plan, engine: Engine, tmp_path: Path) -> None:
    own, table, seeds = scattered(16), plan.table[:SHORT_CYCLES], np.zeros(16)
    single = engine.fly(own, table, seeds).metrics
    double = Engine(plan.loop, "double", cache=tmp_path).fly(own, table, seeds).metrics
    for axis in "xyz":
        assert np.max(np.abs(single[f"pos_{axis}_rms_m"] - double[f"pos_{axis}_rms_m"])) < 5e-5
    assert np.max(np.abs(single["yaw_max_deg"] - double["yaw_max_deg"])) < 5e-3


def test_delay_beyond_the_margin_loses_the_aircraft(plan: flights.Plan, engine: Engine) -> None:
    """The design's margin is 9 ms."""
    delays_s = [0, 0.004, 0.0085, 0.0105, 0.012]
    flown = engine.fly(rows(5, link_to_plant_delay_s=delays_s), plan.table, np.zeros(5)).metrics
    assert flown["diverged"].tolist() == [0, 0, 0, 1, 1]
    assert np.isfinite(flown["pos_max_m"]).all()
    assert flown["flown_s"][4] < flown["flown_s"][3] < 60
    assert flown["pitch_max_deg"][2] < flown["pitch_max_deg"][3]


def test_parameters_act(plan: flights.Plan, engine: Engine) -> None:
    table, seeds = plan.table[:SHORT_CYCLES], np.zeros(2)

    def pair(name: str, **changes: Any) -> tuple[float, float]:
        before, after = engine.fly(rows(2, **changes), table, seeds).metrics[name].tolist()
        return before, after

    light, heavy = pair("pos_z_rms_m", vehicle_scale_mass=[1.0, 1.1])
    assert heavy > 2 * light
    even, weak = pair("yaw_max_deg", vehicle_scale_thrust_right=[1.0, 0.92])
    assert weak > even + 0.5
    near, far = pair("pos_max_m", world_start_offset_W_0=[0.0, 0.5])
    assert far >= 0.5 > near
    agile, sluggish = pair("roll_max_deg", vehicle_scale_inertia=[1.0, 2.0])
    assert agile != sluggish


def test_noise_depends_on_flight_and_seed_alone(tmp_path: Path) -> None:
    plan = flights.plan("tiltrotor-spiral", ("sensors.pos_std_m=0.01", "sensors.vel_std_m_s=0.02"))
    engine = Engine(plan.loop, cache=tmp_path)
    table = plan.table[:100]
    many = engine.fly(rows(20), table, np.full(20, 7)).metrics["pos_x_rms_m"]
    assert len(set(many.tolist())) == 20
    some = engine.fly(rows(2), table, np.full(2, 7), flights=np.array([13, 4])).metrics["pos_x_rms_m"]
    assert some.tolist() == many[[13, 4]].tolist()
    other = engine.fly(rows(20), table, np.full(20, 8)).metrics["pos_x_rms_m"]
    assert not np.any(other == many)


def test_symbols_leave_the_equations_of_numbers_as_they_were() -> None:
    """Hashes of the generated C before parameters could be symbols."""
    p = parameters("cad")
    made = (*model.equations(p), model.dynamics(p), model.dynamics_in_air(p))
    assert [hashlib.sha256(c_source(function).encode()).hexdigest()[:16] for function in made] == [
        "3b52ee7a76b93a14",
        "fae67821f7435a62",
        "4522f2ffc88c4b5c",
        "5bc78b331bef2485",
        "bf835d8c52f0bbba",
    ]


@pytest.mark.parametrize(
    "setting",
    [
        "link.to_board.delay_s=0.001",
        "link.to_plant.loss=0.1",
        'faults=[{target="state", kind="silent", from_s=1.0}]',
        "world.wind.steady_W=[3.0,0.0,0.0]",
        "actuators.lag_s=0.05",
        'sensors.fitted=["imu"]',
        "vehicle.count=2",
    ],
)
def test_what_a_batch_cannot_fly_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="batch"):
        flights.plan("tiltrotor-spiral", (setting,))


def test_names_and_shapes_are_checked(plan: flights.Plan, engine: Engine) -> None:
    with pytest.raises(ConfigError, match="no batch flies rrr with controller law, expected one of: tiltrotor"):
        flights.plan("rrr-circle")
    with pytest.raises(ConfigError, match="not a parameter"):
        flights.fly(plan, {"vehicle.scale.span": [1.0]}, [1])
    with pytest.raises(ConfigError, match="each of the 2 flights"):
        flights.fly(plan, {"vehicle.scale.mass": [1.0]}, [1, 2])
    for delay in (0.013, -0.001):
        with pytest.raises(ConfigError, match=r"from 0 to 0\.012"):
            flights.fly(plan, {"link.to_plant.delay_s": [delay]}, [1])
    with pytest.raises(ConfigError, match="finite"):
        flights.fly(plan, {"vehicle.scale.mass": [float("nan")]}, [1])
    with pytest.raises(ConfigError, match="does not compute"):
        flights.check_metrics(plan, ["pos_x_rms_m", "overruns", "wind_max_m_s"])
    with pytest.raises(ConfigError, match="one flight or more"):
        engine.fly(rows(0), plan.table, np.zeros(0))


@needs_objdump
def test_every_function_of_the_loop_is_vectorised(plan: flights.Plan, engine: Engine, cache: Path) -> None:
    check_vectorised(plan.loop, ("control", "limited", "stage", "sample"), cache)
