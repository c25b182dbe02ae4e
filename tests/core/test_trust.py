"""Whose Python is executed: the user's own, and what the user has named."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from aeroloop.core import scenario_files, trust
from aeroloop.core.errors import EXIT_USAGE, ConfigError
from aeroloop.core.paths import EXAMPLES
from aeroloop.flight.process_table import launch_settings

LAW = "def law(design):\n    raise AssertionError('executed')\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def written(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "law.py").write_text(LAW)
    scenario = folder / "mine.toml"
    scenario.write_text('name = "mine"\n[control]\nlaw_file = "law.py"\n')
    return scenario


def test_a_law_below_the_current_folder_and_one_that_was_named_are_trusted(here: Path, tmp_path: Path) -> None:
    trust.check(written(tmp_path / "elsewhere"), "unguarded")
    with trust.guarded():
        trust.check(written(here).with_name("law.py"), "control.law_file")
        trust.check(next(EXAMPLES.rglob("*.py")), "control.law_file")
        trust.check(tmp_path / "missing.py", "control.law_file")
        law = tmp_path / "elsewhere" / "law.py"
        with pytest.raises(ConfigError):
            trust.check(law, "control.law_file")
        scenario_files.load(here / "mine.toml", (f'control.law_file="{law}"',))
        trust.check(law, "control.law_file")


def test_a_scenario_from_elsewhere_is_refused_before_its_law_is_read(here: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "elsewhere")
    with trust.guarded(), pytest.raises(ConfigError) as refused:
        launch_settings(scenario_files.load(path), here)
    words = "is executed as Python, and it is not below the current folder: read it, then repeat with --trust"
    assert str(refused.value) == f"control.law_file: {path.with_name('law.py')} {words}"
    assert refused.value.exit_code == EXIT_USAGE


def test_a_familys_folder_from_elsewhere_is_not_imported(here: Path, tmp_path: Path) -> None:
    family = tmp_path / "rocket"
    family.mkdir()
    (family / "family.py").write_text("raise AssertionError('executed')")
    (tmp_path / "mine.toml").write_text('name = "mine"\n[vehicle]\nkind = "./rocket"\n')
    with trust.guarded(), pytest.raises(ConfigError, match=r"vehicle\.kind: .*rocket is executed as Python"):
        scenario_files.load(tmp_path / "mine.toml")


@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_the_user_is_asked_once(here: Path, tmp_path: Path, answer: bool) -> None:
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return answer

    law = written(tmp_path / "elsewhere").with_name("law.py")
    with trust.guarded(ask=ask):
        if answer:
            trust.check(law, "control.law_file")
            trust.check(law, "control.law_file")
        else:
            with pytest.raises(ConfigError, match="not executed"):
                trust.check(law, "control.law_file")
    assert len(asked) == 1 and str(law) in asked[0]


def test_what_others_own_or_may_write_is_from_elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law = written(here).with_name("law.py")
    law.chmod(0o666)
    with trust.guarded(), pytest.raises(ConfigError, match="others may write it"):
        trust.check(law, "control.law_file")
    law.chmod(0o644)
    with trust.guarded():
        trust.check(law, "control.law_file")
    owner = law.stat().st_uid
    if owner == 0:
        os.chown(law, 12345, -1)
    else:
        monkeypatch.setattr(trust.os, "getuid", lambda: owner + 1)
    with trust.guarded(), pytest.raises(ConfigError, match="it belongs to another user"):
        trust.check(law, "control.law_file")


def family(folder: Path) -> Path:
    (folder / "sled" / "parts").mkdir(parents=True)
    for name in ("family.py", "law.py", "parts/wing.py", "parts/notes.txt"):
        (folder / "sled" / name).write_text("raise AssertionError('executed')")
    (folder / "mine.toml").write_text('name = "mine"\n[vehicle]\nkind = "./sled"\n')
    return folder / "sled"


@pytest.mark.parametrize("name", ["law.py", "parts", "parts/wing.py", "parts/link.so"])
def test_every_executed_file_of_a_familys_folder_is_checked(here: Path, name: str) -> None:
    folder = family(here)
    (folder / "parts" / "link.so").touch()
    (folder / "parts" / "notes.txt").chmod(0o666)  # read by nobody's interpreter
    with trust.guarded():
        trust.check(folder, "vehicle.kind")
    (folder / name).chmod(0o777)
    with trust.guarded(), pytest.raises(ConfigError, match=f"others may write its {name}: read it, then repeat"):
        scenario_files.load(here / "mine.toml")


def test_links_of_a_familys_folder_lead_to_files_of_the_user(here: Path, tmp_path: Path) -> None:
    folder = family(here)
    (tmp_path / "shared.py").write_text("")
    (folder / "shared.py").symlink_to(tmp_path / "shared.py")
    with trust.guarded():
        trust.check(folder, "vehicle.kind")
    (tmp_path / "shared.py").chmod(0o666)
    with trust.guarded(), pytest.raises(ConfigError, match=r"others may write its shared\.py"):
        trust.check(folder, "vehicle.kind")
    (folder / "shared.py").unlink()
    (folder / "lib").symlink_to(tmp_path)
    with trust.guarded(), pytest.raises(ConfigError, match="its lib is a link to another folder"):
        trust.check(folder, "vehicle.kind")


def test_a_file_that_others_can_replace_is_from_elsewhere(here: Path) -> None:
    law, folder = written(here).with_name("law.py"), family(here)
    here.chmod(0o777)
    for path in (law, folder):
        with trust.guarded(), pytest.raises(ConfigError, match="others may write its folder"):
            trust.check(path, "control.law_file")
    here.chmod(0o1777)  # as /tmp
    with trust.guarded():
        trust.check(law, "control.law_file")
        trust.check(folder, "vehicle.kind")


@pytest.mark.parametrize(
    ("user", "group", "members", "trusted"),
    [
        ("ann", "ann", [], True),
        ("ann", "ann", ["ann"], True),
        ("ann", "ann", ["ann", "bob"], False),
        ("ann", "lab", [], False),
        ("ann", None, [], False),
        (None, "lab", [], False),
        (None, None, [], True),  # a container without names
    ],
)
def test_a_group_may_write_only_if_it_is_the_users_own(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    user: str | None,
    group: str | None,
    members: list[str],
    trusted: bool,
) -> None:
    law = written(here).with_name("law.py")
    gid = law.stat().st_gid
    trusted = trusted and (user is not None or gid == law.stat().st_uid)

    def known(name: str | None, fields: dict[str, object]) -> Callable[[int], object]:
        def entry(number: int) -> object:
            if name is None:
                raise KeyError(number)
            return SimpleNamespace(**fields)

        return entry

    monkeypatch.setattr(trust.pwd, "getpwuid", known(user, {"pw_name": user, "pw_gid": gid}))
    monkeypatch.setattr(trust.grp, "getgrgid", known(group, {"gr_name": group, "gr_mem": members}))
    monkeypatch.setattr(trust.os, "getuid", lambda: law.stat().st_uid)
    monkeypatch.setattr(trust.os, "getgid", lambda: gid)
    law.chmod(0o664)
    with trust.guarded():
        if trusted:
            trust.check(law, "control.law_file")
        else:
            with pytest.raises(ConfigError, match="its group may write it"):
                trust.check(law, "control.law_file")


def test_all_of_it_can_be_trusted_and_so_are_runs_of_ones_own(here: Path, tmp_path: Path) -> None:
    law = written(tmp_path / "run").with_name("law.py")
    with trust.guarded(trust=True):
        trust.check(law, "control.law_file")
    with trust.guarded():
        trust.consent_to_own(tmp_path / "run")
        trust.check(law, "control.law_file")
    with trust.guarded():
        (tmp_path / "run").chmod(0o777)
        trust.consent_to_own(tmp_path / "run")
        with pytest.raises(ConfigError):
            trust.check(law, "control.law_file")
        trust.trust_all()
        trust.check(law, "control.law_file")


def test_a_guard_of_one_thread_is_not_that_of_another(here: Path, tmp_path: Path) -> None:
    law = written(tmp_path / "elsewhere").with_name("law.py")
    with trust.guarded(trust=True), ThreadPoolExecutor(1) as other:
        trust.check(law, "control.law_file")
        with pytest.raises(ConfigError), trust.guarded():
            trust.check(law, "control.law_file")

        def guarded_there() -> None:
            with trust.guarded():
                trust.check(law, "control.law_file")

        with pytest.raises(ConfigError):
            other.submit(guarded_there).result()
        trust.check(law, "control.law_file")
