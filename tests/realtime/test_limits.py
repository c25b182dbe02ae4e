"""What a machine lacks, as words."""

from __future__ import annotations

import resource
from collections import namedtuple
from pathlib import Path

import pytest

from aeroloop.core.errors import EXIT_LINK, LinkError
from aeroloop.realtime import limits, topics

Space = namedtuple("Space", "f_bavail f_frsize f_blocks")


def test_shared_memory_that_is_small_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.shared_memory_words(tmp_path / "none") == f"{tmp_path / 'none'} is read-only or missing"
    monkeypatch.setattr(limits.os, "statvfs", lambda _: Space(3, 4096, 16))
    assert "has 12 of 64 kB left" in limits.shared_memory_words(tmp_path)
    monkeypatch.setattr(limits.os, "statvfs", lambda _: Space(2**20, 4096, 2**20))
    assert limits.shared_memory_words(tmp_path) == ""


def test_few_open_files_are_said_and_a_soft_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(limits.resource, "getrlimit", lambda _: (32, 2048))
    monkeypatch.setattr(limits.resource, "setrlimit", lambda _, limit: given.append(limit))
    assert "may open 32 files only" in limits.open_files_words()
    limits.raise_open_files()
    assert given == [(2048, 2048)]
    monkeypatch.setattr(limits.resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    limits.raise_open_files()
    assert (limits.open_files_words(), len(given)) == ("", 1)


def test_an_error_of_iceoryx2_is_a_sentence() -> None:
    class NodeCreationFailure(Exception):  # noqa: N818 - its name there
        __module__ = "iceoryx2_ffi_python"

    words = r"cannot be created in shared memory \(NodeCreationFailure: no id\)"
    with pytest.raises(LinkError, match=words) as told, topics._in_words():
        raise NodeCreationFailure("no id")
    assert told.value.exit_code == EXIT_LINK and told.value.root_cause
    with pytest.raises(ValueError, match="ours"), topics._in_words():
        raise ValueError("ours")
