"""The orders of running flights, also of those that another version of Aeroloop flies on the same machine."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aeroloop.core.scenario_files import find, load
from aeroloop.flight import running
from aeroloop.flight import supervisor as bench
from aeroloop.flight.processes.common import LaunchSettings, read_launch_settings

CHANGES: list[dict[str, Any]] = [
    {"tomorrow": 1},
    {"scenario": {"vehicle": {"kind": "balloon"}}},
    {"scenario": "quad-hover"},
    {"scenario": {"tomorrow": 1}},
]


def written(runtime: Path, name: str, pid: int, change: dict[str, Any]) -> Path:
    folder = runtime / "aeroloop" / f"flight-{name}"
    folder.mkdir(parents=True, mode=0o700)
    orders = LaunchSettings(load(find("quad-hover")), str(folder), log="", supervisor_pid=pid, core_draw=0)
    path = folder / "launch.json"
    path.write_text(json.dumps({**json.loads(orders.encode()), **change}))
    return path


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_flight_that_we_do_not_understand_is_left_alone(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="al-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        (Path(runtime) / "aeroloop").mkdir(mode=0o700)
        known = written(Path(runtime), "known", os.getpid(), {})
        strange = written(Path(runtime), "strange", os.getpid(), change)
        with pytest.raises(msgspec.ValidationError, match="not the launch settings of a flight of this version"):
            read_launch_settings(strange)
        assert [orders.folder for orders in running.flights()] == [str(known.parent)]
        bench._clear_away_dead_flights()
        assert strange.exists() and known.exists()
