"""Bad input gets one sentence and the right exit code, and leaves nothing behind that was not there."""

from __future__ import annotations

import json
import os
import pty
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import serial

from aeroloop.core.errors import EXIT_LINK, EXIT_OK, EXIT_USAGE
from aeroloop.recording.log import log_sha256

if TYPE_CHECKING:
    from conftest import Bench, Ended

FLIGHT = 'name = "mine"\nduration_s = 1.0\n'
HIL = ("--loop", "hil", "--pace", "real", "--set", 'ground.source="external"', "--link")
STICK = ("--pace", "real", "--set", 'ground.source="joystick"', "--set")
SPIRAL = "tiltrotor-spiral"


def waypoints(file: str) -> tuple[str, ...]:
    return ("mine.toml", "--set", f'ground.trajectory={{kind="waypoints",file="{file}"}}')


@pytest.fixture
def refused(bench: Bench) -> Callable[..., None]:
    """Fly with these arguments and expect a refusal that says all of these words."""

    def fly(*args: str, code: int, words: tuple[str, ...], env: dict[str, str] | None = None) -> None:
        before = bench.tree()
        ended = bench.run("fly", *args, *(() if "--out" in args else ("--out", "run")), env=env)
        assert ended.code == code, ended.err
        sentence = ended.sentence()
        assert [word for word in words if word not in sentence] == [], sentence
        assert ended.out == ""
        assert bench.tree() == before
        bench.assert_clean()

    return fly


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(("nowhere",), ("'nowhere'", SPIRAL), id="unknown scenario"),
        pytest.param(("nowhere.toml",), ("nowhere.toml", "no such"), id="missing file"),
        pytest.param((SPIRAL, "--set", "link.colour=1"), ("link.colour", "unknown key", "url"), id="unknown key set"),
        pytest.param((SPIRAL, "--set", "name.x=1"), ("name.x=1", "not a table"), id="key below a value"),
        pytest.param((SPIRAL, "--set", "seed"), ("--set seed", "key=value"), id="set without a value"),
        pytest.param((SPIRAL, "--set", 'duration_s="x"'), ("duration_s", "float", "str"), id="wrong type"),
        pytest.param((SPIRAL, "--set", "duration_s=-1"), ("duration_s", "> 0"), id="negative duration"),
        pytest.param((SPIRAL, "--set", "duration_s=nan"), ("duration_s", "> 0"), id="duration that is no number"),
        pytest.param((SPIRAL, "--set", "link.to_plant.loss=2"), ("link.to_plant.loss", "<= 1"), id="impossible loss"),
        pytest.param((SPIRAL, "--seed", "-1"), ("seed", ">= 0"), id="negative seed"),
        pytest.param(
            (SPIRAL, "--set", "control.period_s=0.013"),
            ("control.period_s", "0.004", "0.013"),
            id="period off the grid",
        ),
        pytest.param(
            (SPIRAL, "--set", 'checks=[{metric="beauty",above=1.0}]'),
            ("checks", "'beauty'", "pos_x_rms_m"),
            id="unknown metric",
        ),
        pytest.param(
            (SPIRAL, "--set", 'checks=[{metric="flown_s"}]'), ("checks", "flown_s", "exactly one of"), id="no bound"
        ),
        pytest.param(
            (SPIRAL, "--set", 'control.law="pid"'), ("control.law", "'pid'", "dlqr-heading"), id="unknown law"
        ),
        pytest.param(
            (SPIRAL, "--loop", "pil", "--set", "control.period_s=0.1"),
            ("control.period_s", "at most 0.065", "0.1"),
            id="period that the board cannot count",
        ),
        pytest.param((SPIRAL, "--loop", "xil"), ("loop", "'xil'", "expected one of", "sil"), id="unknown rung"),
        pytest.param(
            (SPIRAL, "--loop", "pil", "--pace", "4x"), ("pace", "4x", "lockstep or in real time"), id="pil at 4x"
        ),
        pytest.param(
            (SPIRAL, "--loop", "pil", "--pace", "real", "--set", "emulator.faults=[{at_s=1.0,kind='hang'}]"),
            ("emulator.faults", "lockstep only"),
            id="hang in real time",
        ),
        pytest.param((SPIRAL, "--loop", "hil", "--pace", "lockstep"), ("pace", "--pace real"), id="hil in lockstep"),
        pytest.param((SPIRAL, "--loop", "hil", "--pace", "real"), ("link.url", "serial:///dev"), id="hil without link"),
        pytest.param((SPIRAL, "--pace", "fast"), ("pace", "'fast'", "lockstep, real"), id="bad pace"),
        pytest.param((SPIRAL, "--pace", "0x"), ("pace", "'0x'", "4x"), id="no pace at all"),
        pytest.param((SPIRAL, "--link", "carrier-pigeon://"), ("carrier-pigeon://", "pty://"), id="unknown link"),
        pytest.param((SPIRAL, "--link", "tcp://localhost"), ("tcp://localhost", "missing port"), id="bad link URL"),
        pytest.param((SPIRAL, "--link", "serial:///dev/ttyS9"), ("link.url", "--loop hil"), id="serial without hil"),
        pytest.param((SPIRAL, "--set", 'ground.url="tcp://x"'), ("tcp://x", "missing port"), id="bad reference link"),
        pytest.param((SPIRAL, "--junit", "no/x.xml"), ("--junit no/x.xml", "folder no"), id="junit folder missing"),
        pytest.param((SPIRAL, "--out", "/proc/run"), ("/proc/run", "cannot be made"), id="unwritable out"),
        pytest.param((SPIRAL, "--out", "mine.toml/run"), ("mine.toml/run", "cannot be made"), id="out below a file"),
        pytest.param((SPIRAL, "--out", "mine.toml"), ("mine.toml", "exists already"), id="out is a file"),
        pytest.param(
            (SPIRAL, "--set", 'vehicle.parameters="lead"'), ("vehicle.parameters", "'lead'", "cad"), id="parameters"
        ),
        pytest.param(
            (SPIRAL, "--set", 'control.weights="heavy"'), ("control.weights", "'heavy'", "published"), id="weights"
        ),
        pytest.param(waypoints("none.csv"), ("none.csv", "cannot be read"), id="missing waypoints"),
        pytest.param(waypoints("mine.toml"), ("mine.toml, line 1", "t_s,x_m,y_m,z_m"), id="no waypoint file"),
        pytest.param(waypoints("bad.csv"), ("bad.csv, line 3", "x_m", "'east'"), id="malformed waypoints"),
    ],
)
def test_a_flight_that_cannot_be_is_refused_before_it_begins(
    bench: Bench, refused: Callable[..., None], args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (bench.folder / "mine.toml").write_text(FLIGHT)
    (bench.folder / "bad.csv").write_text("t_s,x_m,y_m,z_m\n0,0,0,2\n1,east,0,2\n")
    refused(*args, code=EXIT_USAGE, words=words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(FLIGHT.encode() + b"gravity = 9.8\n", ("gravity", "unknown key", "duration_s"), id="unknown key"),
        pytest.param(FLIGHT.encode() + b"[sensors]\nnois = 1\n", ("sensors.nois", "pos_std_m"), id="deep unknown key"),
        pytest.param(FLIGHT.encode() + b"[world]\nstep_s = true\n", ("world.step_s", "float", "bool"), id="wrong type"),
        pytest.param(FLIGHT.encode() + b"world = 3\n", ("world", "object", "int"), id="a number for a table"),
        pytest.param(FLIGHT.encode() + b"seed = = 3\n", ("not valid TOML", "line 3"), id="no TOML"),
        pytest.param(b"\xff\xfe\x00", ("UTF-8",), id="no text"),
        pytest.param(b"", ("name",), id="empty"),
    ],
)
def test_a_bad_scenario_file_is_named(
    bench: Bench, refused: Callable[..., None], content: bytes, words: tuple[str, ...]
) -> None:
    (bench.folder / "bad.toml").write_bytes(content)
    refused("bad.toml", code=EXIT_USAGE, words=("bad.toml", *words))


