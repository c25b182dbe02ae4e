"""Fixtures of the tests in a browser. After a failure the report has what flight and dashboard said, and pictures."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Desk, launch
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chosen = launch(playwright)
        yield chosen
        chosen.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Desk]:
    # The path of a Unix socket has room for about 100 characters: pytest's own folders are too long.
    runtime = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))
    desk = Desk(tmp_path_factory.mktemp("desk"), runtime, browser)
    try:
        yield desk
    finally:
        desk.end()
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture(autouse=True)
def _what_a_test_starts_goes_with_it(desk: Desk) -> Iterator[None]:
    """What fixtures that last longer have started stays."""
    before = desk.at_work
    yield
    desk.clear(*before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    desk = getattr(item, "funcargs", {}).get("desk")
    if report.failed and isinstance(desk, Desk):
        report.sections.append(("flight and dashboard", desk.said()))
        report.sections.append(("windows", desk.states()))
        report.sections.append(("screenshots", "\n".join(desk.shots(f"failed-{item.name}"))))
    return report
