"""Airframes are parameter files: what is wrong with one is said in a sentence that begins with its name."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe as fixedwing
from aeroloop.families.multirotor import airframe as quadrotor

PLACES = "pos_B_m = [[0.13, -0.22, 0.023], [-0.13, 0.20, 0.023], [0.13, 0.22, 0.023], [-0.13, -0.20, 0.023]]"
MULTIROTOR = [
    ("mass_kg = 1.5", "mass_kg = -1.5", "body.mass_kg"),
    ("mass_kg = 1.5", "mass_kg = 1.5\nwings = 2", "wings"),
    ("spin = [1, 1, -1, -1]", "spin = [1, 1, -1]", "as many directions (spin), not 4 and 3"),
    ("spin = [1, 1, -1, -1]", "spin = [1, 1, 1, 1]", "no thrusts of these rotors give a torque about the yaw (z) axis"),
    (PLACES, "pos_B_m = []", "rotors: expected 4 to 8 positions (pos_B_m) and as many directions (spin), not 0 and 4"),
    (PLACES, f"pos_B_m = {[[0.1 * n, 0.0, 0.0] for n in range(9)]}", "expected 4 to 8 positions (pos_B_m)"),
    (PLACES, f"pos_B_m = {[[0.1, y, 0.0] for y in (-0.2, -0.1, 0.1, 0.2)]}", "a torque about the pitch (y) axis alone"),
    (PLACES, f"pos_B_m = {[[x, 0.0, 0.0] for x in (-0.2, -0.1, 0.1, 0.2)]}", "a torque about the roll (x) axis alone"),
    (PLACES, PLACES.replace("-0.13", "0.03"), "balance thrust and torques"),
    ("mass_kg = 1.5", "mass_kg = 1e-20", "body.mass_kg: expected `float` >= 0.001"),
    ("0.029125, 0.029125,", "0.029125, 1e-20,", "body.inertia_kgm2[1]: expected `float` >= 1e-09"),
    ("-0.045]", "0.045]", "contact.feet_B_m: expected feet below the centre of mass"),
    (
        "[motors]",
        "thrust_share = [1.0, 0.8]\n[motors]",
        "rotors.thrust_share: expected a number for each of the 4 rotors",
    ),
    ("[motors]", "thrust_share = [1.0, 1.0, 1.0, 1.2]\n[motors]", "rotors.thrust_share"),
    ("body_half_size_m = [0.11,", "body_half_size_m = [-0.11,", "contact.body_half_size_m"),
    ("spin = [1, 1, -1, -1]", "spin = [1, 1, -1, 2]", "rotors.spin"),
    ("0.055225]", "0.155225]", "body.inertia_kgm2: expected no moment larger"),
    ("speed_max_rad_s = 1100.0", "speed_max_rad_s = 700.0", "too slow to hover, expected more than 794"),
    ("speed_idle_rad_s = 100.0", "speed_idle_rad_s = 1100.0", "motors.speed_idle_rad_s"),
    ("feet_B_m = [[0.2, -0.2, -0.045], ", "feet_B_m = [] # [", "three feet"),
    ("[motors]", "[motors", "not valid TOML"),
    ("# 3DR", "\ufeff# 3DR", "not valid TOML"),
]
FIXED_WING = [
    ("mass_kg = 11.0", "mass_kg = -11.0", "body.mass_kg"),
    ("mass_kg = 11.0", 'mass_kg = "heavy"', "body.mass_kg"),
    ("mass_kg = 11.0", "mass_kg = 11.0\nflaps = 2", "body.flaps: unknown key"),
    ("product_xz_kgm2 = 0.1204", "product_xz_kgm2 = 1.3", "body.product_xz_kgm2: expected less"),
    ("1.135, 1.759]", "1.135, 2.759]", "body.inertia_kgm2: expected no moment larger"),
    ("area_m2 = 0.55", "", "wing.area_m2: missing"),
    ("angle_rad = 0.47", "angle_rad = nan", "stall.angle_rad"),
    ('kind = "polar"', 'kind = "cubic"', "drag"),
    ("torque_fit = [0.00523,", "torque_fit = [-0.00523,", "expected a thrust and a torque at rest above 0"),
    ("spin = 1 ", "spin = 2 ", "propulsion.spin"),
    ("rate_per_s = [7.0,", "rate_per_s = [0.0,", "servos.rate_per_s"),
    ("low = [-0.43633,", "low = [0.5,", "aileron's low to be less than its high"),
    ("speed_m_s = 20.0", "speed_m_s = 90.0", "cruise.speed_m_s"),
    ("spin = 1 ", "advance_range = [0.7, 0.6]\nspin = 1 ", "propulsion: advance_range: expected its first number"),
    ("[cruise]", "[cruise", "not valid TOML"),
]
BAD = [
    *((quadrotor, "iris", *row) for row in MULTIROTOR),
    *((fixedwing, "aerosonde", *row) for row in FIXED_WING),
]


@pytest.mark.parametrize(("kind", "name", "text", "instead", "says"), BAD)
def test_a_bad_parameter_file_is_refused_in_one_sentence(
    kind: ModuleType, name: str, text: str, instead: str, says: str, tmp_path: Path
) -> None:
    assert kind.__file__ is not None
    good = Path(kind.__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")
    assert text in good
    file = tmp_path / "mine.toml"
    file.write_text(good.replace(text, instead), encoding="utf-8")
    with pytest.raises(ConfigError) as refusal:
        kind.load(str(file))
    message = str(refusal.value)
    assert message.startswith(str(file))
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("kind", "known"),
    [(quadrotor, "hexarotor, iris, iris-aero, rfly, rfly-e0"), (fixedwing, "aerosonde, aerosonde-parasitic, anaconda")],
)
def test_unknown_airframes_are_refused(kind: ModuleType, known: str) -> None:
    with pytest.raises(ConfigError, match=rf"expected a \.toml file or one of: {known}"):
        kind.load("ornithopter")
    with pytest.raises(ConfigError, match=r"vehicle\.airframe: ornithopter\.toml: there is no such file"):
        kind.load("ornithopter.toml")


def test_a_file_that_changes_between_two_flights_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = Path(quadrotor.__file__).with_name("iris.toml").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("mass_kg")]
    for mass_kg in (1.5, 1.6):
        file.write_text(text.replace(line, f"mass_kg = {mass_kg}"))
        assert quadrotor.load(str(file)).body.mass_kg == mass_kg


def test_the_included_variant_differs_in_its_rotors_and_feet_alone() -> None:
    plain, flown = quadrotor.load("iris"), quadrotor.load("iris-aero")
    assert plain.rotors.aerodynamics is None and flown.rotors.aerodynamics is not None
    rigid = replace(flown.contact, stiffness_N_m=None, damping_Ns_m=None)
    assert replace(flown, rotors=replace(flown.rotors, aerodynamics=None), contact=rigid) == plain
    assert flown.rotors.aerodynamics.radius_m == plain.contact.rotor_radius_m


def test_a_file_changes_keys_of_an_included_airframe(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('base = "anaconda"\n[body]\nmass_kg = 5.5\n[servos]\nlag_s = [0.1, 0.1, 0.1, 0.2]\n')
    own, base = fixedwing.load(str(file)), fixedwing.load("anaconda")
    assert (own.body.mass_kg, own.servos.lag_s) == (5.5, (0.1, 0.1, 0.1, 0.2))
    assert own.body.inertia_kgm2 == base.body.inertia_kgm2
    assert own.servos.high == base.servos.high
    assert own.wing == base.wing


def test_another_kind_of_a_table_inherits_nothing_of_it(tmp_path: Path) -> None:
    """The keys of the two drags have different meanings."""
    file = tmp_path / "mine.toml"
    file.write_text('base = "aerosonde"\n[drag]\nkind = "linear"\nzero = 0.04\nalpha = 0.03\npitch_rate = 0.0\n')
    with pytest.raises(ConfigError, match=r"mine\.toml: drag\.elevator: missing"):
        fixedwing.load(str(file))


@pytest.mark.parametrize("name", ['"iris"', "3", '"mine.toml"'])
def test_an_unknown_base_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"base = {name}\n")
    with pytest.raises(
        ConfigError, match=r"mine\.toml: base: expected one of: aerosonde, aerosonde-parasitic, anaconda"
    ):
        fixedwing.load(str(file))


def test_an_unknown_key_beside_a_base_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('base = "iris"\nwings = 2')
    with pytest.raises(ConfigError, match=r"own\.toml: wings: unknown key"):
        quadrotor.load(str(file))