@pytest.mark.parametrize("compiler", [None, "/no/such/cc"])
def test_sil_without_a_compiler(
    bench: Bench, refused: Callable[..., None], tmp_path: Path, compiler: str | None
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {key: value for key, value in bench.env.items() if key != "CC"} | {
        "PATH": str(empty),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        **({"CC": compiler} if compiler else {}),
    }
    words = (compiler, "could not be run") if compiler else ("C compiler", "apt install gcc")
    refused(SPIRAL, "--loop", "sil", code=EXIT_USAGE, words=words, env=env)


def test_a_serial_port_that_is_not_there(refused: Callable[..., None]) -> None:
    refused(SPIRAL, *HIL, "serial:///dev/does-not-exist", code=EXIT_LINK, words=("/dev/does-not-exist", "no such"))


def test_a_serial_port_that_is_in_use(refused: Callable[..., None]) -> None:
    master, slave = pty.openpty()
    try:
        with serial.Serial(os.ttyname(slave), exclusive=True) as port:
            refused(SPIRAL, *HIL, f"serial://{port.port}", code=EXIT_LINK, words=(str(port.port), "busy"))
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("device", ["/dev/input/no-such-stick", "plain.txt"])
def test_a_joystick_that_cannot_be_read(bench: Bench, refused: Callable[..., None], device: str) -> None:
    pytest.importorskip("evdev", reason="the extra `joystick` is not installed")
    path = bench.folder / device
    if not device.startswith("/"):
        path.write_text("no stick")
    setting = f'ground.joystick_device="{path}"'
    refused(SPIRAL, *STICK, setting, code=EXIT_LINK, words=(str(path), "cannot be opened"))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('ground.joystick_recording="none.stick"', ("none.stick", "cannot be read")),
        ('ground.joystick_recording="mine.toml"', ("mine.toml, line 1", '"axes"')),
    ],
)
def test_a_stick_recording_that_is_none(
    bench: Bench, refused: Callable[..., None], setting: str, words: tuple[str, ...]
) -> None:
    (bench.folder / "mine.toml").write_text(FLIGHT)
    refused("mine.toml", *STICK, setting, code=EXIT_USAGE, words=words)


