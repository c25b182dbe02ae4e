"""summary.json: the results of a flight for scripts and CI, and the same as JUnit XML."""

from __future__ import annotations

import math
import platform
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from aeroloop.analysis import checks, collisions, generic
from aeroloop.analysis.family import analysis_of, metrics_of, own_code
from aeroloop.core.camera_streams import RENDERER_METADATA
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK
from aeroloop.core.scenario import Scenario
from aeroloop.recording.log import Log, log_sha256

PACKAGES = ("aeroloop", "mujoco", "casadi", "iceoryx2", "foxglove-sdk")
EVENTS_SHOWN = 200
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def summarise(
    scenario: Scenario, log: Log, *, outcome: Mapping[str, Any], aircraft: Sequence[str] = ()
) -> dict[str, Any]:
    """`outcome` is the supervisor's: ended (reason), wall_s, exit_code, error (a sentence or None). `aircraft`: names
    of all aircraft of the flight, if it has other parts."""
    analysis = analysis_of(scenario)
    numbers = metrics_of(scenario, log)
    with own_code(scenario):
        events = [*analysis.events(log), *generic.faults(log, scenario), *generic.changes(log, scenario)]
        details = analysis.details(log, scenario)
    events = collisions.named(events, scenario, aircraft)
    events.sort(key=lambda event: float(event["t_s"]))
    results = checks.evaluate(checks.required(scenario, in_fleet=len(aircraft) > 1), numbers)
    exit_code = outcome["exit_code"]
    if exit_code == EXIT_OK and not all(result.ok for result in results):
        exit_code = EXIT_CHECK_FAILED
    wall_s = outcome["wall_s"]
    summary = {
        "scenario": scenario.name,
        "loop": scenario.loop,
        "pace": scenario.pace,
        "seed": scenario.seed,
        "duration_s": scenario.duration_s,
        "real_time_factor": numbers["flown_s"] / wall_s if wall_s > 0 else math.nan,
        "ok": exit_code == EXIT_OK,
        "exit_code": exit_code,
        "ended": outcome["ended"],
        "error": outcome["error"],
        "checks": [asdict(result) for result in results],
        "metrics": numbers,
        **details,
        "events": events[:EVENTS_SHOWN],
        "events_total": len(events),
        "log_sha256": log_sha256(log),
        "log_truncated": log.truncated,
        "versions": versions(log),
    }
    safe: dict[str, Any] = json_safe(summary)
    return safe


def versions(log: Log | None = None) -> dict[str, str]:
    """Of the packages, and of what drew the camera images of a log."""
    drawn = log.metadata.get(RENDERER_METADATA, {}) if log is not None else {}
    return {"python": platform.python_version(), **_installed(), **drawn}


@cache
def _installed() -> dict[str, str]:
    """Read from files: once in a process, which may fly many flights."""
    return {name: version(name) for name in PACKAGES}


def json_safe(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    match value:
        case dict():
            return {key: json_safe(item) for key, item in value.items()}
        case list():
            return [json_safe(item) for item in value]
        case float() if not np.isfinite(value):
            return None
        case _:
            return value


def junit_xml(summary: Mapping[str, Any]) -> str:
    """One test case per check, and one for the flight itself if it did not end by itself."""
    cases = []
    name = f"aeroloop.{summary['scenario']}"
    for check in summary["checks"]:
        case = ET.Element("testcase", classname=name, name=check["name"])
        if not check["ok"]:
            value = "not measured" if check["value"] is None else f"{check['value']:.6g}"
            message = f"{check['name']} is {value}, expected {check['limit']}"
            ET.SubElement(case, "failure", message=message)
        cases.append(case)
    failures = sum(not check["ok"] for check in summary["checks"])
    broken = summary["exit_code"] not in (EXIT_OK, EXIT_CHECK_FAILED)
    if broken:
        case = ET.Element("testcase", classname=name, name="flight")
        reason = NOT_IN_XML.sub("?", summary["error"] or summary["ended"])
        ET.SubElement(case, "error", message=reason)
        cases.append(case)
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)), failures=str(failures), errors=str(int(broken)))
    suite.extend(cases)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"
