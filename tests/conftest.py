"""Shared by all tests: hypothesis without wall-clock deadlines, since these machines are busy ones.

A verdict must not change from run to run, so the suite tries the same examples every time. `make explore` looks
for new ones: what it finds becomes an `@example`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import warm_commands
from hypothesis import settings
from hypothesis.internal.conjecture import providers

LONG = ("web", "scenarios", "equivalence", "recorded", "features", "package", "test_benchmarks.py")
"""Folders and files whose tests fly; all others take moments."""

# Its modules import one another as a script does, and tests elsewhere use them too.
sys.path.append(str(Path(__file__).with_name("recorded")))

# Workers and the flights that they start share few cores: threads of numpy's own would only be in their way.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# A shell that starts something in the background has it ignore Ctrl-C, and so would every command that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("aeroloop", deadline=None, print_blob=True, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
profile = os.environ.get("HYPOTHESIS_PROFILE", "aeroloop")
settings.load_profile(profile)
# Hypothesis also draws numbers that stand in the modules imported so far: other ones in each worker, so a test could
# fail among others and pass alone. Exploring may keep them.
if profile == "aeroloop":
    assert hasattr(providers, "is_local_module_file"), "hypothesis collects constants in another way now"
    providers.is_local_module_file = lambda path: False


warm_commands.install()


def pytest_unconfigure() -> None:
    warm_commands.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="fly what is timed for a whole minute")
    parser.addoption("--full", action="store_true", help="fly recorded flights to their end")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long ones first: a worker that begins a long file when the others are done makes all of them wait."""
    tests = Path(__file__).parent
    if strays := [
        item.nodeid for item in items if item.get_closest_marker("realtime") and "timing" not in item.path.parts
    ]:
        raise pytest.UsageError(f"{strays[0]}: expected in tests/timing, where `make test` looks for `realtime`")
    items.sort(key=lambda item: not any(part in LONG for part in item.path.relative_to(tests).parts))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted (user property `table`) is shown also when they ran in worker processes."""
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties:
            if name == "table":
                terminalreporter.write_line(f"\n{report.nodeid}\n{text}")
