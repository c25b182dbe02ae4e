"""Flights in a test-suite: the fixture `flight`, the marker `rungs` and the option `--aeroloop-out`.

    @pytest.mark.rungs("mil", "sil")
    def test_gust(flight):
        assert flight("quad-wind", seed=3).passed

pytest loads this module by its entry point in every environment that has Aeroloop: so it imports nothing until a test
flies, and does not affect tests without the fixture.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from aeroloop.api.run import Run

RUNGS = ("mil", "sil", "pil", "hil")
RUNG = "aeroloop_rung"
LONGEST_NAME = 100


class FlightFixture:
    """Flies scenarios, each into its own folder: `aeroloop.fly` without `out`."""

    def __init__(self, folder: Path, rung: str | None) -> None:
        self._folder, self._rung = folder, rung
        self.runs: list[Run] = []

    def __call__(self, scenario: Any, **options: Any) -> Run:
        """`options` are those of `aeroloop.fly`; `loop` is by default the rung of the marker."""
        from aeroloop.api.flying import fly
        from aeroloop.api.scenarios import named

        if self._rung is not None:
            options.setdefault("loop", self._rung)
        out = self._folder / f"{named(scenario).path.stem.replace(' ', '-')}-{len(self.runs) + 1}"
        run = fly(scenario, **{"out": out, **options})
        self.runs.append(run)
        return run


FLIGHTS = pytest.StashKey[FlightFixture]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("aeroloop").addoption(
        "--aeroloop-out",
        metavar="DIR",
        help="keep the runs of the fixture `flight` in DIR, by test; by default in the test's tmp_path",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rungs(*names): fly the test once on each of these: mil, sil, pil, hil")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("rungs")
    if marker is None or RUNG not in metafunc.fixturenames:
        return
    if not marker.args or any(name not in RUNGS for name in marker.args) or marker.kwargs:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: rungs: expected names out of {', '.join(RUNGS)}, not {marker.args!r}"
        )
    metafunc.parametrize(RUNG, marker.args, indirect=True)


@pytest.fixture
def aeroloop_rung(request: pytest.FixtureRequest) -> str | None:
    """The rung of the marker `rungs` for the current test; None without the marker."""
    rung: str | None = getattr(request, "param", None)
    return rung


@pytest.fixture
def flight(request: pytest.FixtureRequest, aeroloop_rung: str | None) -> FlightFixture:
    """Flies a scenario as `aeroloop.fly` does and returns its run: `flight("quad-wind", seed=3).passed`."""
    kept = request.config.getoption("--aeroloop-out")
    if kept:
        name = re.sub(r"[^\w.-]+", "-", request.node.nodeid)[-LONGEST_NAME:].strip("-")
        folder = _free(Path(request.config.invocation_params.dir) / kept / name)
    else:
        folder = request.getfixturevalue("tmp_path")
    made = request.node.stash[FLIGHTS] = FlightFixture(folder, aeroloop_rung)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a failed test lists the failed checks of its flights, and the paths of their reports."""
    report = yield
    made = item.stash.get(FLIGHTS, None)
    if made is not None and report.when == "call" and report.failed:
        for run in made.runs:
            if not run.passed:
                report.sections.append((f"Flight {run.scenario} on {run.loop}", _failure(run)))
    return report


def _failure(run: Run) -> str:
    from aeroloop.core.errors import AeroloopError

    lines = [f"{check.name} is {check.value:.6g}, expected {check.limit}" for check in run.failed]
    if run.error or run.ended != "completed":
        lines.append(f"ended: {run.error or run.ended}")
    try:
        where = f"report: {run.report()}"
    except AeroloopError as error:
        where = f"run: {run.folder} ({error})"
    return "\n".join([*lines, where])


def _free(folder: Path) -> Path:
    """A folder that does not exist yet: a run is never overwritten."""
    found, n = folder, 1
    while found.exists():
        n += 1
        found = folder.with_name(f"{folder.name}-{n}")
    return found
