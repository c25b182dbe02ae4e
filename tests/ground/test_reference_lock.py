"""Only one program drives a reference link, and a dead one drives none."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import runtime_dir
from aeroloop.ground.lock import canonical, claim

HOLDER = """
import sys
from aeroloop.ground.lock import claim
with claim(sys.argv[1], "base-station"):
    print("held", flush=True)
    sys.stdin.read()
"""
URL = "pty:///tmp/ref0"


@pytest.fixture(autouse=True)
def _private_runtime_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # socket paths are short, so runtime folders are too
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[str]]:
    """Another program that drives the link, until its standard input closes."""
    program = subprocess.Popen(
        [sys.executable, "-c", HOLDER, URL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdin and program.stdout
    assert program.stdout.readline() == "held\n"
    yield program
    program.kill()
    program.wait()
    program.stdin.close()
    program.stdout.close()


def test_another_program_is_named_and_its_end_frees_the_link(holder: subprocess.Popen[str]) -> None:
    expected = f"reference link {URL} is already used by base-station (process {holder.pid}); stop it first"
    with pytest.raises(ConfigError) as error, claim(URL, "joystick"):
        pass
    assert str(error.value) == expected
    assert error.value.exit_code == 2
    holder.communicate()
    with claim(URL, "joystick"):
        pass


def test_kill_9_leaves_nothing_that_blocks(holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    with claim(URL, "joystick"), pytest.raises(ConfigError) as error, claim(URL, "base-station"):
        pass
    assert f"used by joystick (process {os.getpid()})" in str(error.value)


def test_a_refused_claim_does_not_disturb_the_holder() -> None:
    with claim(URL, "base-station"):
        for _ in range(2):
            with pytest.raises(ConfigError, match="by base-station"), claim(URL, "joystick"):
                pass


def test_released_by_an_exception_too() -> None:
    with pytest.raises(RuntimeError), claim(URL, "joystick"):
        raise RuntimeError
    with claim(URL, "joystick"):
        pass


def test_a_holder_that_left_no_name_still_refuses() -> None:
    with claim(URL, "base-station"):
        (lock,) = runtime_dir().glob("reference-*.lock")
        lock.write_text("")
        with pytest.raises(ConfigError, match="used by another program; stop it"), claim(URL, "joystick"):
            pass


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pty:///tmp/ref0", "serial:///tmp/ref0?baud=921600"),
        ("pty:///tmp/ref0", "pty:///tmp//x/../ref0"),
        ("tcp://127.0.0.1:4560?listen", "tcp://127.0.0.1:4560"),
        ("udp://LOCALHOST:4560", "udp://127.0.0.1:4560/"),
    ],
)
def test_one_line_under_two_names(one: str, other: str) -> None:
    with claim(one, "base-station"), pytest.raises(ConfigError), claim(other, "joystick"):
        pass


def test_other_links_are_free() -> None:
    with claim("udp://127.0.0.1:1", "a"), claim("tcp://127.0.0.1:1", "b"), claim("udp://127.0.0.1:2", "c"):
        pass


def test_every_flight_has_its_own_loopback() -> None:
    with claim("loopback://", "base-station"), claim("loopback://", "base-station"):
        pass


def test_a_port_is_known_by_its_alias() -> None:
    assert canonical("serial:///dev/stdin") == f"line:{os.path.realpath('/dev/stdin')}"
