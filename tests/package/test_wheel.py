"""What a user has who installs the wheel in an empty folder outside any checkout."""

from __future__ import annotations

import json
import subprocess
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from wheel_install import ROOT, SOURCES, Environment, built_sdist, built_wheel, copied_checkout, extra, installed

import aeroloop
from aeroloop.core import scenario_files
from aeroloop.core.errors import EXIT_CHECK_FAILED
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import log_sha256

FLIGHT = "tiltrotor-spiral"
MOMENT = ("duration_s=0.6", "checks=[]")
COMPILED = ("__pycache__", "build")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By way of the source distribution, which must hold all that it takes."""
    folder = tmp_path_factory.mktemp("wheel")
    checkout = copied_checkout(folder / "checkout")
    return built_wheel(built_sdist(checkout, folder), folder)


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(wheel, tmp_path_factory.mktemp("user"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.soak  # short: every file of the checkout is in the wheel, below
def test_source_distribution_and_checkout_build_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    checkout = copied_checkout(tmp_path / "checkout")
    assert contents(built_wheel(checkout, tmp_path)) == contents(wheel)


def test_every_file_of_the_package_and_its_data_is_in_the_wheel(wheel: Path) -> None:
    found = contents(wheel)
    for source in SOURCES:
        for path in (ROOT / source).rglob("*"):
            name = str(path.relative_to(ROOT))
            if not path.is_file() or any(part in COMPILED or part.endswith(".egg-info") for part in path.parts):
                continue
            packed = name.removeprefix("src/") if source == "src" else f"aeroloop/data/{name}"
            assert found.get(packed) == path.read_bytes(), packed


def test_metadata_name_licence_version_and_ranges(wheel: Path) -> None:
    found = contents(wheel)
    (name,) = (name for name in found if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(found[name].decode())
    assert metadata["Version"] == aeroloop.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert found[name.replace("METADATA", "licenses/LICENSE")] == (ROOT / "LICENSE").read_bytes()
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    pinned = [each.name for each in requirements if "dev" not in str(each.marker) and "==" in str(each.specifier)]
    assert not pinned, "exact versions are for requirements.lock"
    lock = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line)
    locked = {name.lower().replace("_", "-"): version for name, version in lock.items()}
    outside = [each.name for each in requirements if not each.specifier.contains(locked[each.name.replace("_", "-")])]
    assert not outside, "the lock is within the ranges"


def test_shipped_scenarios_are_listed_and_own_ones_come_first(user: Environment) -> None:
    shipped = {path.stem for path in (ROOT / "scenarios").glob("*.toml")}
    listed = {line.split()[0] for line in user.aeroloop("list").splitlines()[1:] if line[:2].strip()}
    assert shipped <= listed
    own = user.folder / "quad-hover.toml"
    own.write_text('name = "quad-hover"\nsummary = "Mine"\nduration_s = 1.0\n')
    assert "Mine" in user.aeroloop("list")
    own.unlink()


def test_shipped_campaigns_are_listed_and_run_by_name(user: Environment) -> None:
    """Beside an own scenario of the same name."""
    shipped = {path.stem for path in (ROOT / "campaigns").glob("*.toml")}
    assert {each["name"] for each in json.loads(user.aeroloop("campaign", "list", "--json"))} == shipped
    own = user.folder / "tiltrotor-mass.toml"
    own.write_text('name = "tiltrotor-mass"\nsummary = "Mine"\nduration_s = 1.0\n')
    command = [user.command, "campaign", "run", "tiltrotor-mass", "--limit", "1", "--json"]
    done = subprocess.run(command, cwd=user.folder, env=user.variables, capture_output=True, text=True, check=False)
    own.unlink()
    assert done.returncode == EXIT_CHECK_FAILED, done.stderr  # one flight is too few for the check of the rate
    assert json.loads(done.stdout)["flights"]["flown"] == 1


@pytest.mark.parametrize("loop", ["mil", "sil", "pil"])
def test_a_flight_is_that_of_the_checkout(user: Environment, loop: str) -> None:
    """Without the page's packages: the environment has those of the base install alone."""
    settings = [word for each in MOMENT for word in ("--set", each)]
    printed = user.aeroloop("fly", FLIGHT, "--loop", loop, "--json", "--no-report", *settings)
    plan = scenario_files.load(scenario_files.find(FLIGHT), (*MOMENT, f'loop="{loop}"'))
    (log,) = fly_inline(plan).logs
    assert json.loads(printed)["log_sha256"] == log_sha256(log)


