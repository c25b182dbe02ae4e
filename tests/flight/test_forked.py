"""Processes that are forks of a server: children of this process like any that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import warm_commands

from aeroloop.core.scenario_files import find, load
from aeroloop.core.tables import Role
from aeroloop.flight import forked, process_table
from aeroloop.flight.forked import Descriptors, ForkedProcess, ForkServer, Surroundings

GUARD_S = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    made = ForkServer()
    yield made
    made.close()


@pytest.fixture
def given(tmp_path: Path) -> Iterator[Surroundings]:
    with (tmp_path / "out").open("w") as out, Path(os.devnull).open() as nothing:
        yield Surroundings(str(tmp_path), dict(os.environ), (nothing.fileno(), out.fileno(), out.fileno()))


def _python(
    server: ForkServer, lines: Sequence[str], given: Surroundings, descriptors: Descriptors = ()
) -> ForkedProcess:
    """Runs Python statements, once; each descriptor follows as one more."""
    pid = server.start("timeit", ["-n1", "-r1", *lines], descriptors, given)
    assert pid is not None
    return ForkedProcess(pid)


def _said(given: Surroundings) -> list[str]:
    return (Path(given.folder) / "out").read_text().splitlines()


def test_a_forked_program_is_a_child_of_this_process_with_its_exit_code(
    server: ForkServer, given: Surroundings
) -> None:
    assert _python(server, ["import os", "print(os.getppid())"], given).wait() == 0
    assert _said(given)[0] == str(os.getpid())
    pid = server.start("aeroloop.cli", ["fly", "no-such-scenario"], (), given)
    assert pid is not None
    process = ForkedProcess(pid)
    assert process.wait() == 2
    assert process.poll() == 2
    assert "no-such-scenario" in _said(given)[-1]
    process.kill()  # has ended: nobody gets the signal


def test_folder_environment_descriptors_and_title_arrive(server: ForkServer, given: Surroundings) -> None:
    told, tell = os.pipe()
    environment = {name: value for name, value in given.environment.items() if name != "HOME"} | {"COLOUR": "green"}
    changed = Surroundings(given.folder, environment, given.standard)
    lines = [
        "import os, sys",
        "print(os.environ['COLOUR'], os.getcwd(), 'HOME' in os.environ, sys.argv[-1])",
        "print(open('/proc/self/cmdline').read().rstrip(chr(0)))",
        "os.write(int(sys.argv[-1].split('=')[1]), b'here')",
    ]
    process = _python(server, lines, changed, [("", told), ("peer", tell)])
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        assert pipe.read() == b"here"
    assert process.wait() == 0
    words, title, *_ = _said(given)
    colour, folder, home, peer = words.split()
    assert (colour, folder, home) == ("green", given.folder, "False")
    assert peer.startswith("peer=")
    assert title.startswith(f"{sys.executable} -m timeit -n1")


def test_a_traceback_is_printed_and_a_signal_is_its_end(server: ForkServer, given: Surroundings) -> None:
    failing = _python(server, ["1 / 0"], given)
    assert failing.wait() == 1
    assert "ZeroDivisionError" in "".join(_said(given))
    waiting = _python(server, ["import signal", "signal.pause()"], given)
    waiting.kill()
    assert waiting.wait() == -signal.SIGKILL


def test_a_module_that_has_run_runs_again_with_its_own_state(server: ForkServer, given: Surroundings) -> None:
    for _ in range(2):
        assert _python(server, ["import this_is_not_a_module"], given).wait() == 1
        assert _python(server, ["import colorsys", "colorsys.seen = 1"], given).wait() == 0
        assert _python(server, ["import colorsys", "assert not hasattr(colorsys, 'seen')"], given).wait() == 0


def test_a_server_ends_with_its_user() -> None:
    code = (
        "from aeroloop.flight.forked import ForkServer; import os, signal;"
        "print(ForkServer()._process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    gone = Path(f"/proc/{int(ended.stdout)}")
    deadline_s = time.monotonic() + GUARD_S
    while gone.exists() and " Z " not in (gone / "stat").read_text():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_variables_that_python_reads_at_its_start_need_another_server(server: ForkServer) -> None:
    assert server.usable(os.environ)
    assert server.usable({**os.environ, "COLOUR": "green"})
    assert not server.usable({**os.environ, "PYTHONPATH": "/elsewhere"})


def test_a_process_that_cannot_be_forked_is_started_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """With variables of its own, of another package, or without a server."""
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    ours = "aeroloop.flight.processes.busy"
    forked.start(Role("camera", ours, environment=(("MUJOCO_GL", "egl"),)), "launch.json", [("", 3), ("plant", 4)])
    forked.start(Role("board", "my_family.board"), "launch.json", [])
    monkeypatch.setattr(forked, "server", lambda: None)
    forked.start(Role("plant", ours), "launch.json", [])
    assert started[0][-4:] == [ours, "launch.json", "3", "plant=4"]
    assert [command[3] for command in started] == [ours, "my_family.board", ours]


def test_modules_of_a_flight_are_of_this_package() -> None:
    named = process_table.modules(load(find("quad-hover")))
    assert "aeroloop.flight.processes.plant" in named
    assert any(name.startswith("aeroloop.families.multirotor") for name in named)
    assert all(name.startswith("aeroloop.") for name in named)


@pytest.mark.skipif(os.environ.get("AEROLOOP_TESTS_COLD") == "1", reason="AEROLOOP_TESTS_COLD=1: commands are programs")
def test_commands_of_the_tests_are_forked() -> None:
    before = warm_commands.forks
    listed = subprocess.run([sys.executable, "-m", "aeroloop.cli", "list"], capture_output=True, text=True, check=True)
    assert "quad-hover" in listed.stdout
    assert warm_commands.forks == before + 1
