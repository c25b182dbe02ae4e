"""Shared by all tests: hypothesis without wall-clock deadlines, since these machines are busy ones."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("aeroloop", deadline=None, print_blob=True)
settings.load_profile("aeroloop")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted (user property `table`) is shown also when they ran in worker processes."""
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties:
            if name == "table":
                terminalreporter.write_line(f"\n{report.nodeid}\n{text}")
