"""A process of a flight that is taken down in the middle of a call into C ends without a word."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED = """
#include <signal.h>
extern void *PyExc_RuntimeError;
extern void PyErr_SetString(void *kind, const char *words);
/* As a library whose wait a signal ends: it fails at once, before the interpreter has looked for signals. */
int interrupted_wait(int number)
{
    if (number) raise(number);
    PyErr_SetString(PyExc_RuntimeError, "Interrupt");
    return 0;
}
"""
PROCESS = """
import ctypes, os, sys, types
from aeroloop.flight.processes import common

common.read_launch_settings = lambda path: types.SimpleNamespace(supervisor_pid=os.getppid())
wait = ctypes.PyDLL(sys.argv.pop()).interrupted_wait
number = int(sys.argv.pop())
common.run_process(lambda orders, line, batons: wait(number))
"""


def ended(folder: Path, number: int) -> subprocess.CompletedProcess[str]:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build a call that is interrupted")
    (folder / "wait.c").write_text(INTERRUPTED)
    library = folder / "wait.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "wait.c"], check=True)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        return subprocess.run(
            [sys.executable, "-c", PROCESS, "launch.json", str(theirs.fileno()), str(number), str(library)],
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


def test_taken_down_in_a_wait_it_ends_without_a_traceback(tmp_path: Path) -> None:
    done = ended(tmp_path, signal.SIGTERM)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_same_failure_without_a_signal_is_told(tmp_path: Path) -> None:
    done = ended(tmp_path, 0)
    assert done.returncode == 1
    assert "RuntimeError: Interrupt" in done.stderr
