"""Waiting for descriptors with numbers that `select` does not take."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from aeroloop.core.waiting import FD_SETSIZE, readable


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose end to read has a number past select's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * FD_SETSIZE:
        pytest.skip("this machine lets a process open about a thousand files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * FD_SETSIZE), hard))
    low, write = os.pipe()
    high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, FD_SETSIZE)
    yield high, write
    for number in (low, high, write):
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_descriptor_of_any_number_is_waited_for(pipe: tuple[int, int]) -> None:
    high, write = pipe
    assert high >= FD_SETSIZE
    assert readable([high], 0.0) == []
    os.write(write, b"x")
    assert readable([high], 60.0) == [high]
    low, nobody = os.pipe()
    assert readable([low, high], 60.0) == [high]
    os.close(low)
    os.close(nobody)


def test_small_numbers_are_waited_for_as_well() -> None:
    read, write = os.pipe()
    assert readable([read], 0.0) == []
    os.write(write, b"x")
    assert readable([read], 60.0) == [read]
    os.close(read)
    os.close(write)
