"""Feet on springs: the closed forms of a mass on springs and dampers, the same for every step of the vehicle.

A drop from h meets the ground with v = sqrt(2 g h). On n feet, with w^2 = n k / m, z = n b / (2 m w) and
w' = w sqrt(1 - z^2), the penetration is

    x(t) = g / w^2 + exp(-z w t) (-(g / w^2) cos w't + (v - z w g / w^2) / w' sin w't)

MuJoCo's soft contact, of airframes without these keys, has 31 to 32 mm and 39 to 46 g from 1 m, at 4 to 1 ms.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec3
from aeroloop.core.signals import Air, Effort, Event, RigidState
from aeroloop.families.helicopter import airframe as helicopters
from aeroloop.families.helicopter import world as helicopter_world
from aeroloop.families.multirotor import airframe, build
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.tiltrotor import airframe as tiltrotors
from aeroloop.families.tiltrotor import build as tiltrotor_build
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.sim.touchdown import LOAD_NS, LoadedTouchDown
from aeroloop.world.multibody import Multibody
from aeroloop.world.rigid import Rigid
from aeroloop.world.terrain import Grid, Incline

IRIS = airframe.load("iris")
MS = 1_000_000
LEVEL = (1.0, 0.0, 0.0, 0.0)
STOPPED = RotorEffort((0.0,) * 4, (0.0,) * 4, False, False)
STILL = Air((0.0, 0.0, 0.0), 101325.0, 288.15, 1.225)
K, B = 4000.0, 20.0


def on_springs(k: float | None = K, b: float | None = B, *, friction: float = 0.8) -> Airframe:
    """The IRIS without drag on longer legs, so that only its feet touch."""
    feet = tuple((x, y, -0.2) for x, y, _ in IRIS.contact.feet_B_m)
    contact = replace(IRIS.contact, feet_B_m=feet, friction=friction, stiffness_N_m=k, damping_Ns_m=b)
    body, rotors = replace(IRIS.body, drag_area_m2=(0.0, 0.0, 0.0)), replace(IRIS.rotors, drag_Ns2_m=0.0)
    return replace(IRIS, body=body, rotors=rotors, contact=contact)


def step(world: Rigid[RotorEffort], step_ns: int = 4 * MS) -> RigidState:
    world.step(STOPPED, STILL, GRAVITY_M_S2, step_ns)
    return world.state(0)


def dropped(a: Airframe, height_m: float, step_ns: int) -> tuple[float, float]:
    """Largest penetration, of the ends of the steps, and load; until the first rebound."""
    world = airframe.world(a, step_ns / 1e9)
    world.reset((0.0, 0.0, a.rest_height_m + height_m), LEVEL)
    deepest = load = 0.0
    while True:
        state = step(world, step_ns)
        assert world.feet is not None
        deepest, load = max(deepest, a.rest_height_m - state.pos_W[2]), max(load, world.feet.load)
        if deepest > 0.0 and state.vel_W[2] > 0.0:
            return deepest, load


def closed_form(k: float, b: float, height_m: float) -> tuple[float, float]:
    """Penetration, and force over weight."""
    m, n, g = IRIS.body.mass_kg, 4, GRAVITY_M_S2
    v, w = math.sqrt(2 * g * height_m), math.sqrt(n * k / m)
    z = n * b / (2 * m * w)
    own = w * math.sqrt(1 - z * z)
    t = np.linspace(0.0, math.pi / own, 100_001)
    sink = g / w**2
    x = sink + np.exp(-z * w * t) * (-sink * np.cos(own * t) + (v - z * w * sink) / own * np.sin(own * t))
    return float(x.max()), float((n * (k * x + b * np.gradient(x, t)) / (m * g)).max())


@pytest.mark.parametrize(("k", "b"), [(4000.0, 0.0), (4000.0, 20.0), (10_000.0, 40.0)])
def test_a_drop_has_the_load_of_a_mass_on_springs_at_every_step(k: float, b: float) -> None:
    depth_m, load = closed_form(k, b, 1.0)
    flown = [dropped(on_springs(k, b), 1.0, step_ms * MS) for step_ms in (4, 2, 1)]
    for deepest, most in flown:
        assert deepest == pytest.approx(depth_m, rel=0.02)
        assert most == pytest.approx(load, rel=0.015)
    loads = [most for _, most in flown]
    assert max(loads) < 1.005 * min(loads)


@pytest.mark.parametrize("name", ["iris-aero", "rfly-e0"])
def test_shipped_aircraft_with_springs_land_alike_at_every_step(name: str) -> None:
    """A drop of 1 m. The body stays clear of the ground. The closed form is that of the IRIS, 1 % lighter than the
    other, without drag; the depths are those at the ends of steps."""
    a = airframe.load(name)
    k, b = a.contact.stiffness_N_m, a.contact.damping_Ns_m
    assert k is not None and b is not None and k >= 10_000.0
    depth_m, load = closed_form(k, b, 1.0)
    flown = [dropped(a, 1.0, step_ms * MS) for step_ms in (4, 2, 1)]
    depths, loads = ([pair[column] for pair in flown] for column in (0, 1))
    assert depths == pytest.approx([depth_m] * 3, rel=0.05) and max(depths) < 0.02
    assert max(depths) < 1.025 * min(depths)
    assert loads == pytest.approx([load] * 3, rel=0.03) and max(loads) < 1.005 * min(loads)


def test_springs_without_damping_gain_no_energy() -> None:
    """Dropped on a corner, without friction: it bounces and tumbles from foot to foot."""
    a = on_springs(K, 0.0, friction=0.0)
    world = Rigid(airframe.build(a, 0.004), airframe.loads(a), airframe.feet.Feet(a.contact.springs, None))  # type: ignore[arg-type]
    world.reset((0.0, 0.0, 0.6), (math.cos(0.1), math.sin(0.1), 0.0, 0.0))
    m, inertia = a.body.mass_kg, np.array(a.body.inertia_kgm2)

    def energy_J(state: RigidState) -> float:
        spin = 0.5 * float(inertia @ np.square(state.rate_B))
        return m * GRAVITY_M_S2 * state.pos_W[2] + 0.5 * m * sum(v * v for v in state.vel_W) + spin

    before, touched, spun = energy_J(world.state(0)), 0, 0.0
    for _ in range(500):
        state = step(world)
        if abs(state.quat_WB[1]) > 0.3:
            break  # the body touches next
        touched += world.touching
        spun = max(spun, abs(state.rate_B[0]))
        if not world.touching:
            assert energy_J(state) == pytest.approx(before, rel=1e-3)
    assert touched > 5 and spun > 1.0


def test_it_stands_without_creeping() -> None:
    a = on_springs()
    world = airframe.world(a, 0.004)
    start = world.state(0)
    assert a.rest_height_m - start.pos_W[2] == pytest.approx(1.5 * GRAVITY_M_S2 / (4 * K), rel=1e-6)
    for _ in range(500):
        state = step(world)
    assert state.pos_W == pytest.approx(start.pos_W, abs=1e-9) and math.hypot(*state.rate_B) < 1e-9
    assert world.feet is not None and world.feet.load == pytest.approx(1.0, abs=1e-9) and world.touching


def test_friction_holds_on_a_slope_and_slides_on_a_steeper_one() -> None:
    """mu = 0.5 is a slope of 26.6 deg."""
    held = airframe.world(on_springs(friction=0.5), 0.004, terrain=Incline(math.tan(math.radians(24)), 0.0))
    start = held.state(0).pos_W
    for _ in range(500):
        state = step(held)
    assert state.pos_W == pytest.approx(start, abs=1e-6)
    angle, mu = math.radians(24), 0.2
    slides = airframe.world(on_springs(friction=0.5), 0.004, terrain=Incline(math.tan(angle), 0.0))
    own = on_springs(friction=mu)
    sliding: Rigid[RotorEffort] = Rigid(
        airframe.build(own, 0.004, Incline(math.tan(angle), 0.0)),
        airframe.loads(own),
        airframe.feet.Feet(own.contact.springs, Incline(math.tan(angle), 0.0)),  # type: ignore[arg-type]
    )
    sliding.resume(slides.motion)
    speeds = [math.hypot(*step(sliding).vel_W) for _ in range(200)]
    wanted = GRAVITY_M_S2 * (math.sin(angle) - mu * math.cos(angle))
    assert (speeds[-1] - speeds[99]) / 0.4 == pytest.approx(wanted, rel=0.02)


def test_it_slides_to_a_stop_on_level_ground() -> None:
    world = airframe.world(on_springs(friction=0.2), 0.004)
    start = world.state(0).pos_W
    world.reset(start, LEVEL, vel_W=(1.0, 0.0, 0.0))
    for _ in range(250):
        state = step(world)
    assert state.pos_W[0] == pytest.approx(1.0 / (2 * 0.2 * GRAVITY_M_S2), rel=0.03)
    assert math.hypot(*state.vel_W) < 1e-3


def test_it_stands_on_the_triangles_of_a_grid_and_keeps_nan_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a note about NaN where it runs
    heights = [[0.02 * j + 0.1 * i for i in range(9)] for j in range(9)]  # one plane
    grid, slope = Grid(heights, spacing_m=1.0, corner_m=(-4.0, -4.0)), Incline(0.1, 0.02)
    on_grid, on_slope = (airframe.world(on_springs(), 0.004, terrain=ground) for ground in (grid, slope))
    x, y, z = on_slope.state(0).pos_W
    assert on_grid.state(0).pos_W == pytest.approx((x, y, z + grid.height_m(0.0, 0.0)), abs=1e-9)
    on_grid.reset((math.nan, 0.0, 0.6), LEVEL)
    assert math.isnan(step(on_grid).pos_W[0])


def test_stiffness_and_mass_shorten_the_parts_of_a_step() -> None:
    springs = on_springs(1e5, 100.0).contact.springs
    assert springs is not None
    part_ns = airframe.feet.longest_part_ns(springs, 1.5, IRIS.body.inertia_kgm2)
    softer = airframe.feet.longest_part_ns(replace_stiffness(springs, 100.0), 1.5, IRIS.body.inertia_kgm2)
    assert part_ns < 0.25 * MS and softer == 0.5 * MS
    low, load = dropped(on_springs(1e5, 100.0), 0.2, 4 * MS)
    depth_m, wanted = closed_form(1e5, 100.0, 0.2)
    assert load == pytest.approx(wanted, rel=0.02) and low < 1.05 * depth_m


def replace_stiffness(springs: Any, k: float) -> Any:
    return type(springs)(k, 0.0, springs.friction, springs.feet_B_m, springs.radius_m)


def test_a_helicopter_has_springs_at_the_ends_of_its_skids() -> None:
    h = helicopters.load("xcell60")
    contact = replace(h.contact, stiffness_N_m=8000.0, damping_Ns_m=60.0)
    sprung = replace(h, contact=contact)

    def loads(effort: None, vel_air_B: Vec3, rate_B: Vec3, density_kg_m3: float) -> tuple[float, ...]:
        return (0.0,) * 6

    most = []
    for step_ms in (4, 1):
        model = helicopter_world.build(sprung, step_ms / 1e3)
        world: Rigid[None] = Rigid(model, loads, helicopter_world.feet(sprung, airframe.Flat()))
        world.reset((0.0, 0.0, contact.skid_below_m + helicopters.SKID_RADIUS_M + 0.1), LEVEL)
        load = 0.0
        for _ in range(2000 // step_ms):
            world.step(None, STILL, GRAVITY_M_S2, step_ms * MS)
            assert world.feet is not None
            load = max(load, world.feet.load)
        sunk_m = contact.skid_below_m + helicopters.SKID_RADIUS_M - world.state(0).pos_W[2]
        assert sunk_m == pytest.approx(h.body.mass_kg * GRAVITY_M_S2 / (4 * 8000.0), rel=1e-3)
        most.append(load)
    assert most[0] == pytest.approx(most[1], rel=0.005) and most[0] > 3.0
    assert helicopter_world.feet(h, airframe.Flat()) is None


def test_a_tiltrotor_has_springs_at_the_ends_of_its_legs() -> None:
    """Its centre of mass is behind their middle, and its pods swing: the loads converge all the same."""
    springs = tiltrotors.springs(K, B)
    assert springs is not None and {abs(x) for x, _, _ in springs.feet_B_m} == {0.18}
    p, idle, most = parameters("cad"), Effort((0.0, 0.0), (0.0, 0.0), False), []
    for step_ms in (4, 1):
        world = Multibody(tiltrotors.build(p, step_ms / 1e3, sprung=True), airframe.feet.Feet(springs, None))
        world.reset((0.0, 0.0, 0.508), LEVEL, (0.0, 0.0))
        load = 0.0
        for _ in range(2500 // step_ms):
            world.step(idle, step_ms * MS)
            assert world.feet is not None
            load = max(load, world.feet.load)
        truth = world.state(0)
        assert world.touching and math.hypot(*truth.vel_W) < 1e-4
        assert 0.208 - truth.pos_W[2] == pytest.approx(p.mass_kg * p.gravity_m_s2 / (4 * K), rel=0.02)
        most.append(load)
    assert most[0] == pytest.approx(most[1], rel=0.005) and most[0] > 10.0


def test_a_tiltrotor_has_them_only_with_its_keys() -> None:
    plain = tiltrotor_build.build_world(spiral())[0]
    legs = "vehicle.legs={stiffness_N_m=4000.0, damping_Ns_m=20.0}"
    sprung = tiltrotor_build.build_world(spiral(legs))[0]
    assert plain.feet is None and sprung.feet is not None
    with pytest.raises(ConfigError, match="stiffness_N_m: expected together with damping_Ns_m, or neither"):
        spiral("vehicle.legs.stiffness_N_m=4000.0")


def spiral(*changes: str) -> Any:
    return scenario_files.load(scenario_files.find("tiltrotor-spiral"), changes)


def test_without_the_keys_contacts_are_those_of_mujoco() -> None:
    assert IRIS.contact.springs is None and airframe.world(IRIS, 0.004).feet is None


@pytest.mark.parametrize("keys", ["stiffness_N_m = 4000.0", "damping_Ns_m = 20.0"])
def test_stiffness_and_damping_belong_together(keys: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected together with contact\.damping_Ns_m, or neither"):
        airframe.load(str(written(tmp_path, keys)))


def written(folder: Path, keys: str) -> Path:
    text = (Path(airframe.__file__).parent / "iris.toml").read_text(encoding="utf-8")
    path = folder / "iris-feet.toml"
    path.write_text(text.replace("[contact]", f"[contact]\n{keys}"), encoding="utf-8")
    return path


def test_a_flight_logs_the_load_of_its_touchdown(tmp_path: Path) -> None:
    """Dropped from a stand; the body stays clear of the ground."""
    file = written(tmp_path, "stiffness_N_m = 20000.0\ndamping_Ns_m = 60.0")
    still = ("world.wind.steady_W=[0.0, 0.0, 0.0]", "world.wind.turbulence.w20_m_s=0.0", 'sensors.preset="ideal"')
    held = ("world.stand.until_s=0.1", "world.stand.pos_W=[0.0, 0.0, 1.055]", f'vehicle.airframe="{file}"')
    scenario: Any = scenario_files.load(scenario_files.find("quad-air"), (*still, *held))
    events: list[Any] = []
    publish: Any = defaultdict(lambda: lambda *row: None, event=lambda *row: events.append(row))
    vehicle = build.vehicle(scenario, 0, publish)
    vehicle.command = (0.0,) * 4
    vehicle.advance(1_200_000_000, exact=True)
    loads = [(t_s, value) for t_s, code, value in events if code == Event.TOUCHDOWN_LOAD]
    touched_s = next(t_s for t_s, code, _ in events if code == Event.GROUND_CONTACT)
    assert loads[0][0] == pytest.approx(touched_s + LOAD_NS / 1e9, abs=0.004)
    assert loads[0][1] == pytest.approx(closed_form(20_000.0, 60.0, 1.0)[1], rel=0.05)  # with drag, rotors at rest


def test_only_a_touchdown_has_a_load() -> None:
    class Told:
        load = 3.0

    rows: list[Any] = []
    met = iter([None, "", None, None])
    watch = LoadedTouchDown(lambda t_ns, state: next(met), Told(), lambda *row: rows.append(row))  # type: ignore[arg-type]
    state: Any = None
    assert [watch.contact(n * LOAD_NS, state) for n in range(4)] == [None, "", None, None]
    assert rows == [(0.5, Event.TOUCHDOWN_LOAD, 3.0)]
