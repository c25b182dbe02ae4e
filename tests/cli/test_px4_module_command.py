"""`aeroloop export px4-module` beside `aeroloop export RUN`: what it writes, and one sentence for what it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from aeroloop.cli.app import app
from aeroloop.core.errors import ConfigError

LAWS = Path(__file__).resolve().parents[2] / "examples" / "laws"
SOLVER = """
import casadi as ca
from aeroloop.control import quad_toolkit as tk

def law(design):
    state, setpoint, memory = tk.inputs()
    x = ca.MX.sym("x")
    solver = ca.rootfinder("solver", "newton", {"x": x, "g": x - 1})
    state, setpoint, memory = (ca.MX.sym(n, k) for n, k in (("state", 13), ("setpoint", 11), ("memory", 0)))
    return ca.Function("law", [state, setpoint, memory], [ca.repmat(solver(x0=state[0])["x"], 4), memory])
"""
HUGE = """
from aeroloop.control import quad_toolkit as tk
import casadi as ca

def law(design):
    state, setpoint, memory = tk.inputs()
    return tk.function(state, setpoint, memory, ca.repmat(state[0] * 1e40, 4))
"""


def told(*words: str) -> str:
    done = CliRunner().invoke(app, ["export", *words])
    if isinstance(done.exception, ConfigError):
        return str(done.exception)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_cascade_is_exported_without_a_law(tmp_path: Path) -> None:
    out = tmp_path / "module"
    said = told("px4-module", "--out", str(out))
    assert f"EXTERNAL_MODULES_LOCATION={out}" in said
    written = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    module = "src/modules/aeroloop_law"
    assert written == {
        *("README.md", "src/CMakeLists.txt", "boards/extras.txt"),
        *("airframes/22016_none_iris_law", "airframes/22016_none_iris_law.post"),
        *(f"{module}/{name}" for name in ("CMakeLists.txt", "module.yaml", "law.c", "law.h", "law_px4.h")),
        *(f"{module}/{name}" for name in ("AeroloopLaw.cpp", "AeroloopLaw.hpp", "FlightRows.cpp", "FlightRows.hpp")),
    }


def test_an_own_law_for_another_aircraft_and_rate(tmp_path: Path) -> None:
    out = tmp_path / "module"
    law = ("--law", str(LAWS / "quad_lqr.py"), "--airframe", "hexarotor", "--rate", "400")
    assert "quad_lqr.py for hexarotor, 6 rotors, 400 Hz" in told("px4-module", *law, "--out", str(out))
    header = (out / "src/modules/aeroloop_law/law_px4.h").read_text()
    assert "#define LAW_PERIOD_US 2500\n" in header
    assert "#define LAW_FLIES_ATTITUDE 0 " in header
    assert "#define LAW_MOTORS 6\n" in (out / "src/modules/aeroloop_law/law.h").read_text()
    assert "CA_ROTOR5_KM" in (out / "airframes/22016_none_hexarotor_law").read_text()


def test_equal_exports_have_equal_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for out in (one, other):
        told("px4-module", "--out", str(out))
    for path in (path for path in one.rglob("*") if path.is_file()):
        assert path.read_bytes() == (other / path.relative_to(one)).read_bytes()


def test_a_folder_with_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert told("px4-module", "--out", str(tmp_path)) == (
        f"--out {tmp_path}: expected a new or an empty folder; nothing is overwritten"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tiltrotor-spiral"], "tiltrotor-spiral: a PX4 module flies a multirotor, not a tiltrotor"),
        (["fixedwing-loiter"], "fixedwing-loiter: a PX4 module flies a multirotor"),
        (["--law", "{laws}/wing_pid.py"], "wing_pid.py"),
        (["--law", "{here}/solver.py"], "cannot become C for a board"),
        (["--law", "{here}/huge.py"], "the constant 1e+40 does not fit single precision"),
        (["--law", "nowhere.py"], "--law nowhere.py: no such file"),
        (["--rate", "1"], "--rate 1: expected 50 to 2000 Hz"),
        (["--airframe", "brick"], "vehicle.airframe: unknown airframe 'brick'"),
    ],
)
def test_bad_input_gets_one_sentence_and_no_folder(words: list[str], expected: str, tmp_path: Path) -> None:
    (tmp_path / "solver.py").write_text(SOLVER)
    (tmp_path / "huge.py").write_text(HUGE)
    given = [word.format(laws=LAWS, here=tmp_path) for word in words]
    said = told("px4-module", *given, "--out", str(tmp_path / "module"))
    assert expected in said
    assert "\n" not in said
    assert not (tmp_path / "module").exists()


def test_the_log_of_a_run_is_exported_as_before(tmp_path: Path) -> None:
    assert "expected a folder that `aeroloop fly` made" in told(str(tmp_path), "--csv")
    assert "expected a folder that `aeroloop fly` made" in told("--csv", str(tmp_path))
    assert told(str(tmp_path)).startswith("no format given")
    assert "Write the log of a run" in told("--help")
    assert "external PX4 module" in told("px4-module", "--help")