def test_the_fixed_wing_builds_its_firmware_for_this_host(user: Environment) -> None:
    fly = ("fly", "fixedwing-loiter", "--loop", "sil", "--json", "--no-report", "--set", "duration_s=0.5")
    assert json.loads(user.aeroloop(*fly, "--set", "checks=[]"))["ended"] == "completed"


def test_images_are_built_outside_the_package(user: Environment) -> None:
    def files() -> set[Path]:
        return {path for path in user.package.rglob("*") if "__pycache__" not in path.parts}

    before = files()
    assert "tiltrotor-uart-discovery" in user.aeroloop("board", "build", "--target", "discovery", "--out", "images")
    assert (user.folder / "images" / "tiltrotor-uart-discovery.elf").read_bytes().startswith(b"\x7fELF")
    assert files() == before


def test_an_aircraft_of_ones_own_is_made_and_flown_with_its_report(user: Environment) -> None:
    user.aeroloop("new", "family", "mine")
    user.aeroloop("fly", "mine", "--set", "duration_s=0.5", "--set", "checks=[]", "--out", "run")
    assert "<svg" in (user.folder / "run" / "report.html").read_text()


def test_doctor_says_that_it_is_a_wheel(user: Environment) -> None:
    findings = {each["name"]: each for each in json.loads(user.aeroloop("doctor", "--json"))}
    assert findings["Aeroloop"]["state"] == "ok"
    assert findings["Aeroloop"]["found"].startswith(f"{aeroloop.__version__}, installed from a wheel;")
    assert findings["dashboard"]["remedy"] == "pip install 'aeroloop[dash]'"


def test_python_imports_it(user: Environment) -> None:
    values = "aeroloop.__file__, aeroloop.__version__, version('aeroloop')"
    code = f"import aeroloop; from importlib.metadata import version; print({values}, sep='\\n')"
    file, *versions = user.run(user.python, "-c", code).splitlines()
    assert Path(file).parent == user.package
    assert versions == [aeroloop.__version__] * 2


def test_python_flies_and_reads_the_log(user: Environment) -> None:
    code = (
        "import aeroloop; "
        f"run = aeroloop.fly({FLIGHT!r}, set={{'duration_s': 0.6, 'checks': []}}); "
        "print(run.passed, len(run.log['truth']['z_m']), run.log_sha256)"
    )
    passed, rows, sha256 = user.run(user.python, "-c", code).split()
    (log,) = fly_inline(scenario_files.load(scenario_files.find(FLIGHT), MOMENT)).logs
    assert (passed, int(rows) > 100, sha256) == ("True", True, log_sha256(log))


def test_the_notebook_runs_there(user: Environment) -> None:
    """Its code, cell by cell, in the copy that a user gets."""
    user.aeroloop("new", "examples", "tried")
    code = (
        "import json; names = {}\n"
        "for cell in json.load(open('tried/first_flight.ipynb'))['cells']:\n"
        "    if cell['cell_type'] == 'code': exec(''.join(cell['source']), names)\n"
        "print(names['run'].passed, len(names['runs']))"
    )
    assert user.run(user.python, "-c", code, MPLBACKEND="Agg").splitlines()[-1] == "True 2"


def test_completion_is_installed_and_completes(user: Environment) -> None:
    user.run("bash", "-c", '"$0" --install-completion; exit $?', user.command)  # for the shell that starts it
    script = Path(user.variables["HOME"]) / ".bash_completions" / "aeroloop.sh"
    assert "_AEROLOOP_COMPLETE" in script.read_text()
    asked = {"_AEROLOOP_COMPLETE": "complete_bash", "COMP_WORDS": "aeroloop fly quad-mi", "COMP_CWORD": "2"}
    assert user.run(user.command, **asked).split() == ["quad-mission"]


def test_without_its_extra_the_page_says_what_to_install(user: Environment) -> None:
    done = subprocess.run([user.command, "dash"], cwd=user.folder, env=user.variables, capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'aeroloop[dash]'" in done.stderr


def test_with_its_extra_the_page_is_served(user: Environment, tmp_path: Path) -> None:
    with dashboard(user, extra(user, "dash", tmp_path / "dash")) as url, urllib.request.urlopen(url) as answer:
        page = answer.read().decode()
    assert answer.status == 200
    assert "Aeroloop" in page


@contextmanager
def dashboard(user: Environment, packages: Path) -> Iterator[str]:
    """The address of its page while it runs."""
    process = subprocess.Popen(
        [user.command, "dash", "--port", "0"],
        cwd=user.folder,
        env={**user.variables, "PYTHONPATH": str(packages)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("dashboard: ").strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
