"""Signals at moments when Python answers with a traceback, and a machine without files, memory or disk: each is one
sentence and its exit code."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, EXIT_TERMINATED
from aeroloop.flight.results import REPORT, SUMMARY

if TYPE_CHECKING:
    from conftest import Bench, Ended

FLY = ("fly", "tiltrotor-spiral", "--set", "duration_s=0.5", "--set", "checks=[]", "--out", "run")
HOOK = """
import os, sys

class Signalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        # The command alone, and once: processes of the flight import the same modules.
        if name == {module!r} and os.path.basename(sys.argv[0]) == "aeroloop":
            sys.meta_path.remove(Signalled)
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Signalled)
"""
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


def signalled(bench: Bench, module: str, number: int) -> Ended:
    """A flight whose command receives a signal where it imports a module."""
    hook = bench.folder.with_name("hook")
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK.format(module=module, number=int(number)))
    return bench.run(*FLY, env={**bench.env, "PYTHONPATH": str(hook)})


CODES: Mapping[signal.Signals, int] = {signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: EXIT_TERMINATED}


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("msgspec", signal.SIGINT),  # before the program's handlers
        pytest.param("aeroloop.api.flying", signal.SIGINT, marks=pytest.mark.soak),
        ("mujoco._structs", signal.SIGTERM),  # imported by a compiled module, which makes an ImportError of it
    ],
)
def test_a_signal_at_start_up_is_one_sentence(bench: Bench, module: str, number: signal.Signals) -> None:
    ended = signalled(bench, module, number)
    assert (ended.code, ended.sentence()) == (CODES[number], f"interrupted by {number.name}"), ended.err
    assert ended.out == ""
    bench.assert_clean()


def test_a_signal_while_the_report_is_drawn_keeps_summary_and_verdict(bench: Bench) -> None:
    ended = signalled(bench, "jinja2", signal.SIGTERM)
    assert (ended.code, ended.err) == (EXIT_TERMINATED, "")
    assert "passed (completed" in ended.out
    assert json.loads((bench.folder / "run" / SUMMARY).read_bytes())["exit_code"] == EXIT_OK
    assert not (bench.folder / "run" / REPORT).exists()
    bench.assert_clean()


def few_files(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("most", [pytest.param(8, marks=pytest.mark.soak), 32])
def test_too_few_open_files_are_named(bench: Bench, most: int) -> None:
    """With 8 no process can be started, with 32 no topic be created."""
    ended = bench.run(*FLY, before=lambda: few_files(most))
    assert ended.code == EXIT_LINK, ended.err
    assert ended.sentence().endswith(f": this process may open {most} files only (ulimit -n)")
    assert ended.out == ""
    bench.assert_clean()


def other_shared_memory(options: str, flags: int = 0) -> None:
    """In this process and those that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    private = libc.unshare(CLONE_NEWNS), libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    if any(private) or libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", flags, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("size=64k", r"/dev/shm has \d+ of 64 kB left; in a container: --shm-size=256m$"),
        pytest.param("ro", "/dev/shm is read-only or missing$", marks=pytest.mark.soak),
    ],
    ids=["full", "read-only"],
)
def test_shared_memory_that_lacks_is_named(bench: Bench, options: str, words: str) -> None:
    flags = 1 if options == "ro" else 0
    try:
        subprocess.run([sys.executable, "-c", ""], preexec_fn=lambda: other_shared_memory("", flags), check=True)
    except subprocess.SubprocessError:
        pytest.skip("this user may not mount another /dev/shm")
    ended = bench.run(*FLY, before=lambda: other_shared_memory("" if flags else options, flags))
    assert ended.code == EXIT_LINK, ended.err
    assert re.search(words, ended.sentence()), ended.err
    bench.assert_clean()


@pytest.mark.soak  # short: test_output.py, with a command that flies nothing
def test_a_verdict_that_cannot_be_printed_is_kept(bench: Bench) -> None:
    with Path("/dev/full").open("w") as full:
        ended = bench.run(*FLY, "--no-report", "--json", before=lambda: os.dup2(full.fileno(), 1) and None)
    assert (ended.code, ended.sentence()) == (
        EXIT_LINK,
        "standard output cannot be written: No space left on device",
    )
    assert json.loads((bench.folder / "run" / SUMMARY).read_bytes())["ok"] is True
    bench.assert_clean()
