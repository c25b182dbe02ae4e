"""A summary.json that somebody changed: what is wrong with it is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.flight import run_summary

GOOD: dict[str, Any] = {
    "scenario": "a",
    "loop": "mil",
    "pace": "lockstep",
    "exit_code": 0,
    "ended": "completed",
    "error": None,
    "checks": [{"name": "flown_s", "value": 1.0, "limit": "> 0.9", "ok": True}],
    "metrics": {"flown_s": 1.0},
    "timing": {"step_s": {"mean": None}},
    "links": {"to_plant": {"frames": 1}},
    "versions": {"python": "3"},
    "events": [{"t_s": 0.0, "event": "ARMED", "source": "board"}],
    "plans": [{"why": "", "cells": 3}],
}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("exit_code", "0", "exit_code: expected `int`, got `str`"),
        ("metrics", {"flown_s": "x"}, "metrics[...]: expected `float | null`, got `str`"),
        ("checks", {}, "checks: expected `array`, got `object`"),
        ("checks", [{"name": "a"}], "checks[0]: object missing required field `value`"),
        ("events", [1], "events[0]: expected `object`, got `int`"),
        ("links", {"a": []}, "links[...]: expected `object | null`, got `array`"),
        ("ended", None, "ended: expected `str`, got `null`"),
    ],
)
def test_a_value_of_another_kind_is_named(tmp_path: Path, key: str, value: Any, words: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({**GOOD, key: value}))
    with pytest.raises(ConfigError) as refused:
        run_summary.read(path)
    assert str(refused.value) == f"{path}: {words}"


def test_a_good_one_is_read_as_it_is_and_deep_nesting_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(GOOD))
    assert run_summary.read(path) == GOOD
    path.write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="expected JSON"):
        run_summary.read(path)


@pytest.mark.parametrize(
    ("changed", "key"),
    [({"plans": 3}, "plans"), ({"plans": [{"why": ""}]}, "plans[0].cells"), ({"timing": {}}, "timing.step_s")],
)
def test_what_a_report_trips_over_is_named_where_it_differs_from_the_logs(changed: dict[str, Any], key: str) -> None:
    with (
        pytest.raises(ConfigError, match=rf"s\.json: {key.replace('[', '.').replace(']', '.')}: not as"),
        run_summary.attributed_errors(Path("s.json"), {**GOOD, **changed}, lambda: GOOD),
    ):
        raise TypeError


def test_a_failure_that_the_summary_did_not_cause_stays_what_it_is() -> None:
    with (
        pytest.raises(KeyError),
        run_summary.attributed_errors(Path("s.json"), {**GOOD, "metrics": {"flown_s": None}}, lambda: GOOD),
    ):
        raise KeyError
