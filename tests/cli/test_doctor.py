"""The doctor never fails, never hangs, and always says how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import threading
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from aeroloop import __version__
from aeroloop.cli import doctor
from aeroloop.cli.doctor import Finding
from aeroloop.core import paths


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return doctor.examine()


def printed(findings: list[Finding], width: int) -> str:
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(doctor.render(findings))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_one_finding_per_probe_and_no_probe_broke(findings: list[Finding]) -> None:
    assert [finding.name for finding in findings] == [name for name, _ in doctor.PROBES]
    assert not [finding for finding in findings if finding.found.startswith("could not be examined")]


def test_a_remedy_stands_beside_everything_that_is_not_ok(findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.found and "\n" not in finding.found
        assert bool(finding.remedy) == (finding.state != "ok"), finding


def test_examining_changes_nothing_in_this_process() -> None:
    def state() -> tuple[object, ...]:
        locked = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmLck" in line]
        return os.sched_getscheduler(0), resource.getrlimit(resource.RLIMIT_MEMLOCK), locked

    before = state()
    doctor.examine()
    assert state() == before


def test_it_says_where_the_package_and_its_files_come_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state, found, _ = doctor._package()
    assert (state, found) == (
        "ok",
        f"{__version__}, a checkout; scenarios, firmware and examples in {Path(__file__).resolve().parents[2]}",
    )
    monkeypatch.setattr(paths, "FIRMWARE", tmp_path / "firmware")
    state, found, remedy = doctor._package()
    assert state == "limited" and found.endswith("but no firmware there") and "pip install" in remedy


def test_a_probe_that_raises_becomes_a_finding() -> None:
    def broken() -> doctor.Outcome:
        raise OSError("no such luck")

    finding = doctor.bounded("broken", broken)
    assert finding.state == "limited"
    assert "no such luck" in finding.found
    assert finding.remedy


def test_a_probe_that_hangs_becomes_a_finding() -> None:
    release = threading.Event()

    def hanging() -> doctor.Outcome:
        release.wait()
        return "ok", "too late", ""

    finding = doctor.bounded("hanging", hanging, timeout_s=0.05)
    release.set()
    assert finding.state == "limited"
    assert "0.05 s" in finding.found
    assert finding.remedy


def test_bare_machine_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    findings = {finding.name: finding for finding in doctor.examine()}
    for name, package in (
        ("C compiler (sil)", "gcc libc6-dev"),
        ("emulator (pil)", "qemu-system-arm"),
        ("cross compiler (pil)", "gcc-arm-none-eabi"),
        ("OpenGL", "libegl1 libgl1-mesa-dri libopengl0"),
    ):
        assert findings[name].state == "missing"
        assert f"apt-get install {package}" in findings[name].remedy


def test_without_nicegui_there_is_no_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    assert doctor.bounded("dashboard", doctor._dashboard).state == "ok"
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert doctor._dashboard() == ("missing", "Python package nicegui not installed", "pip install 'aeroloop[dash]'")


def test_library_that_is_listed_but_does_not_load_is_not_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: f"lib{name}-of-nowhere.so.0")
    assert doctor.bounded("OpenGL", doctor._opengl).state == "missing"


@pytest.mark.parametrize("probe", [doctor._priority, doctor._locked_memory])
def test_refused_privilege_is_a_limit_with_both_remedies(probe: doctor.Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_in_child", lambda code: "refused: Operation not permitted")
    state, found, remedy = probe()
    assert state == "limited"
    assert "refused: Operation not permitted" in found
    assert "limits.d" in remedy and "--cap-add" in remedy


@pytest.mark.parametrize("width", [60, 200])
def test_table_shows_every_word_at_any_width(width: int) -> None:
    findings = [
        Finding("OpenGL", "missing", "neither [egl] nor osmesa", "sudo apt-get install libegl1 " + "x" * 80),
        Finding("Python", "ok", "CPython 3.11.2, /usr/bin/python3", ""),
    ]
    text = printed(findings, width)
    assert max(len(line) for line in text.splitlines()) <= width
    letters = "".join(text.split())
    for finding in findings:
        for value in finding.as_dict().values():
            assert all(word in letters for word in value.split())


def test_real_findings_fit_60_columns(findings: list[Finding]) -> None:
    assert max(len(line) for line in printed(findings, 60).splitlines()) <= 60


def test_findings_are_json(findings: list[Finding]) -> None:
    rows = json.loads(json.dumps([finding.as_dict() for finding in findings]))
    assert [Finding(**row) for row in rows] == findings


def test_without_opencv_cameras_are_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert doctor._opencv() == (
        "missing",
        "Python package cv2 not installed",
        "for cameras: pip install 'aeroloop[vision]'",
    )


@pytest.mark.parametrize(
    ("cost_s", "state", "rates"),
    [((0.010, 0.016), "ok", "RGB 50 Hz, RGB-D 31 Hz"), ((0.020, 0.040), "limited", "RGB 25 Hz, RGB-D 12 Hz")],
)
def test_cameras_are_told_which_rate_half_a_core_carries(
    cost_s: tuple[float, float], state: str, rates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = json.dumps({"cost_s": dict(zip(("RGB", "RGB-D"), cost_s, strict=True)), "renderer": "a card"})
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, told, ""))
    found = doctor._camera_frames.__wrapped__()
    assert found[0] == state
    assert f"on 50% of a core: {rates} (a card)" in found[1]
    assert ("rate_hz" in found[2]) == (state == "limited")


def test_a_frame_that_cannot_be_rendered_is_missing_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    said = subprocess.CompletedProcess([], 1, "", "cameras: OpenCV is missing; expected pip install")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: said)
    assert doctor._camera_frames.__wrapped__() == ("missing", "no frame was rendered", said.stderr)


def test_a_frame_of_this_machine_is_measured(findings: list[Finding]) -> None:
    (frames,) = [finding for finding in findings if finding.name == "camera frames"]
    if frames.state != "missing":  # without EGL or OpenCV
        assert "RGB-D" in frames.found and "beside the plant" in frames.found