def test_a_run_folder_that_exists_is_not_touched(bench: Bench, refused: Callable[..., None]) -> None:
    (bench.folder / "run").mkdir()
    (bench.folder / "run" / "summary.json").write_text("precious")
    refused(SPIRAL, "--out", "run", code=EXIT_USAGE, words=("run", "exists already", "--out"))


def test_a_python_file_in_the_users_folder_is_not_taken_for_a_library(bench: Bench) -> None:
    (bench.folder / "signal.py").write_text("raise SystemExit('the wrong file')\n")
    ended = bench.run("fly", SPIRAL, "--set", "duration_s=0.5", "--set", "checks=[]", "--out", "run")
    assert ended.code == EXIT_OK, ended.err


@pytest.fixture(scope="module")
def good_run(shared_bench: Bench) -> Path:
    ended = shared_bench.run("fly", SPIRAL, "--set", "duration_s=1", "--set", "checks=[]", "--out", "run")
    assert ended.code == EXIT_OK, ended.err
    return shared_bench.folder / "run"


def _report(bench: Bench, good_run: Path, name: str, content: bytes | None) -> Ended:
    """The report of a copy of a good run in which one file has other content, or none."""
    shutil.copytree(good_run, bench.folder / "run")
    damaged = bench.folder / "run" / name
    if content is None:
        damaged.unlink()
    else:
        damaged.write_bytes(content)
    before = bench.tree()
    ended = bench.run("report", "run")
    if ended.code != EXIT_OK:
        assert ended.out == ""
        assert bench.tree() == before
    return ended


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("scenario.toml", None, ("run", "no scenario.toml"), id="no scenario"),
        pytest.param("summary.json", b'{"scenario":', ("summary.json", "expected JSON"), id="half a summary"),
        pytest.param("summary.json", b"\xff\xfe", ("summary.json", "expected JSON"), id="binary summary"),
        pytest.param("summary.json", b"[1, 2]", ("summary.json",), id="a list for a summary"),
        pytest.param("summary.json", b"{}", ("summary.json",), id="an empty summary"),
        pytest.param("scenario.toml", b"name = 3", ("scenario.toml", "name"), id="damaged scenario"),
        pytest.param("flight.mcap", b"this is no log at all", ("flight.mcap", "MCAP"), id="damaged log"),
    ],
)
def test_the_report_of_a_damaged_run_says_what_is_damaged(
    bench: Bench, good_run: Path, name: str, content: bytes | None, words: tuple[str, ...]
) -> None:
    ended = _report(bench, good_run, name, content)
    assert ended.code == EXIT_USAGE, ended.err
    sentence = ended.sentence()
    assert [word for word in words if word not in sentence] == [], sentence


