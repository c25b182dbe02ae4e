"""Shared by all tests: hypothesis without wall-clock deadlines, since these machines are busy ones.

A verdict must not change from run to run, so the suite tries the same examples every time. `make explore` looks
for new ones: what it finds becomes an `@example`.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("aeroloop", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "aeroloop"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted (user property `table`) is shown also when they ran in worker processes."""
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties:
            if name == "table":
                terminalreporter.write_line(f"\n{report.nodeid}\n{text}")
