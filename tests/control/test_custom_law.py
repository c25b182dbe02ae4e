"""A law from a user's file: what is right flies, what is wrong is told in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from tiltrotor_scenarios import tiltrotor

from aeroloop.boards.config import Control
from aeroloop.control import custom, toolkit
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Reference
from aeroloop.families.tiltrotor.design import Design, design, flight_law
from aeroloop.families.tiltrotor.scenario import load_tiltrotor
from aeroloop.flight import results

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "laws"
HEAD = "import casadi as ca\nfrom aeroloop.control import toolkit as tk\n"
HOVER = """
def law(design):
    sensors, reference, memory = tk.inputs()
    return tk.function(sensors, reference, memory, ca.SX(ca.DM(design.u_eq)))
"""
PLAIN = """
def law(design):
    s, r, m = ca.{kind}.sym("s", {sensors}), ca.{kind}.sym("r", {reference}), ca.{kind}.sym("m", {memory})
    return ca.Function("mine", [s, r, m], [{command}, {memory_next}])
"""
CALLBACK = """
class Table(ca.Callback):
    def __init__(self):
        ca.Callback.__init__(self)
        self.construct("table", {})
    def eval(self, arg):
        return [2 * arg[0]]

table = Table()
"""


def plain(**changes: str) -> str:
    usual = {"kind": "SX", "sensors": "16", "reference": "8", "memory": "2", "command": "s[:4]", "memory_next": "2 * m"}
    return HEAD + PLAIN.format(**{**usual, **changes})


@pytest.fixture(scope="module")
def plan() -> Design:
    return design("cad", "published", 0.012)


@pytest.fixture
def loaded(tmp_path: Path, plan: Design) -> Callable[[str], ca.Function]:
    def load_text(text: str) -> ca.Function:
        (tmp_path / "mine.py").write_text(text)
        return custom.load(tmp_path / "mine.py", plan)

    return load_text


def call(law: ca.Function, *memory: float) -> tuple[list[float], list[float]]:
    command, kept = law(np.arange(16.0), np.zeros(8), np.array(memory))
    return command.full().ravel().tolist(), kept.full().ravel().tolist()


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_a_law_is_named_and_shaped_like_the_built_in_ones(loaded: Callable[[str], ca.Function], kind: str) -> None:
    law = loaded(plain(kind=kind))
    assert (law.name(), law.name_in(), law.name_out()) == ("law", list(toolkit.INPUTS), list(toolkit.OUTPUTS))
    assert call(law, 1.0, 3.0) == ([0.0, 1.0, 2.0, 3.0], [2.0, 6.0])


def test_a_law_without_memory_flies(loaded: Callable[[str], ca.Function], plan: Design) -> None:
    for text in (HEAD + HOVER, plain(memory="0, 0", memory_next="m", command="s[:4]")):
        law = loaded(text)
        assert law.numel_in(2) == law.numel_out(1) == 1
        assert call(law, 0.0)[1] == [0.0]
    assert call(loaded(HEAD + HOVER), 0.0)[0] == plan.u_eq.tolist()


def test_sparse_outputs_become_dense(loaded: Callable[[str], ca.Function]) -> None:
    law = loaded(plain(command="ca.vertcat(s[1], ca.SX(3, 1))", memory_next="ca.SX(2, 1)"))
    assert law.nnz_out(0) == 4 and law.nnz_out(1) == 2
    assert call(law, 1.0, 1.0) == ([1.0, 0.0, 0.0, 0.0], [0.0, 0.0])


def test_look_up_tables_and_maps_are_allowed(loaded: Callable[[str], ca.Function]) -> None:
    table = 'table = ca.interpolant("table", "linear", [[0.0, 10.0]], [0.0, 20.0])\n'
    law = loaded(HEAD + table + plain(kind="MX", command="table.map(4)(s[:4].T).T").removeprefix(HEAD))
    assert call(law, 0.0, 0.0)[0] == pytest.approx([0.0, 2.0, 4.0, 6.0])


def test_what_the_file_prints_stays_off_standard_output(
    loaded: Callable[[str], ca.Function], capsys: pytest.CaptureFixture[str]
) -> None:
    loaded("print('hello')\n" + plain())
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("def law(design)\n", (", line 1", "not valid Python", "':'"), id="syntax"),
        pytest.param("x = 1\n\0", ("not valid Python", "null bytes"), id="null bytes"),
        pytest.param(b"# \xff\n", ("not valid Python", "utf-8"), id="not UTF-8"),
        pytest.param("", ("law(design)", "casadi.Function", "none"), id="empty"),
        pytest.param("law = 3\n", ("law(design)", "none"), id="law is a number"),
        pytest.param("import nowhere\n", (", line 1", "ModuleNotFoundError", "nowhere"), id="missing module"),
        pytest.param("def law():\n    return 1\n", ("TypeError", "law()"), id="no argument"),
        pytest.param("def law(design):\n    return 1 / 0\n", (", line 2", "ZeroDivisionError"), id="raises"),
        pytest.param("import sys\nsys.exit('bye')\n", (", line 2", "SystemExit", "bye"), id="exits"),
        pytest.param("def law(design):\n    return design.Kp\n", (", line 2", "AttributeError", "Kp"), id="attribute"),
        pytest.param("def law(design):\n    return 4\n", ("casadi.Function", "int"), id="a number"),
        pytest.param("def law(design):\n    pass\n", ("casadi.Function", "NoneType"), id="forgot return"),
        pytest.param(plain(command="s[:4] + r"), (", line 6", "Dimension mismatch", "4x1", "8x1"), id="dimensions"),
        pytest.param(plain(sensors="12"), ("sensors is 12x1", "(16), (8), (n)"), id="sensors"),
        pytest.param(plain(sensors="1, 16", command="s[:4].T"), ("sensors is 1x16", "(16)"), id="a row"),
        pytest.param(plain(reference="4"), ("reference is 4x1", "not inputs (16), (4), (2)"), id="reference"),
        pytest.param(plain(command="s[:3]"), ("command is 3x1", "outputs (4), (n)"), id="command"),
        pytest.param(plain(memory_next="m[:1]"), ("memory_next is 1x1", "(n)"), id="memory shrinks"),
        pytest.param(plain(memory="2, 2", memory_next="m"), ("memory is 2x2", "(n)"), id="memory is a matrix"),
        pytest.param(plain(memory_next="m, s"), ("outputs (4), (2), (16)", "expected"), id="an output too many"),
        pytest.param(plain().replace("[s, r, m]", "[s, r]").replace("2 * m", "r"), ("inputs (16), (8)",), id="inputs"),
        pytest.param(plain(command='s[:4] * ca.SX.sym("gain")'), (", line 6", "gain", "free"), id="free variable"),
        pytest.param(
            plain(command='s[:4] * ca.SX.sym("gain")').replace("m])", 'm], {"allow_free": True})'),
            ("gain", "none of its inputs"),
            id="free variable allowed",
        ),
        pytest.param(
            HEAD + CALLBACK + plain(kind="MX", command="s[:4] * table(s[0])").removeprefix(HEAD),
            ("'table'", "CallbackInternal", "cannot become C"),
            id="callback",
        ),
        pytest.param(
            HEAD + "def law(design):\n    s, r, m = tk.inputs(2)\n    return tk.function(s, r, m, s[:4])\n",
            (", line 5", "memory of 2", "memory_next"),
            id="memory forgotten",
        ),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(
    tmp_path: Path, plan: Design, text: str | bytes, words: tuple[str, ...]
) -> None:
    file = tmp_path / "mine.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        custom.load(file, plan)
    sentence = str(caught.value)
    assert sentence.startswith(str(file)) and "\n" not in sentence
    assert [word for word in words if word not in sentence] == [], sentence


def test_a_missing_file_is_told(tmp_path: Path, plan: Design) -> None:
    with pytest.raises(ConfigError, match=r"none\.py: the control law cannot be read: No such file"):
        custom.load(tmp_path / "none.py", plan)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        custom.load(tmp_path, plan)


def test_flight_law_takes_the_file_where_one_is_named(tmp_path: Path, plan: Design) -> None:
    (tmp_path / "mine.py").write_text(plain())
    assert flight_law(Control(law_file=str(tmp_path / "mine.py")), plan).numel_in(2) == 2
    assert flight_law(Control(), plan).numel_in(2) == 8


def test_the_example_is_the_built_in_law_but_for_its_integration_rule(plan: Design) -> None:
    """Rectangles against trapezia: the same where the error before was the error now."""
    mine, built_in = custom.load(EXAMPLES / "lqr.py", plan), plan.law("dlqr")
    reference = Reference(0, (1.0, 2.0, 3.0), 3.1, (0.1, 0.2, 0.3), 0.4).row()
    sensors = plan.state_eq.copy()
    sensors[toolkit.YAW] = -3.1
    tracked = built_in(sensors, reference, np.zeros(8))[1].full().ravel()[4:]
    wanted = built_in(sensors, reference, np.concatenate([np.zeros(4), tracked]))[0].full()
    assert mine(sensors, reference, np.zeros(4))[0].full() == pytest.approx(wanted, abs=1e-9)
    at_rest = mine(plan.state_eq, np.zeros(8), np.zeros(4))[0].full().ravel()
    assert at_rest == pytest.approx(plan.u_eq)


def test_law_file_is_relative_to_its_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\n[control]\nlaw_file = "laws/mine.py"\n')
    assert load_tiltrotor(tmp_path / "mine.toml").controller.control.law_file == str(tmp_path / "laws/mine.py")


def test_a_run_keeps_its_law_and_can_be_flown_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(plain())
    run = tmp_path / "run"
    results.make_folder(run, tiltrotor(name="mine", control=Control(law_file=str(tmp_path / "mine.py"))))
    (tmp_path / "mine.py").write_text("changed")
    assert (run / "law.py").read_text() == plain()
    assert load_tiltrotor(run / "scenario.toml").controller.control.law_file == str(run / "law.py")
    results.discard(run, load_tiltrotor(run / "scenario.toml"))
    assert not run.exists()


def test_a_run_whose_law_cannot_be_read_is_not_begun(tmp_path: Path) -> None:
    scenario = tiltrotor(name="mine", control=Control(law_file=str(tmp_path / "none.py")))
    with pytest.raises(ConfigError, match=r"none\.py: cannot be read"):
        results.make_folder(tmp_path / "run", scenario)
    assert not (tmp_path / "run").exists()