def test_a_run_without_a_summary_is_reported_as_incomplete(bench: Bench, good_run: Path) -> None:
    assert _report(bench, good_run, "summary.json", None).code == EXIT_OK
    assert "incomplete" in (bench.folder / "run" / "report.html").read_text(encoding="utf-8")


def test_the_report_of_no_run_at_all(bench: Bench) -> None:
    assert "elsewhere: no such run" in bench.run("report", "elsewhere").sentence()
    assert ": not a run, it holds no scenario.toml" in bench.run("report", ".").sentence()


def test_a_log_that_was_cut_still_makes_a_report(bench: Bench, good_run: Path) -> None:
    whole = (good_run / "flight.mcap").read_bytes()
    ended = _report(bench, good_run, "flight.mcap", whole[: len(whole) // 2])
    assert (ended.code, ended.err) == (EXIT_OK, "")
    assert (bench.folder / "run" / "report.html").stat().st_size > 0


def _files_up_to(size: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_disk_that_fills_during_the_flight(bench: Bench) -> None:
    # More than the largest segment of shared memory, less than the log of a minute.
    ended = bench.run("fly", SPIRAL, "--out", "run", before=_files_up_to(4 << 20))
    assert ended.code == EXIT_LINK, ended.err
    assert "flight.mcap: the log cannot be continued" in ended.err
    summary = json.loads((bench.folder / "run" / "summary.json").read_bytes())
    assert "flight.mcap: the log cannot be continued" in summary["error"]
    assert (summary["ok"], summary["exit_code"], summary["log_truncated"]) == (False, EXIT_LINK, True)
    assert bench.logged_s() > 10.0
    assert summary["log_sha256"] == log_sha256(bench.log())
    bench.assert_clean()


def test_a_disk_without_room_for_a_flight(bench: Bench) -> None:
    ended = bench.run("fly", SPIRAL, "--out", "run", before=_files_up_to(100))
    assert ended.code == EXIT_USAGE, ended.err
    assert "cannot be written" in ended.sentence()
    assert bench.tree() == {}
    bench.assert_clean()


@pytest.fixture
def small_disk(bench: Bench) -> Iterator[Path]:
    disk = bench.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_keeps_the_log_and_leaves_no_empty_summary(bench: Bench, small_disk: Path) -> None:
    ended = bench.run("fly", SPIRAL, "--out", "disk/run")
    assert ended.code == EXIT_LINK, ended.err
    sentences = ended.err.splitlines()
    assert [name for name in ("flight.mcap", "summary.json") if not any(name in each for each in sentences)] == []
    assert "check" in ended.out  # the verdict
    assert {path.name for path in (small_disk / "run").iterdir()} == {"scenario.toml", "flight.mcap"}
    times = bench.log("disk/run").column("truth", "t_s")
    assert times[-1] > 0.5
    bench.assert_clean()
