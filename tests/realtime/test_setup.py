"""What the processes of a flight ask of the kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aeroloop.realtime.setup import same_addresses

PERSONALITY = Path("/proc/self/personality")
WHERE = "import ctypes; print(ctypes.cast(ctypes.CDLL(None).malloc, ctypes.c_void_p).value)"


def library_addresses(processes: int) -> set[str]:
    started = [
        subprocess.Popen([sys.executable, "-c", WHERE], stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return {process.communicate()[0].strip() for process in started}


@pytest.mark.skipif(not PERSONALITY.exists(), reason="needs /proc/self/personality")
def test_processes_that_take_turns_have_their_code_at_the_same_addresses() -> None:
    before = PERSONALITY.read_text()
    with same_addresses():
        if PERSONALITY.read_text() == before:
            pytest.skip("this container does not permit it")
        assert len(library_addresses(2)) == 1
    assert PERSONALITY.read_text() == before
