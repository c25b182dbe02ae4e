"""The compiler in the fingerprint is the one that laws are compiled with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_fingerprint import fingerprint


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    fingerprint.cache_clear()
    yield
    fingerprint.cache_clear()


@pytest.mark.parametrize(
    ("knows", "says"),
    [("-dumpfullversion", "13.1.0"), ("--version", "13.1.0")],  # gcc, and clang without the former
)
def test_the_compiler_is_the_one_of_cc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows: str, says: str) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\n[ "$2" = {knows} ] && echo {says}\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", f"{compiler} -O1")
    assert fingerprint()["compiler"] == says


def test_without_any_compiler_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {fingerprint()[name] for name in ("compiler", "cross_compiler", "emulator")} == {"none"}
