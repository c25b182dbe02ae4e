"""The pytest plugin, in test-suites of other people."""

from __future__ import annotations

import os
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[2]
SLED = ROOT / "examples/aircraft/sled.toml"
CACHE = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
# By its module: the entry point is there where the package is installed, and would load it a second time.
# A suite that flies gets a process of its own: in ours it would import numpy's like a second time.
PLUGIN = ("-p", "no:aeroloop", "-p", "aeroloop.api.pytest_plugin", "--strict-markers")


@pytest.fixture(autouse=True)
def compiled_laws_are_kept(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytester gives every suite a home of its own, where all would be compiled again. Other plugins are not needed."""
    monkeypatch.setenv("XDG_CACHE_HOME", CACHE)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_a_test_flies_on_every_rung_of_its_marker_and_a_failure_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        LEAST_S = {{"mil": 0.5, "sil": 5.0}}

        @pytest.mark.rungs("mil", "sil")
        def test_push(flight, aeroloop_rung, tmp_path):
            checks = [{{"metric": "flown_s", "above": LEAST_S[aeroloop_rung]}}]
            run = flight({str(SLED)!r}, set={{"duration_s": 1, "checks": checks}})
            assert run.loop == aeroloop_rung and run.folder == tmp_path / "sled-1"
            assert run.passed

        def test_no_rung(aeroloop_rung):
            assert aeroloop_rung is None
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN, "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_push?mil? PASSED*", "*test_push?sil? FAILED*", "*test_no_rung PASSED*"])
    result.stdout.fnmatch_lines(["*<Run sled on sil: failed (completed, flown_s * not > 5)*"])
    result.stdout.fnmatch_lines(["*Flight sled on sil*", "flown_s is *, expected > 5", "report: */report.html"])
    report = next(line for line in result.outlines if line.startswith("report: "))
    assert Path(report.removeprefix("report: ")).is_file()


FAKED = """
    import pytest
    import aeroloop.api.flying

    @pytest.fixture(autouse=True)
    def no_flight(monkeypatch):
        class Run:
            passed = True
            def __init__(self, scenario, **options):
                self.scenario, self.options = scenario, options
        monkeypatch.setattr(aeroloop.api.flying, "fly", Run)
"""


def test_options_are_those_of_fly_and_runs_are_kept_where_asked(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(FAKED)
    pytester.makepyfile(
        test_kept="""
        import pytest

        @pytest.mark.rungs("sil")
        def test_options(flight):
            first = flight("quad-hover", seed=3, pace="4x")
            second = flight("quad-hover", loop="mil")
            assert first.scenario == "quad-hover"
            print("OUT", first.options["out"], second.options["out"])
            assert {**first.options, "out": 0} == {"seed": 3, "pace": "4x", "loop": "sil", "out": 0}
            assert second.options["loop"] == "mil"
            first.options["out"].mkdir(parents=True)
        """
    )
    for again in ("", "-2"):
        result = pytester.runpytest_subprocess(*PLUGIN, "-s", "--aeroloop-out", "kept")
        result.assert_outcomes(passed=1)
        folder = pytester.path / "kept" / f"test_kept.py-test_options-sil{again}"
        result.stdout.fnmatch_lines([f"*OUT {folder}/quad-hover-1 {folder}/quad-hover-2"])


@pytest.mark.parametrize("marker", ["'mill'", "", "loop='mil'"])
def test_a_marker_that_names_no_rung_is_refused(pytester: pytest.Pytester, marker: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.rungs({marker})\ndef test_it(flight): pass")
    result = pytester.runpytest(*PLUGIN)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*test_it: rungs: expected names out of mil, sil, pil, hil*"])


def test_other_peoples_tests_are_left_alone(pytester: pytest.Pytester) -> None:
    """A fixture `flight` and a marker `rungs` of their own, and nothing of ours is imported."""
    pytester.makeini("[pytest]\nmarkers = rungs: ours")
    pytester.makepyfile(
        """
        import sys
        import pytest

        @pytest.fixture
        def flight():
            return 3

        @pytest.mark.rungs("ladder")
        def test_theirs(flight):
            assert flight == 3

        @pytest.mark.rungs(1)
        def test_nothing_is_imported():
            ours = {name for name in sys.modules if name.startswith("aeroloop.")}
            assert ours == {"aeroloop.api", "aeroloop.api.pytest_plugin"}
            assert not {"numpy", "casadi", "mujoco", "msgspec"} & {*sys.modules}
        """
    )
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=2)


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plugin = import_module(project["entry-points"]["pytest11"]["aeroloop"])
    assert plugin.flight and plugin.pytest_addoption
